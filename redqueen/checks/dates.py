"""Dates in a text: which day a text names, however it is written."""

from __future__ import annotations

import re
from datetime import date

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = r"(?P<{0}>[0-3]?[0-9])(?:st|nd|rd|th)?"
_YEAR = r"(?P<{0}>[0-9]{{4}})"
_END = r"(?![\w/-]|[.,][0-9])"
_DATES = re.compile(
    r"(?i)(?<![\w.,/-])(?:"
    rf"{_YEAR.format('y1')}(?P<by>[-/.])(?P<m1>[01]?[0-9])(?P=by)(?P<d1>[0-3]?[0-9]){_END}"
    rf"|{_MONTH.format('m2')}\s+(?:the\s+)?{_DAY.format('d2')},?\s+{_YEAR.format('y2')}{_END}"
    rf"|{_DAY.format('d3')}\s+(?:of\s+)?{_MONTH.format('m3')},?\s+{_YEAR.format('y3')}{_END})"
)
_BEFORE = re.compile(r"(?i)(?:\b(?:on|was|is|be|by|until|since|from|date|day)\b(?:\s+the)?|[:=])\s*$")


def dates_in(text: str) -> list[date]:
    """The dates that a text names, in order: 2021-05-02, May 2, 2021, 2nd of May 2021. A day without a year is none,
    nor is 5/2/2021, of which nobody knows whether the month or the day stands first."""
    return [found for found, _, _ in _dates(text)]


def date_of(text: str) -> date | None:
    """The date that a text is, or that a short sentence ends on ("It was on May 2, 2021."); None for any other text,
    among them one with two dates."""
    found = _dates(text.strip())
    if len(found) != 1:
        return None
    day, start, end = found[0]
    before, after = text.strip()[:start].strip(), text.strip()[end:].strip(" .!\"'*)")
    named = not before.strip("\"'*(") or (bool(_BEFORE.search(before)) and len(before.split()) <= 12)
    return day if named and not after else None


def _dates(text: str) -> list[tuple[date, int, int]]:
    """The dates with the places where they begin and end."""
    found = []
    for each in _DATES.finditer(text):
        parts = {name[0]: value for name, value in each.groupdict().items() if value and name != "by"}
        month = parts["m"]
        number = int(month) if month.isdigit() else _MONTHS.index(month[:3].lower()) + 1
        try:
            found.append((date(int(parts["y"]), number, int(parts["d"])), each.start(), each.end()))
        except ValueError:  # the 31st of February
            continue
    return found
