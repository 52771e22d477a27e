"""Settings of training: what each does to the weights, what is refused, and that a resumed run keeps all of them."""

import shutil
import sys

import numpy as np
import pytest
import torch

from redqueen.cli.main import main
from redqueen.objectives.batch import pack
from redqueen.objectives.imitation import Imitation
from redqueen.runs.run import read_metrics
from redqueen.settings.learner import Learner, usual_dtype
from redqueen.settings.optimization import Optimization
from redqueen.settings.roles import bind
from redqueen.types import Ask, Episode, Message, Outcome, RedQueenError, Seat, Task, Trajectory, Turn

ASK = Ask(Seat("first"), (Message("game", "Your move?"),), ("pass", "bet"), seed=3)


def learner(rank=None, **settings):
    speaks = {name: settings.pop(name) for name in ("max_prompt_length", "learning_rate") if name in settings}
    made = Learner(model="tiny", lora_rank=rank, device="cpu", optimization=Optimization(**settings), **speaks)
    policy = made.build(seed=0)
    with torch.no_grad():  # an adapter that is not the identity
        for key, value in policy.trainable.items():
            if "lora_B" in key:
                value += 0.02
    return policy


def batch_of(policy):
    asks = [ASK, Ask(Seat("first"), (Message("game", "And now, what will you do?"),), ("pass", "bet"), seed=4)]
    turns = [Turn(ask, reply) for ask, reply in zip(asks, policy.reply(asks), strict=True)]
    found = [
        Trajectory(Episode("talk", Task("t"), 0, (turn,), Outcome({}), ()), ASK.seat, (turn,), np.ones(1))
        for turn in turns
    ]
    return pack(found, [np.ones(1) for _ in found])


def taught(policy, updates=3):
    """The weights after some updates on the same two replies."""
    batch = batch_of(policy)
    metrics = [policy.update(batch, Imitation()) for _ in range(updates)]
    return {key: value.detach().clone() for key, value in policy.trainable.items()}, metrics


def equal(one, other):
    return all(torch.equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("rank", [0, 4])
def test_layers_that_are_run_again_give_the_same_weights_to_the_bit(rank):
    plain, again = (taught(learner(rank, gradient_checkpointing=on))[0] for on in (False, True))
    assert equal(plain, again)


@pytest.mark.parametrize("rank", [0, 4])
def test_layers_that_are_run_again_keep_less_for_the_backward_pass(rank):
    def kept(on):
        policy, sizes = learner(rank, gradient_checkpointing=on), []
        batch = batch_of(policy)

        def pack_hook(tensor):
            sizes.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack_hook, lambda tensor: tensor):
            policy.update(batch, Imitation())
        return sum(sizes)

    assert kept(True) < 0.8 * kept(False)


def test_the_rate_of_an_update_is_that_of_its_step():
    policy = learner(schedule="linear", warm_up=2, learning_rate=1e-2)
    rates = []
    for step in range(4):
        policy.pace_at(step, 4)
        rates.append(policy.update(batch_of(policy), Imitation())["learning_rate"])
    assert rates == pytest.approx([0.5e-2, 1e-2, 1e-2, 0.5e-2])
    assert "learning_rate" not in learner().update(batch_of(learner()), Imitation())


def test_the_step_of_an_update_has_its_rate():
    """The first step of AdamW is the rate times the sign of the gradient, whatever the gradient."""
    for warm_up, rate in ((0, 1e-2), (4, 0.25e-2)):
        policy = learner(warm_up=warm_up, learning_rate=1e-2)
        before = {key: value.detach().clone() for key, value in policy.trainable.items()}
        policy.pace_at(0, 5)
        after, _ = taught(policy, 1)
        assert max(float((after[key] - before[key]).abs().max()) for key in after) == pytest.approx(rate, rel=1e-3)


