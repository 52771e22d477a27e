"""A process that replies as a policy does."""

import os
import signal

import numpy as np
import pytest
import torch

from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.players.language.formats import RoleFormat
from redqueen.players.transformer import second_process
from redqueen.players.transformer.loading import add_lora, load_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.players.transformer.second_process import digest_of
from redqueen.settings.learner import Learner
from redqueen.types import Ask, Episode, Message, Outcome, RedQueenError, Seat, Task, Trajectory, Turn

SEAT = Seat("player", 0)
LISTED = tuple(Ask(SEAT, (Message("rules", f"card {card}"),), ("bet", "pass"), seed=card) for card in range(4))
FREE = tuple(
    Ask(Seat("poet", 0), (Message("rules", text),), seed=number, stops=stops)
    for number, (text, stops) in enumerate([("say", ()), ("say", ("e",)), ("sing", ("a", "t"))])
)


@pytest.fixture(scope="module")
def policy():
    loaded = add_lora(load_model("tiny", torch.float32, "cpu", 3), 4, 3)
    made = TransformerPolicy(loaded, max_completion_length=12, learning_rate=0.05)
    made.speaks("poet", RoleFormat(made.usual.chat, None, False, 9, 1.0))
    return made


@pytest.fixture(scope="module")
def apart(policy):
    process = policy.apart()
    yield process
    process.close()


def taught(policy):
    """An update that changes what is said."""
    turns = tuple(Turn(ask, reply) for ask, reply in zip(LISTED, policy.reply(LISTED), strict=True))
    episode = Episode("cards", Task("t"), 0, turns, Outcome({SEAT: 1.0}), (SEAT,))
    ones = np.ones(len(turns))
    policy.update(pack([Trajectory(episode, SEAT, turns, ones)], [ones]), Reinforce())


def same(one, other):
    """Whether these are the same replies: to the last bit but for log-probabilities, which are rounded as the batch is
    in which they were computed."""

    def told(replies):
        return [(a.text, a.thought, a.tokens.tolist(), a.truncated, a.version, a.player) for a in replies]

    pairs = zip(one, other, strict=True)
    return told(one) == told(other) and all(np.allclose(a.logprobs, b.logprobs, rtol=0.0, atol=1e-6) for a, b in pairs)


def test_it_replies_as_the_policy_did_when_it_was_made(policy, apart):
    before, free = policy.reply(LISTED), policy.reply(FREE)
    assert len({len(each.tokens) for each in free}) > 1  # a stop ended some
    old = apart.now()
    taught(policy)
    after = policy.reply(LISTED)
    assert not same(before, after)
    new = apart.now()
    for _ in range(2):  # in turns: each time the weights are handed over
        assert same(old.reply(LISTED), before)
        assert same(old.reply(FREE), free)
        assert same(new.reply(LISTED), after)
    assert apart.times == 3  # what is known of listed replies is not asked for again
    assert apart.seconds > 0.0


def test_other_weights_than_were_sent_end_the_run(policy, apart, monkeypatch):
    monkeypatch.setattr(second_process, "digest_of", lambda weights: "another")
    with pytest.raises(RedQueenError, match="holds other weights than learner had after"):
        apart.now().reply(LISTED)


def test_the_digest_is_of_names_shapes_and_values():
    weights = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([3.0])}
    assert digest_of(weights) == digest_of(dict(reversed(weights.items())))
    for other in (
        {**weights, "b": torch.tensor([4.0])},
        {"a": weights["a"], "c": weights["b"]},
        {**weights, "a": torch.tensor([[1.0, 2.0]])},
        {**weights, "b": torch.tensor([3.0], dtype=torch.float64)},
    ):
        assert digest_of(other) != digest_of(weights)


def test_a_process_that_dies_ends_the_run_with_one_line(policy, apart):
    os.kill(apart.process.pid, signal.SIGKILL)
    with pytest.raises(RedQueenError, match="the process that samples for learner has ended"):
        apart.now().reply(LISTED)


@pytest.mark.slow
def test_all_weights_in_half_precision_and_a_tokenizer_of_its_own():
    whole = Learner(model="tiny", dtype="bfloat16", max_completion_length=8).build_model(5)
    process = whole.apart()
    assert same(process.now().reply(FREE), whole.reply(FREE))
    taught(whole)
    assert same(process.now().reply(FREE), whole.reply(FREE))
    process.close()
