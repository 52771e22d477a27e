"""RISE: solutions and verdicts in one update, both paid by the outcome; solving alone as its control."""

import json

import pytest

from redqueen.recipes.self_training.rise import recipe as rise
from redqueen.runs.run import Run, Schedule, read_final, read_metrics
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
COIN = """
from redqueen.questions.small.sums import Sums

class Coin(Sums):
    def right(self, tasks, answers):
        return [number % 2 == 0 for number in range(len(answers))]
"""


def trained(folder, record=0, **changes):
    settings = {"learner": TINY, "steps": 2, "tasks": 4, "attempts": 2, "verifications": 4, "problems": 2}
    run = Run(folder, 0, Schedule(100, 100, record_episodes=record))
    rise.train(rise.Config(**settings | {"truncated_score": "graded"} | changes), run)
    return run


def coin(folder):
    path = folder / "coin.py"
    path.write_text(COIN)
    return f"{path}:Coin"


def test_solutions_and_verdicts_are_in_one_update(tmp_path):
    run = trained(tmp_path / "run", record=20, questions=coin(tmp_path))
    (line, *_) = read_metrics(run.folder)
    assert line["episodes"] == 8.0 + 4.0
    assert line["reward/solver"] == pytest.approx(0.25)  # half 1, half -0.5
    assert line["reward/verifier"] == -1.0  # a model made from nothing says neither word
    assert line["train/unreadable"] == 1.0
    records = [json.loads(text) for text in (run.folder / "episodes" / "step_000000.jsonl").read_text().splitlines()]
    asked = [each["task"]["answer"] for each in records if each["game"] == "single_reply:verifier"]
    assert sorted(asked) == ["right", "right", "wrong", "wrong"]


def test_a_verification_is_about_a_solution_of_the_same_step(tmp_path):
    run = trained(tmp_path / "run", record=20, questions=coin(tmp_path))
    for step in (0, 1):
        text = (run.folder / "episodes" / f"step_{step:06d}.jsonl").read_text()
        records = [json.loads(line) for line in text.splitlines()]
        solved = {
            f"{each['task']['prompt']} {each['facts']['reply']}\nIs it right or wrong?"
            for each in records
            if each["game"] == "single_reply:solver"
        }
        verified = {each["task"]["prompt"] for each in records if each["game"] == "single_reply:verifier"}
        assert verified
        assert verified <= solved


def test_without_verifications_solving_is_trained_alone(tmp_path):
    (line, *_) = read_metrics(trained(tmp_path / "run", questions=coin(tmp_path), verifications=0).folder)
    assert line["episodes"] == 8.0
    assert "reward/verifier" not in line


def test_a_step_in_which_everything_is_wrong_verifies_nothing_and_goes_on(tmp_path):
    for line in read_metrics(trained(tmp_path).folder):
        assert line["episodes"] == 8.0


def test_what_is_measured_names_both_votes(tmp_path):
    final = read_final(trained(tmp_path).folder)
    assert {"accuracy", "majority", "weighted_vote", "verification/unreadable"} <= final.keys()


def test_one_verification_is_refused_and_an_odd_number_is_one_less(tmp_path):
    with pytest.raises(RedQueenError, match="come in twos"):
        trained(tmp_path / "one", verifications=1)
    (line, *_) = read_metrics(trained(tmp_path / "run", questions=coin(tmp_path), verifications=5, steps=1).folder)
    assert line["episodes"] == 8.0 + 4.0