def test_decay_shrinks_the_weights_and_a_small_norm_scales_the_gradient():
    plain, decayed = (taught(learner(weight_decay=decay, learning_rate=1e-2), 1)[0] for decay in (0.0, 0.5))
    start = {key: value.detach() for key, value in learner().trainable.items()}
    for key, value in plain.items():  # decoupled: w - rate * decay * w, then the same step
        assert torch.allclose(decayed[key], value - 1e-2 * 0.5 * start[key], atol=1e-6)
    first, second = (taught(learner(max_grad_norm=norm), 2)[1][0]["gradient_norm"] for norm in (1.0, 1e-3))
    assert first == second  # the norm that is reported is the one before


def test_dropout_is_of_updates_alone_and_drawn_from_the_seed_of_the_run():
    plain, dropped = learner(4), learner(4, lora_dropout=0.5)
    assert (plain.probabilities([ASK])[0] == dropped.probabilities([ASK])[0]).all()
    before = torch.random.get_rng_state()
    first, again = taught(dropped)[0], taught(learner(4, lora_dropout=0.5))[0]
    assert torch.equal(before, torch.random.get_rng_state())  # no global generator is touched
    assert equal(first, again)
    assert not equal(first, taught(plain)[0])
    checkpointed = taught(learner(4, lora_dropout=0.5, gradient_checkpointing=True))[0]
    assert equal(first, checkpointed)  # the same units are dropped when a layer is run again


def test_the_adapter_has_the_alpha_and_the_layers_that_are_named():
    policy = learner(4, lora_alpha=4, lora_targets=("q_proj", "v_proj"))
    layers = {key.split(".lora_")[0].rpartition(".")[2] for key in policy.trainable}
    assert layers == {"q_proj", "v_proj"}
    twice = learner(4, lora_targets=("q_proj", "v_proj"))  # alpha 8
    chances = [each.probabilities([ASK])[0] for each in (policy, twice)]
    assert (chances[0] != chances[1]).any()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"lora_alpha": 8, "rank": 0}, "--lora-alpha has no effect without an adapter: set --lora-rank to 1 or more"),
        ({"lora_targets": ("wq",), "rank": 4}, "--lora-targets names wq, which tiny does not have: it has down_proj"),
        ({"lora_targets": ("lm_head",), "rank": 4}, "the input and output layers of tiny are one: leave them"),
        ({"betas": (0.9, 1.0)}, "--betas are two numbers from 0 to below 1, not 0.9 1.0"),
        ({"weight_decay": -0.1}, "--weight-decay must be at least 0, not -0.1"),
        ({"max_grad_norm": 0.0}, "--max-grad-norm must be above 0, not 0.0"),
        ({"micro_batch_tokens": 0}, "--micro-batch-tokens must be at least 1, not 0"),
        ({"max_prompt_length": 5}, "a prompt of the first has 4 tokens, more than --max-prompt-length 3"),
    ],
)
def test_bad_settings_of_training_are_one_line(settings, said):
    if "max_prompt_length" in settings:
        ask = Ask(ASK.seat, ASK.messages, (), seed=1)
        length = len(learner().prompt(ask))
        settings = {"max_prompt_length": length - 1}
        said = f"a prompt of the first has {length} tokens, more than --max-prompt-length {length - 1}: leave its task"
    with pytest.raises(RedQueenError) as refused:
        learner(**settings).prompt(ASK)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_prompt_that_the_model_was_not_made_for_is_one_line():
    long = Message("game", "one two " * 5000)
    with pytest.raises(RedQueenError, match=r"tokens, and the model was made for 4096 with its reply") as refused:
        learner().prompt(Ask(ASK.seat, (long,), (), seed=1))
    assert "\n" not in str(refused.value)


def test_a_table_has_none_of_these():
    with pytest.raises(RedQueenError, match=r"^--warm-up has no effect on a tabular policy"):
        Learner(optimization=Optimization(warm_up=3)).build(seed=0)


def test_an_optimiser_in_eight_bits_without_its_library_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "bitsandbytes.optim", None)
    with pytest.raises(RedQueenError, match=r"^--optimizer adamw-8bit needs bitsandbytes: pip install"):
        learner(optimizer="adamw-8bit")


