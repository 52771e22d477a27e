"""DPO from a file of pairs: it starts where it must, prefers what was preferred, and refuses what has no effect."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from redqueen.recipes.preferences.dpo.recipe import Config, train
from redqueen.runs.checkpoints import read_parts
from redqueen.runs.run import Run, Schedule, read_final, read_metrics
from redqueen.settings.learner import Learner
from redqueen.settings.limits import check_settings
from redqueen.types import RedQueenError
from redqueen.views.headline import headline_of

TINY = Learner(model="tiny", max_completion_length=4, learning_rate=3e-3)


@pytest.fixture
def pairs(tmp_path):
    """Eighty prompts, at which small letters are preferred to capitals."""
    path = tmp_path / "pairs.jsonl"
    rows = [
        {"prompt": f"number {n}", "chosen": "abc"[n % 3] * 2, "rejected": "XYZ"[n % 3] * 2, "margin": 0.5}
        for n in range(80)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Config(TINY, questions=f"dataset:path={path},held_out=0.2", steps=15, pairs=64, passes=4, problems=16)


def trained(config, folder):
    run = Run(folder, 0, Schedule(1000, checkpoint_every=1000, record_episodes=0))
    train(config, run)
    return read_metrics(folder), read_final(folder)


@pytest.mark.parametrize(
    ("loss", "start"),
    [
        ("logistic", np.log(2)),
        ("squared", (1 / (2 * 0.1)) ** 2),
        ("hinge", 1.0),
        ("step-apo", np.log(1.0 + np.exp(0.5))),  # alpha times the file's margin
    ],
)
def test_each_loss_starts_where_it_is_known_to_and_tells_held_out_pairs_apart_at_its_end(pairs, loss, start, tmp_path):
    lines, final = trained(replace(pairs, loss=loss), tmp_path / "run")
    assert lines[0]["preference_loss"] == pytest.approx(start, rel=1e-4)
    assert lines[0]["held_out/preference_accuracy"] == 0.5, "policy and reference are one"
    assert final["held_out/preference_accuracy"] > 0.9
    assert final["held_out/preference_margin"] > 1.0


def test_a_run_on_pairs_of_free_text_opens_with_the_held_out_pairs_that_it_ranks_as_preferred(pairs, tmp_path):
    """No reply says what was chosen word for word: a share of such replies would stay at 0 whatever was learned."""
    path = tmp_path / "free.jsonl"
    rows = [{"prompt": f"number {n}", "chosen": f"It is {n}, I think.", "rejected": f"NO {n}"} for n in range(40)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    trained(replace(pairs, questions=f"dataset:path={path},held_out=0.2", pairs=32, steps=4), tmp_path / "run")
    found = headline_of(tmp_path / "run", {})
    assert found.figure == "held_out/preference_accuracy"
    assert (found.basis.count, found.basis.of) == (8, "held-out pairs")
    assert found.sentence.startswith("Held-out pairs ranked as preferred rose from 50.0% at step 0 to ")
    assert " on 8 pairs; " in found.sentence


@pytest.mark.parametrize("loss", ["simpo", "orpo"])
def test_losses_without_a_reference_tell_held_out_pairs_apart(pairs, loss, tmp_path):
    _, final = trained(replace(pairs, loss=loss), tmp_path / "run")
    assert final["held_out/preference_accuracy"] > 0.9


def test_step_apo_without_margins_is_refused_in_one_line(tmp_path):
    with pytest.raises(
        RedQueenError, match=r"^\d+ of \d+ pairs do not say by how much .*: step-apo needs a column margin"
    ):
        config = Config(TINY, loss="step-apo", pairs=4, problems=2)
        train(config, Run(tmp_path, 0))


def test_a_round_ends_where_the_margin_a_token_is_large(pairs, tmp_path):
    lines, _ = trained(replace(pairs, most_margin=0.05), tmp_path / "run")
    assert lines[-1]["round/stopped"] == 1.0
    passed = [line["margin_a_token"] for line in lines if line["loss"]]
    assert passed[-1] > 0.05 >= max(passed[:-1], default=0.0)


def test_chosen_replies_become_likelier_where_that_has_a_weight(pairs, tmp_path):
    ends = [trained(replace(pairs, chosen_weight=weight), tmp_path / str(weight))[1] for weight in (0.0, 1.0)]
    assert ends[1]["held_out/chosen_ratio"] > ends[0]["held_out/chosen_ratio"]
    assert ends[1]["coverage"] > ends[0]["coverage"]


def test_it_learns_no_more_than_so_many_passes_over_the_pairs(pairs, tmp_path):
    lines, _ = trained(replace(pairs, passes=1, steps=6), tmp_path / "run")  # 64 pairs are four updates of 16
    assert [line["loss"] != 0.0 for line in lines] == [True] * 4 + [False] * 2


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "squared", "label_smoothing": 0.1},
        {"loss": "hinge", "by_token": True},
        {"gamma": 2.0},
        {"alpha": 0.5},
        {"loss": "orpo", "chosen_weight": 1.0},
    ],
)
def test_settings_without_effect_are_refused(settings):
    with pytest.raises(RedQueenError, match="leave"):
        check_settings(Config(**settings))


def test_a_domain_without_preferences_is_refused_in_one_line(tmp_path):
    with pytest.raises(RedQueenError, match=r"sums is not .*: it has no preferences; .* dataset, preferences, rhymes$"):
        train(Config(TINY, questions="sums"), Run(tmp_path, 0))


def test_pairs_are_gone_through_at_most_so_often_however_many_are_asked_for(pairs, tmp_path):
    lines, _ = trained(replace(pairs, pairs=256, passes=1, steps=8), tmp_path / "run")  # 64 of 80 are for training
    assert lines[0]["round/pairs"] == 64
    assert [line["loss"] != 0.0 for line in lines] == [True] * 4 + [False] * 4


def test_without_a_part_for_tests_what_is_measured_is_kept_from_training(pairs, tmp_path):
    domain = pairs.questions.replace("held_out=0.2", "held_out=0")
    lines, _ = trained(replace(pairs, questions=domain, pairs=80, steps=1), tmp_path / "run")
    assert lines[0]["round/pairs"] == 80 - 16
    with pytest.raises(RedQueenError, match="all pairs are of tasks that are held out"):
        trained(replace(pairs, questions=domain, problems=80), tmp_path / "none")


@pytest.mark.parametrize("answer", ["boxed", "brackets"])
def test_an_answer_format_that_the_pairs_are_not_written_in_is_refused(pairs, answer, tmp_path):
    with pytest.raises(RedQueenError, match=f"not in the format --answer {answer}"):
        trained(replace(pairs, learner=replace(TINY, answer=answer)), tmp_path / "run")


def test_pairs_are_in_no_checkpoint_and_a_resumed_run_makes_the_same_again(pairs, tmp_path):
    """Four steps at once, and the same run taken up again after two: the same weights, figures and records."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    settings = replace(pairs, steps=4)
    train(settings, Run(whole, seed=1, schedule=Schedule(checkpoint_every=2)))
    shutil.copytree(whole, cut)
    shutil.rmtree(cut / "checkpoints" / "step_000004")
    train(settings, Run(cut, seed=1, schedule=Schedule(checkpoint_every=2)))
    for name in ("checkpoints/step_000004/learner/model.safetensors", "final.json", "episodes/step_000000.jsonl"):
        assert (whole / name).read_bytes() == (cut / name).read_bytes(), name
    lines = [[{**line, "time": 0} for line in read_metrics(folder)] for folder in (whole, cut)]
    assert lines[0] == lines[1]
    states = read_parts(whole / "checkpoints" / "step_000004")
    assert [state["rows"] for state in states if "rows" in state] == [None]
