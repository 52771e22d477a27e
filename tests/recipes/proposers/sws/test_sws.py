"""SwS: three stages in one loop, new problems aimed at what fails, labels that are votes."""

from redqueen.curricula.weaknesses import LearningCurves
from redqueen.recipes.proposers.sws import recipe, steps
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
DOMAIN = "redqueen.questions.small.concepts:Concepts"
SMALL = {
    "learner": TINY,
    "questions": DOMAIN,
    "steps": 6,
    "preliminary": 2,
    "synthesis": 2,
    "proposals": 8,
    "tasks": 8,
    "attempts": 2,
    "data": 1,
    "problems": 1,
}


def lines(folder, checkpoint_every=100, **changes):
    run = Run(folder, 0, Schedule(100, checkpoint_every, record_episodes=0))
    recipe.train(recipe.Config(**SMALL | changes), run)
    return [{key: value for key, value in line.items() if key != "time"} for line in read_metrics(folder)]


def test_the_three_stages_follow_one_another(tmp_path):
    found = lines(tmp_path)
    assert ["posed" in line for line in found] == [False, False, True, True, False, False]
    assert ["episodes" in line for line in found] == [True, True, False, False, True, True]


def test_what_lies_at_zero_is_weak_only_where_a_flat_curve_counts(tmp_path):
    strict = lines(tmp_path / "strict")[2]
    assert sum(value for key, value in strict.items() if key.startswith("weak/")) == 0.0
    tolerant = lines(tmp_path / "tolerant", slope=0.05)[2]
    assert all(tolerant[f"weak/{concept}"] == 1.0 for concept in ("rest", "gcd", "sum"))


def test_a_stage_in_which_nothing_is_weak_makes_nothing_and_goes_on(tmp_path):
    found = lines(tmp_path)
    assert [line["posed"] for line in found[2:4]] == [0, 0]
    assert found[-1]["episodes"] == 16.0


def test_a_run_killed_between_the_stages_goes_on_as_if_nothing_had_happened(tmp_path):
    whole = lines(tmp_path / "whole", checkpoint_every=1, slope=0.05)
    lines(tmp_path / "parts", checkpoint_every=1, slope=0.05, steps=1)
    lines(tmp_path / "parts", checkpoint_every=1, slope=0.05, steps=3)
    assert lines(tmp_path / "parts", checkpoint_every=1, slope=0.05) == whole


def test_every_task_has_one_point_an_epoch(tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(steps, "LearningCurves", lambda: kept.append(LearningCurves()) or kept[0])
    lines(tmp_path, steps=8, preliminary=7, data=2, tasks=12)  # 16 tasks: a draw may go on into the next epoch
    found = kept[0].curves()
    assert len(found) == 16
    assert {curve.epochs for curve in found} == {(0, 1, 2, 3, 4)}