def test_weights_are_in_bfloat16_on_a_gpu_by_default():
    assert [usual_dtype(device) for device in ("cpu", "cuda", "cuda:1")] == ["float32", "bfloat16", "bfloat16"]


FLAGS = ["spiral", "--game", "kuhn_poker", "--model", "tiny", "--matches-per-step", "4", "--evaluate-every", "100"]
FLAGS += ["--schedule", "cosine", "--warm-up", "1", "--betas", "0.8", "0.95", "--weight-decay", "0.1"]
FLAGS += ["--max-grad-norm", "0.5", "--lora-rank", "4", "--lora-dropout", "0.2", "--lora-alpha", "4"]
FLAGS += ["--gradient-checkpointing", "--micro-batch-tokens", "64"]


def test_a_resumed_run_keeps_all_of_it_to_the_bit(tmp_path, capsys):
    """Three steps at once, and the same run resumed from its checkpoint after two."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    flags = [*FLAGS, "--steps", "3", "--checkpoint-every", "1", "--keep-checkpoints", "3"]
    assert main(["train", *flags, "--output", str(whole)]) == 0
    shutil.copytree(whole, cut)
    for path in sorted((cut / "checkpoints").iterdir())[-1:]:
        shutil.rmtree(path)
    (cut / "final.json").unlink()
    assert main(["resume", str(cut)]) == 0
    for name in ("adapter_model.safetensors",):
        files = [folder / "checkpoints" / "step_000003" / "learner" / name for folder in (whole, cut)]
        assert files[0].read_bytes() == files[1].read_bytes()
    rates = [[line["learning_rate"] for line in read_metrics(each)] for each in (whole, cut)]
    assert rates[0] == rates[1] == pytest.approx([1e-4, 1e-4, 0.5e-4])
    assert main(["resume", str(cut), "--steps", "5"]) == 2
    assert "the cosine schedule of" in capsys.readouterr().err


def test_a_schedule_longer_than_the_run_is_one_line_and_nothing_is_written(tmp_path, capsys):
    flags = [*FLAGS, "--steps", "3", "--warm-up", "3", "--output", str(tmp_path / "run")]
    assert main(["train", *flags]) == 2
    said = capsys.readouterr().err
    assert said.startswith("redqueen: a warm-up of 3 steps is no shorter than the run of 3: set --warm-up to 2 or less")
    assert not (tmp_path / "run" / "config.json").exists()


def test_a_model_that_never_learns_is_held_once_and_has_no_optimiser(tmp_path):
    """Its parameters are all the tensors it has; what it says is what a frozen copy of a learner says."""
    Learner(model="tiny", device="cpu").build(seed=3).save(tmp_path)
    config = Learner(model="tiny", lora_rank=4, device="cpu", optimization=Optimization(lora_alpha=8))
    mine = config.build_model(0)
    judge = bind("judge", str(tmp_path), config, mine, 0, learns=False)
    copied = Learner(model=str(tmp_path), lora_rank=0, device="cpu").build_model(0, "judge").freeze()
    assert judge.name == copied.name == "judge@0"
    assert judge.probabilities([ASK])[0] == pytest.approx(copied.probabilities([ASK])[0], rel=1e-6)
    assert judge.reply([ASK])[0].tokens.tolist() == copied.reply([ASK])[0].tokens.tolist()
    assert not judge.learns and not judge.trainable and judge._own is None
    assert "_optimizer" not in vars(judge)
    assert not any(value.requires_grad for value in judge._loaded.model.parameters())
    assert sum(value.numel() for value in judge._loaded.model.parameters()) == 131_392


def test_the_tokens_of_a_pass_are_those_of_the_device_or_those_asked_for():
    assert [Optimization().tokens_of_a_pass(device) for device in ("cpu", "cuda", "cuda:1")] == [2048, 8192, 8192]
    assert Optimization(micro_batch_tokens=100).tokens_of_a_pass("cuda") == 100
