"""A GPU against the processor: the same model on both says the same words, rates them alike and learns the same."""

import json
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch

from redqueen.chance import derive
from redqueen.objectives.additive import Sum
from redqueen.objectives.policy_gradient import ClippedRatio, Reinforce
from redqueen.objectives.regularizers import EntropyBonus
from redqueen.players.transformer import recorded
from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.key_values import KeyValueStore
from redqueen.players.transformer.loading import LoadedModel
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.players.transformer.sampling import Manner, sample
from tests.players.transformer.test_policy import batch_of, questions, single, talked
from tests.players.transformer.test_recorded import APART, LONG, PROMPTS, STOPS, sampled

HERE = os.environ.get("REDQUEEN_GPU", "cuda")  # "cpu" tries the tests themselves
EXAMPLES = Path(__file__).parent.parent / "examples"
FAMILIES = pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3", "mistral", "gemma3", "gpt2"])
RANKS = pytest.mark.parametrize("rank", [0, 4])


def moved(loaded, dtype=torch.float32):
    """The same model on the GPU."""
    return LoadedModel(loaded.name, deepcopy(loaded.model).to(HERE, dtype), loaded.tokenizer)


@RANKS
@FAMILIES
@pytest.mark.parametrize("prompts", [PROMPTS, APART, LONG], ids=["some shared", "apart", "long"])
def test_it_says_the_same_words(made, family, prompts, rank):
    loaded = made(family, rank)
    expected, found = sampled(loaded.model, prompts), sampled(moved(loaded).model, prompts)
    assert recorded._can_record
    for one, other in zip(expected, found, strict=True):
        assert one.tokens == other.tokens
        np.testing.assert_allclose(other.logprobs, one.logprobs, atol=2e-4)


@FAMILIES
def test_recorded_steps_are_those_of_single_operations(made, monkeypatch, family):
    loaded = moved(made(family, 4))
    found = sampled(loaded.model, PROMPTS)
    monkeypatch.setattr(recorded, "_can_record", False)
    for one, other in zip(sampled(loaded.model, PROMPTS), found, strict=True):
        assert one.tokens == other.tokens
        np.testing.assert_allclose(other.logprobs, one.logprobs, atol=1e-4)


def test_a_reply_is_the_same_alone_and_in_company(made):
    loaded = moved(made("qwen3", 4))
    together = sampled(loaded.model, PROMPTS)
    forward = Forward(loaded.model)
    for number, prompt in enumerate(PROMPTS):
        manner = Manner(STOPS, 70, 1.0)
        (alone,) = sample(forward, KeyValueStore(forward, 10_000), [prompt], [derive(4, number)], manner)
        assert alone.tokens == together[number].tokens
        np.testing.assert_allclose(alone.logprobs, together[number].logprobs, atol=1e-4)


@RANKS
@FAMILIES
@pytest.mark.parametrize("held", [True, False])
def test_an_update_is_that_of_the_processor(made, family, rank, held):
    loaded = made(family, rank)
    objective = Sum(ClippedRatio(), EntropyBonus(0.1))
    here, there = (
        TransformerPolicy(each, constrain=held, max_completion_length=24, learning_rate=1e-2, max_grad_norm=0.1)
        for each in (loaded, moved(loaded))
    )
    batch = batch_of([*single(here, questions()), *talked(here)])
    rated = here.likelihoods(batch), there.likelihoods(batch)
    torch.testing.assert_close(rated[1].logprobs, rated[0].logprobs, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(rated[1].entropies, rated[0].entropies, atol=1e-4, rtol=1e-4)
    expected, found = here.update(batch, objective), there.update(batch, objective)
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-4)
    for key in here.trainable:
        moments = [each._optimizer._adamw.state[each.trainable[key]]["exp_avg"].cpu() for each in (here, there)]
        torch.testing.assert_close(moments[1], moments[0], atol=1e-6, rtol=1e-2)


