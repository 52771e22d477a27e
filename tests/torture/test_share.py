"""A small share of the torture and of the fuzzing; `make torture` runs larger ones."""

import importlib.util
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


def test_trainings_that_are_disturbed_end_as_if_nothing_had_happened():
    seed, _, cases, trials, _, wrong = ended("share.py", "25", "0", "spiral", "fictitious", "league", "spo")
    assert (seed, wrong) == ("0", "0")
    assert int(cases) >= 1
    assert int(trials) >= 1


@pytest.mark.parametrize("kind", ["replies", "templates", "tasks", "requests", "endpoints", "folders"])
def test_what_others_wrote_is_read_or_refused_in_one_line(kind):
    name, _, tried, wrong = ended("fuzz.py", "3", "0", kind)
    assert (name, wrong) == (kind, "0")
    assert int(tried.replace(",", "")) > 5


def test_the_page_adds_up_what_the_ledger_holds():
    plan = importlib.util.spec_from_file_location("ledger", HERE / "ledger.py")
    ledger = importlib.util.module_from_spec(plan)
    plan.loader.exec_module(ledger)
    text = ledger.PAGE.read_text()
    assert ledger.page(text, ledger.read()) == text, "run: python tests/torture/ledger.py"


def test_shares_are_added_up():
    plan = importlib.util.spec_from_file_location("ledger", HERE / "ledger.py")
    ledger = importlib.util.module_from_spec(plan)
    plan.loader.exec_module(ledger)
    one = {"what": "trainings", "seed": 1, "seconds": 5, "cases": 2, "trials": 3, "wrong": 0, "done": {"kill": 2}}
    other = {**one, "seed": 2, "cases": 4, "wrong": 1, "done": {"kill": 1000, "two": 1}}
    said = {"what": "replies", "seed": 1, "tried": 10, "wrong": 0}
    found = ledger.tables([one, other, said])
    assert found["trainings"].splitlines()[-1] == "| **all** | 10 s | 4 | 6 | kill 1,002, two 1 | 1 |"
    named = [{**each, "names": names} for each, names in ((one, ["a", "b"]), (other, ["b", "c", "d", "e", "f"]))]
    assert ledger.tables(named)["trainings"].splitlines()[-1].startswith("| **all** | 10 s | 6 |")
    assert found["inputs"].splitlines()[-1] == "| replies | 1 | 10 | 0 |"
