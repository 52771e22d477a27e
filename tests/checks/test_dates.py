"""Which day a text names."""

from datetime import date

import pytest

from redqueen.checks.dates import date_of, dates_in

MAY = date(2021, 5, 2)


@pytest.mark.parametrize(
    "text",
    ["2021-05-02", "2021/5/2", "May 2, 2021", "may 2nd 2021", "2 May 2021", "the 2nd of May, 2021", "2021-05-02."],
)
def test_a_day_is_one_however_it_is_written(text):
    assert dates_in(f"So it was on {text}") == [MAY]


@pytest.mark.parametrize(
    "text",
    [
        "5/2/2021",
        "2021",
        "May 2",
        "31 February 2020",
        "maybe 2, 2021",
        "v1.2021-05-02",
        "2021-05-021",
        "10-20",
        "1-555-0100",
    ],
)
def test_what_names_no_day_is_none(text):
    assert dates_in(text) == []
    assert date_of(text) is None


def test_dates_come_in_the_order_in_which_they_stand():
    assert dates_in("from 2020-01-31 until May 2, 2021") == [date(2020, 1, 31), MAY]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2021-05-02", MAY),
        ("It happened on May 2, 2021.", MAY),
        ("Date: 2 May 2021", MAY),
        ("The treaty of May 2, 2021", None),  # is a treaty
        ("On May 2, 2021 it rained.", None),
        ("between May 2, 2021 and May 3, 2021", None),
    ],
)
def test_a_text_is_a_date_if_it_is_nothing_else_or_a_sentence_that_ends_on_one(text, found):
    assert date_of(text) == found
