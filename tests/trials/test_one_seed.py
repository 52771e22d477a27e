"""The warm starts of two checkouts do not stand in each other's way."""

import os
from math import inf

import pytest

from redqueen.trials import kept, one_seed
from redqueen.trials.one_seed import MADE, WEEK, Job, warm

OWN = """
from redqueen.recipes.credit.grpo import recipe as grpo
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Experiment, Training, versus
from redqueen.trials.starts import Start, warmed

SCHOOL = cold_start.Config(
    Learner(model="tiny:hidden=16,heads=2", max_completion_length=8), "sums", steps=1, demonstrations_per_step=4,
    problems=4,
)
OWN = Experiment(
    title="x",
    asked="x",
    trial=Training(grpo.train),
    config=grpo.Config(warmed(), questions="sums", problems=4),
    starts={"learner.model": Start(SCHOOL)},
    variants={"a": {}, "b": {"steps": 1}},
    figures=("accuracy",),
    compared=versus("a", ("b",), ("accuracy",)),
    controls=("b",),
)
"""


@pytest.fixture
def checkouts(tmp_path, monkeypatch):
    """Jobs of the same experiment in two folders, in one of which the file has a line more."""
    monkeypatch.setenv("REDQUEEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "BEGAN", inf)  # files that other tests wrote and loaded are no reason to keep nothing
    jobs = []
    for name, text in (("one", OWN), ("two", f"{OWN}# changed\n")):
        path = tmp_path / name / "own.py"
        path.parent.mkdir()
        path.write_text(text)
        jobs.append(Job(str(path), "own", "", 0, 1))
    return jobs


def made(tmp_path):
    return sorted((tmp_path / "cache").rglob(MADE))


def test_a_start_that_other_code_made_is_made_anew_and_stays_where_it_is(checkouts, tmp_path):
    first, second = checkouts
    warm(first, first.experiment())
    (one,) = made(tmp_path)
    warm(second, second.experiment())
    assert len(made(tmp_path)) == 2 and one in made(tmp_path)
    written = {path: (path.parent / "metrics.jsonl").stat().st_mtime_ns for path in made(tmp_path)}
    for job in checkouts:
        warm(job, job.experiment())
    assert {path: (path.parent / "metrics.jsonl").stat().st_mtime_ns for path in made(tmp_path)} == written


def test_a_start_of_other_code_that_nobody_used_for_a_week_goes(checkouts, tmp_path):
    first, second = checkouts
    warm(first, first.experiment())
    (one,) = made(tmp_path)
    long_ago = one_seed.time.time() - WEEK - 60
    os.utime(one, (long_ago, long_ago))
    warm(second, second.experiment())
    assert one not in made(tmp_path) and len(made(tmp_path)) == 1
