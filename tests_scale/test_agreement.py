"""One step through the server is the step that the same model takes on this machine.

The adapter that the server made is read from its checkpoint, so both start from the same weights; SkyRL's scale is
32 / rank, ours is 2, so the rank is 16.
"""

import tarfile
from random import Random

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from redqueen.credit.rewards import payoff, score
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.single_reply import SingleReply
from redqueen.objectives.additive import Sum
from redqueen.objectives.batch import beside, pack, pack_pairs
from redqueen.objectives.policy_gradient import ClippedRatio, Gspo, Reinforce
from redqueen.objectives.preference import Dpo
from redqueen.objectives.regularizers import EntropyBonus
from redqueen.play.lockstep import play
from redqueen.players.tinker.connection import connect
from redqueen.players.tinker.policy import TinkerPolicy
from redqueen.players.transformer.loading import add_lora, load_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.types import Match, Task

RANK = 16
RATE = 3e-3
TOLERANCE = 1e-2  # nats a word
WRITES = {"constrain": False, "max_completion_length": 8}


def on_the_server(server, **settings):
    connection = connect(server.base, server.url)
    adapter = connection.create(RANK, 3)
    return TinkerPolicy(adapter, connection.tokenizer(adapter), learning_rate=RATE, max_grad_norm=1e9, **settings)


def on_this_machine(server, policy, tmp_path, **settings):
    """The same weights here."""
    policy._adapter.save_sampler("start")
    (archive,) = (server.folder / "checkpoints" / policy._adapter.model_id / "sampler_weights").glob("start*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    loaded = add_lora(load_model(server.base, torch.float32, "cpu"), RANK)
    saved = {
        key.replace(".weight", ".default.weight"): value
        for key, value in load_file(tmp_path / "adapter_model.safetensors").items()
    }
    own = {key: value for key, value in loaded.model.named_parameters() if value.requires_grad}
    assert own.keys() == saved.keys()
    with torch.no_grad():
        for key, value in own.items():
            value.copy_(saved[key])
    return TransformerPolicy(loaded, learning_rate=RATE, max_grad_norm=1e9, **settings)


def kuhn(policy, count=32):
    game = KuhnPoker()
    tasks = game.tasks()
    matches = [Match(game, tasks[n % len(tasks)], dict.fromkeys(game.roles, policy), n) for n in range(count)]
    trajectories = score(play(matches, Random(0)), payoff)
    return pack(trajectories, [each.rewards for each in trajectories])


def told(policy, seed, count=8):
    game = SingleReply("solver")
    matches = [Match(game, Task(f"{n}", prompt=f"Say {n}."), {"solver": policy}, seed + n) for n in range(count)]
    return score(play(matches, Random(0)), payoff)


def compare(there, here, batch, objective, name):
    before = here.likelihoods(batch).logprobs
    own = batch.loss_weights != 0
    start = float((there.likelihoods(batch).logprobs - before)[own].abs().max())
    remote, local = there.update(batch, objective), here.update(batch, objective)
    one, other = there.likelihoods(batch).logprobs[own], here.likelihoods(batch).logprobs[own]
    apart, moved = float((one - other).abs().max()), float((other - before[own]).abs().max())
    print(
        f"\n{name}: apart before {start:.1e}, after one step {apart:.1e} nats a word; moved by {moved:.2f}; "
        f"loss {remote['loss']:.6f} there, {local['loss']:.6f} here; "
        f"gradient {remote['gradient_norm']:.6f} there, {local['gradient_norm']:.6f} here"
    )
    assert moved > 0.05
    assert start < 1e-4
    assert apart < TOLERANCE
    assert remote["loss"] == pytest.approx(local["loss"], rel=1e-3, abs=1e-5)
    assert remote["gradient_norm"] == pytest.approx(local["gradient_norm"], rel=1e-3)


def test_listed_replies(server, tmp_path):
    there = on_the_server(server)
    here = on_this_machine(server, there, tmp_path)
    batch = kuhn(there)
    compare(there, here, batch, Sum(Reinforce(), EntropyBonus(0.1)), "listed replies, our own loss")
    compare(there, here, batch, Sum(Reinforce(), EntropyBonus(0.1)), "a second step")


@pytest.mark.parametrize(
    ("objective", "name"),
    [
        (ClippedRatio(), "free text, a loss of the server (ppo)"),
        (Reinforce(), "free text, a loss of the server (linear)"),
        (Gspo(), "free text, our own loss"),
        (Dpo(0.5), "pairs"),
    ],
)
def test_free_text(server, tmp_path, objective, name):
    there = on_the_server(server, **WRITES)
    here = on_this_machine(server, there, tmp_path, **WRITES)
    one, other = told(there, 0), told(there, 100)
    batch = pack(one, [np.array([(-1.0) ** n]) for n in range(len(one))])
    own = batch.loss_weights != 0
    sampled, rated = batch.sampled_logprobs[own], there.likelihoods(batch).logprobs[own]
    assert float((sampled - rated).abs().max()) < 1e-3
    if name == "pairs":
        batch = pack_pairs(one, other)
        batch = beside(batch, there.freeze().likelihoods(batch))
    compare(there, here, batch, objective, name)


def test_a_past_self_answers_as_it_did_and_leaves_the_learner_alone(server):
    there = on_the_server(server, **WRITES)
    batch = pack(told(there, 0), [np.ones(1)] * 8)
    own = batch.loss_weights != 0
    past, before = there.freeze(), there.likelihoods(batch).logprobs[own]
    there.update(batch, Reinforce())
    after = there.likelihoods(batch).logprobs[own]
    again = pack(told(past, 0), [np.ones(1)] * 8)
    assert float((after - before).abs().max()) > 0.05
    assert torch.equal(again.tokens, batch.tokens)  # the same words from the same seeds
    torch.testing.assert_close(past.likelihoods(batch).logprobs[own], before, atol=1e-5, rtol=0)
    torch.testing.assert_close(there.likelihoods(batch).logprobs[own], after, atol=1e-5, rtol=0)
