"""What is compared of trainings: figures of their first, last and late steps, and what a warm start depends on."""

import importlib
import os

import pytest
from rich.console import Console

from redqueen.questions.catalogue import find_questions
from redqueen.recipes.games.advantage_alignment import recipe as advantage_alignment
from redqueen.trials.paired import Trial, _train, difference, figure, moved, surplus, table, texts_of, trained

LINES = tuple({"step": n, "solved": n / 10} for n in range(10))
TRIAL = Trial(LINES, {"accuracy": 0.9})


def test_a_figure_is_of_the_last_measurement_the_first_step_or_the_last_fifth():
    assert figure(TRIAL, "accuracy") == 0.9
    assert figure(TRIAL, "first solved") == 0.0
    assert figure(TRIAL, "late solved") == pytest.approx(0.85)


def test_a_cell_tells_the_start_and_the_end_with_its_interval():
    assert moved([TRIAL, TRIAL], "first solved", "late solved") == "0.000 to +0.850 [+0.850, +0.850]"


def test_a_figure_that_some_trial_lacks_is_none_in_the_table():
    rows = table({"ours": [TRIAL, Trial(LINES[:1], {"accuracy": 0.5})]}, ("late solved", "late missing", "missing"))
    assert rows == [("ours", "+0.425 [+0.000, +0.850]", "none", "none")]


def test_a_difference_is_taken_seed_by_seed():
    better = [Trial((), {"accuracy": 0.3}), Trial((), {"accuracy": 0.9})]
    worse = [Trial((), {"accuracy": 0.1}), Trial((), {"accuracy": 0.7})]
    found = difference({"ours": better, "theirs": worse}, "ours", "theirs", "accuracy")
    assert found == "accuracy, ours minus theirs: +0.200 [+0.200, +0.200]"


def test_a_surplus_is_taken_trial_by_trial():
    trials = [Trial(({"step": 0, "accuracy": start},), {"accuracy": end}) for start, end in ((0.1, 0.4), (0.5, 0.8))]
    assert surplus(trials, "accuracy", "first accuracy") == "+0.300 [+0.300, +0.300]"


def test_one_trial_is_of_a_recipe_or_of_a_function_like_its_train_and_what_is_read_of_the_learner_is_in_it(tmp_path):
    config = advantage_alignment.Config(steps=2, matches_per_step=4, group=4)

    def read(learner):
        return {"version": float(learner.version)}

    by_name = _train("advantage_alignment", config, 3, 10**9, read, tmp_path / "name")
    by_function = _train(advantage_alignment.train, config, 3, 10**9, read, tmp_path / "function")
    assert by_name.final["version"] == 2.0 and "self_play/score" in by_name.final
    assert by_function.final["self_play/score"] == by_name.final["self_play/score"]
    assert len(by_name.lines) == 2


STUMBLING = '''
"""Advantage alignment that is interrupted after 30 steps of its second seed, once; it writes down who begins."""

import os
from dataclasses import replace
from pathlib import Path

from redqueen.recipes.games.advantage_alignment import recipe as advantage_alignment
from redqueen.runs.run import read_metrics


def train(config, run):
    begun = f"{run.seed} at {len(read_metrics(run.folder))}"
    with (Path(os.environ["REDQUEEN_CACHE"]) / "begun.txt").open("a") as notes:
        notes.write(f"{begun}\\n")
    if begun == "1 at 0":
        advantage_alignment.train(replace(config, steps=30), run)
        raise InterruptedError("killed")
    return advantage_alignment.train(config, run)
'''


def test_an_interrupted_comparison_goes_on_where_it_stopped_and_comes_to_the_same(tmp_path, monkeypatch):
    config = advantage_alignment.Config(steps=40, matches_per_step=4, group=4)
    whole = trained("advantage_alignment", {"ours": config}, 2, Console(quiet=True))["ours"]
    monkeypatch.setenv("REDQUEEN_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})  # one after the other
    (tmp_path / "stumbling.py").write_text(STUMBLING)
    monkeypatch.syspath_prepend(tmp_path)
    stumbling = importlib.import_module("stumbling").train
    with pytest.raises(InterruptedError):
        trained(stumbling, {"ours": config}, 2, Console(quiet=True))
    again = trained(stumbling, {"ours": config}, 2, Console(quiet=True))["ours"]
    assert (tmp_path / "begun.txt").read_text().splitlines() == ["0 at 0", "1 at 0", "0 at 40", "1 at 30"]
    for one, other in zip(whole, again, strict=True):
        assert [{**line, "time": 0} for line in one.lines] == [{**line, "time": 0} for line in other.lines]
        assert one.final == other.final
    assert list((tmp_path / "trials").iterdir()) == []


@pytest.mark.parametrize(
    ("spec", "modules"),
    [
        ("sums", ["Sums of two numbers"]),
        ("judged:sums", ["How a judge is asked", "Another domain with a role more", "Sums of two numbers"]),
        ("expressions", ["Python expressions of x", "Programs, inputs and outputs"]),
        ("facts", ["Sums about things", "Sums of two numbers"]),
    ],
)
def test_a_warm_start_depends_on_its_domain_and_what_that_is_made_from_alone(spec, modules):
    texts = texts_of(find_questions(spec))
    assert len(texts) == len(modules)
    assert all(any(text.startswith(f'"""{module}') for text in texts) for module in modules)