@pytest.mark.parametrize("shape", ["full", "adapter"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_two_trainings_of_one_seed_are_one(made, dtype, shape, tmp_path):
    """Bit for bit, and so is one that goes on from its checkpoint."""

    def begun():
        loaded = moved(made("qwen3", 4 if shape == "adapter" else 0), dtype)
        return TransformerPolicy(loaded, constrain=False, max_completion_length=40, learning_rate=1e-2)

    def trained(stop=None):
        policy = begun()
        for step in range(4):
            if step == stop:
                policy.save(tmp_path)
                policy = begun()
                policy.load(tmp_path)
            policy.update(batch_of([*single(policy, questions()), *talked(policy, seed=step)]), Reinforce())
        return policy

    straight, again, resumed = trained(), trained(), trained(stop=2)
    for other in (again, resumed):
        same = [torch.equal(value, other.trainable[key]) for key, value in straight.trainable.items()]
        assert all(same), f"{same.count(False)} of {len(same)} weights differ"


@pytest.mark.parametrize("held", [True, False])
def test_what_is_sampled_in_bfloat16_is_rated_alike_when_learned(made, held):
    policy = TransformerPolicy(
        moved(made("qwen3", 4, scale=0.3), torch.bfloat16), constrain=held, max_completion_length=60
    )
    metrics = policy.update(batch_of([*single(policy, questions(count=24)), *talked(policy)]), Reinforce())
    print(f"\nmismatch {metrics['sampler_mismatch_mean']:.2g}, at most {metrics['sampler_mismatch_max']:.2g}")
    assert 0.0 < metrics["sampler_mismatch_mean"] < 0.02


def test_a_frozen_copy_and_a_sibling_speak_with_their_own_weights(made):
    policy = TransformerPolicy(moved(made("llama", 4)), constrain=False, max_completion_length=40, learning_rate=1e-1)
    twin = policy.sibling("twin")
    frozen = policy.freeze()
    asked = questions()
    before = [each.text for each in policy.reply(asked)]
    assert [each.text for each in frozen.reply(asked)] == before == [each.text for each in twin.reply(asked)]
    policy.update(batch_of(single(policy, asked)), Reinforce())
    after = [each.text for each in policy.reply(asked)]
    assert after != before
    assert [each.text for each in frozen.reply(asked)] == before == [each.text for each in twin.reply(asked)]
    twin.update(batch_of(single(twin, asked)), Reinforce())
    assert [each.text for each in policy.reply(asked)] == after


def test_two_streams_take_turns_on_one_model(made):
    """Each has its recording, and its own weights in it."""
    policy = TransformerPolicy(moved(made("llama", 4)), constrain=False, max_completion_length=60, learning_rate=1e-1)
    frozen = policy.freeze()
    policy.update(batch_of(single(policy, questions())), Reinforce())
    asked = questions(count=8)
    expected = [[each.text for each in player.reply(asked)] for player in (policy, frozen)]
    policy.forget()
    streams = [player.stream(4) for player in (policy, frozen)]
    for stream in streams:
        stream.put(asked)
    found: list[dict[int, str]] = [{}, {}]
    while any(len(each) < len(asked) for each in found):
        for stream, texts in zip(streams, found, strict=True):
            texts.update((number, reply.text) for number, reply in stream.get())
    assert [[texts[n] for n in range(len(asked))] for texts in found] == expected


def run(*words):
    command = [sys.executable, "-m", "redqueen", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-3000:]


def metrics(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    "words",
    [
        "grpo --tasks 4 --attempts 4 --truncated-score graded --problems 4",
        "spiral --game kuhn_poker --matches-per-step 8",
        "grpo --lora-rank 4 --dtype float32 --tasks 4 --attempts 4 --truncated-score graded --problems 4",
    ],
)
def test_a_run_begins_and_goes_on(tmp_path, words):
    recipe, *rest = words.split()
    asked = ["--questions", EXAMPLES / "arithmetic.jsonl"] if "--tasks" in rest else []
    folders = tmp_path / "straight", tmp_path / "resumed"
    common = [
        recipe,
        *asked,
        *rest,
        "--model",
        "tiny",
        "--device",
        HERE,
        "--evaluate-every",
        2,
        "--checkpoint-every",
        1,
    ]
    run("train", *common, "--steps", 4, "--output", folders[0])
    run("train", *common, "--steps", 2, "--output", folders[1])
    run("resume", folders[1], "--steps", 4)
    straight, resumed = map(metrics, folders)
    for one, other in zip(straight, resumed, strict=True):
        told = {key: value for key, value in one.items() if key != "time"}
        assert {key: other.get(key) for key in told} == told
