"""Rankings that a judge writes: alone on the last line, in prose, in JSON, and none."""

from math import isnan

import numpy as np
import pytest

from redqueen.checks.ranking import Ranking, decided


@pytest.mark.parametrize(
    "text",
    [
        "2 > 1 > 3",
        "The first is long.\n**2 > 1 > 3**",
        "2, 1, 3",
        "Ranking: 2 > 1 > 3. It is clear.",
        "Answer 2 > Answer 1 > Answer 3",
        "Final ranking: [2] > [1] > [3]",
        '{"ranking": [2, 1, 3]}',
        "1 > 2 at first sight, but no.\n2 > 1 > 3",
        "I hold that 2 > 1 > 3, since 3 is wrong. So 2>1>3 it is.",
    ],
)
def test_an_order_is_read(text):
    assert Ranking(3).read(text) == [1.0, 0.0, 2.0]


@pytest.mark.parametrize(
    "text",
    ["", "It depends.", "2", "2 > 2 > 1", "4 > 1", "1 < 2", "0 > 1", "1 > 2 is so, yet 2 > 1 > 3 as well", "1.5 > 1"],
)
def test_what_says_no_order_or_two_is_unread(text):
    assert Ranking(3).read(text) is None


def test_equals_share_a_place_and_who_is_not_named_has_none():
    assert Ranking(4).read("2 > 1 = 3 > 4") == [1.0, 0.0, 1.0, 2.0]
    first, second, third = Ranking(3).read("3 > 1")
    assert (first, third) == (1.0, 0.0) and isnan(second)


def test_a_tie_is_never_a_half():
    """2 > 1 = 3: 2 beats both, and between the others nothing is decided."""
    nan = np.nan
    expected = [[nan, 0.0, nan], [1.0, nan, 1.0], [nan, 0.0, nan]]
    assert np.array_equal(decided([1.0, 0.0, 1.0]), expected, equal_nan=True)
    assert np.isnan(decided([0.0, 0.0])).all() and np.isnan(decided([0.0, nan])).all()
