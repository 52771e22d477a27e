"""docs/accepts.md has a row for every recipe, and every number in it names a line."""

import json
import re
from pathlib import Path

import pytest

from redqueen.settings.finding import RECIPES

DOCS = Path(__file__).parents[2] / "docs"
PAGE, HEADING, TIMES = (DOCS / "accepts.md").read_text(encoding="utf-8").partition("\n## Twenty updates\n")
ROWS = {name: cells.split(" | ") for name, cells in re.findall(r"(?m)^\| `(\w+)` \| (.*) \|$", PAGE)}
REASONS = dict(re.findall(r"(?m)^(\d+)\. (.+)$", PAGE))


def test_the_rows_are_the_recipes():
    assert list(ROWS) == list(RECIPES), "docs/accepts.md is stale: run python docs/write_accepts.py"


@pytest.mark.parametrize("name", ROWS)
def test_every_cell_is_yes_or_no_verdict_or_the_number_of_a_line(name):
    (heading,) = re.findall(r"(?m)^\| recipe \| (.*) \|$", PAGE)
    assert len(ROWS[name]) == len(heading.split(" | "))
    assert set(ROWS[name]) <= {"**yes**", "*no verdict*", *REASONS}


def test_every_line_is_named_by_a_cell():
    assert set(REASONS) == {cell for cells in ROWS.values() for cell in cells} - {"**yes**", "*no verdict*"}


def test_what_takes_a_game_and_what_takes_questions_says_so():
    assert ROWS["spiral"][-1] == "**yes**"
    assert REASONS[ROWS["spiral"][0]] == "it has no setting that takes a question set"
    assert ROWS["r_zero"][:2] == ["**yes**", "**yes**"]


def test_the_second_table_is_that_of_its_runs():
    assert HEADING
    runs = [json.loads(line) for line in (DOCS / "accepts_runs.jsonl").read_text(encoding="utf-8").splitlines()]
    reasons = dict(re.findall(r"(?m)^(\d+)\. (.+)$", TIMES))
    rows = {name: cells.split(" | ") for name, cells in re.findall(r"(?m)^\| `(\w+)` \| (.*) \|$", TIMES)}
    models = re.findall(r"(?m)^\| recipe \| (.*) \|$", TIMES)[0].split(" | ")
    for run in runs:
        cell = rows[run["recipe"]][models.index(run["model"])]
        seconds = run.get("processor_seconds", run.get("seconds"))  # the clock's in older rows
        minutes = f"{seconds // 60}:{seconds % 60:02d}"
        if run["status"] == 124:  # it was given 12 minutes
            assert cell == f"{run['steps']} steps, then ended after 12 minutes"
        else:
            assert cell.startswith(minutes) if run["status"] == 0 else cell in reasons
        assert run["steps"] >= 20 or run["status"]
    assert {cell for cells in rows.values() for cell in cells if cell.isdecimal()} == set(reasons)
