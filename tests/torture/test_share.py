"""A small share of the torture and of the fuzzing; `make torture` runs larger ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def ended(script, *words):
    done = subprocess.run(
        [sys.executable, str(HERE / script), *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(HERE.parents[1]), "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout.splitlines()[-1].strip("| ").split(" | ")


@pytest.mark.long
def test_trainings_that_are_disturbed_end_as_if_nothing_had_happened():
    seed, _, cases, trials, _, wrong = ended("share.py", "25", "0", "spiral", "fictitious", "league", "spo")
    assert (seed, wrong) == ("0", "0")
    assert int(cases) >= 1
    assert int(trials) >= 1


@pytest.mark.long
@pytest.mark.parametrize("kind", ["replies", "templates", "tasks", "requests"])
def test_what_others_wrote_is_read_or_refused_in_one_line(kind):
    name, _, tried, wrong = ended("fuzz.py", "3", "0", kind)
    assert (name, wrong) == (kind, "0")
    assert int(tried) > 5
