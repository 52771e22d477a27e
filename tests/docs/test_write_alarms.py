"""docs/alarms.md says what the alarms say."""

import re
from pathlib import Path

from redqueen.user_code import module_from_file

ROOT = Path(__file__).parents[2]
writing = module_from_file(ROOT / "docs" / "write_alarms.py")


def test_the_page_is_current():
    assert writing.PAGE.read_text() == writing.page(), "docs/alarms.md is stale: run python docs/write_alarms.py"


def test_no_alarm_of_the_package_is_left_out():
    """An alarm is made by a call with its name first, but for those whose name is made by the code."""
    made = {
        name
        for path in (ROOT / "redqueen").rglob("*.py")
        for name in re.findall(r"\bAlarm\(\s*\"(\w+)\"", path.read_text())
    }
    shown = {alarm.name for _, alarm in writing.found()}
    assert len(made) > 40 and made - {"labels"} <= shown  # that one stands in the docstring of alarms.py


def test_a_row_says_figure_limit_and_words():
    alarm = writing.Alarm("too_low", "share", "only {value:.0%} of {count}", limit=0.25, steps=3, below=True)
    assert writing.row(alarm) == "| too low | `share` below 0.25 | 3 | only … of … |"
