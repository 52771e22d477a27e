"""The comparisons of speed on a tiny model: that they compare the same work."""

import json
from random import Random

import pytest
import torch

from experiments.speed import _one_step as one_step
from experiments.speed import model as speed
from redqueen.contracts.games import check_game
from redqueen.play.lockstep import play
from redqueen.players.transformer.loading import tiny_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.types import Match


def tiny_speaker(dtype, **settings):
    loaded = tiny_model()
    loaded.model.to(getattr(torch, dtype)).eval()
    policy = TransformerPolicy(loaded, max_completion_length=speed.REPLY, constrain=False)
    policy.manner = type(policy.manner)(frozenset(), speed.REPLY, 1.0)
    return policy


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(speed, "speaker", tiny_speaker)
    monkeypatch.setattr(speed, "peer", lambda dtype: tiny_model().model.to(getattr(torch, dtype)).eval())
    return 1


def test_prompts_have_the_stated_length_and_differ(small):
    policy = tiny_speaker("float32")
    asks = speed.prompts(6, policy.format)
    lengths = [len(policy.format.prompt(asked)) for asked in asks]
    assert all(speed.PROMPT <= length <= speed.PROMPT + 8 for length in lengths)
    assert len(set(asks)) == 6


def test_both_sides_of_the_update_have_the_same_gradient(small):
    policy = tiny_speaker("float32")
    batch = speed._written(policy, [asked for asked in speed.prompts(2, policy.format) for _ in range(4)])
    model = tiny_model().model.eval()
    kept = {}

    def keeping(value, name):
        kept.setdefault(name, []).append(value.clone())

    for net in (policy._loaded.model, model):
        for name, value in net.named_parameters():
            value.register_hook(lambda gradient, name=name: keeping(gradient, name))
    speed._backward(policy, batch)
    speed._plain_backward(model, batch)
    for ours, theirs in kept.values():
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-4)


def test_distinct_tokens_are_counted_once(small):
    policy = tiny_speaker("float32")
    (asked,) = speed.prompts(1, policy.format)
    batch = speed._written(policy, [asked] * 4)
    prompt = int(batch.lengths[0]) - speed.REPLY
    assert prompt < speed._distinct(batch) <= prompt + 4 * (speed.REPLY - 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["update", "sampling", "long_games"])
def test_a_comparison_has_a_value_under_every_heading(small, name):
    headings, rows, note = getattr(speed, name)(small)
    assert rows
    assert all(len(row) == len(headings) for row in rows)
    assert all(cell for row in rows for cell in row)
    assert note


def test_a_step_without_its_peer_says_what_is_missing(small, monkeypatch):
    def child(words, repeats):
        return speed._Measured([1.0], 2.0) if words[0] == "redqueen" else "No module named 'trl'"

    monkeypatch.setattr(speed, "_child", child)
    headings, rows, _ = speed.step(small)
    assert rows == [("TRL", "No module named 'trl'")]
    assert len(headings) == 2


def test_a_step_is_measured_before_and_after_its_peer(monkeypatch):
    asked = []

    def child(words, repeats):
        asked.append(words)
        if words[0] == "trl":
            return speed._Measured([3.0, 9.0, 3.0], 8.0)
        return speed._Measured([1.0] * 3, 2.0) if len(asked) % 3 == 1 else speed._Measured([2.0] * 3, 4.0)

    monkeypatch.setattr(speed, "_child", child)
    headings, rows, _ = speed.step(3)
    assert [row[1:] for row in rows] == 3 * [("3.0", "1.5", "2.0", "1.5 to 3.0", "8.0", "4.0", "0.50")]
    assert all(len(row) == len(headings) for row in rows)
    ours, float32 = ("redqueen", "bfloat16", "keep"), ("redqueen", "float32", "keep")
    halves = (("trl", "bfloat16", "keep"), ("trl", "bfloat16", "recompute"))
    assert asked == [
        *(each for half in halves for each in (ours, half, ours)),
        float32,
        ("trl", "float32", "keep"),
        float32,
    ]


def test_a_child_reports_its_seconds_and_memory(monkeypatch, capsys):
    monkeypatch.setattr(one_step, "speaker", tiny_speaker)
    one_step.main(["redqueen", "float32", "keep", "2"])
    found = json.loads(capsys.readouterr().out)
    assert len(found["seconds"]) == 2
    assert found["gigabytes"] > 0.05


def test_a_dialogue_has_as_many_turns_as_wished_and_is_a_game():
    policy = tiny_speaker("float32")
    game = speed.Dialogue(3)
    check_game(game)
    (episode,) = play([Match(game, game.tasks()[0], {"writer": policy})], Random(0))
    assert len(episode.turns) == 3
    assert all(len(turn.reply.tokens) == speed.REPLY for turn in episode.turns)
