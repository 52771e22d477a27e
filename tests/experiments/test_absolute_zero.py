"""The warm starts of the comparison, and how a proposer is known by what it writes."""

import pytest

from experiments.absolute_zero import ABLE, ASKED, SPOILT, asked, easy_asks
from experiments.sec import ladder
from redqueen.players.scripted import Constant
from redqueen.questions.catalogue import find_questions


def test_a_warm_start_first_shows_right_answers_and_then_nearly_none():
    able, spoilt = (find_questions(start.config.questions).wording for start in (ABLE, SPOILT))
    assert SPOILT.after is ABLE
    assert (able.skill, spoilt.skill) == (1.0, 0.01)
    assert able.largest == spoilt.largest


@pytest.mark.parametrize(("text", "share"), [("120+7", 1.0), ("99+99", 0.0), ("no sum", 0.0), ("1200+7", 0.0)])
def test_a_proposer_is_known_by_the_share_of_long_sums_that_it_writes(text, share):
    assert asked(Constant(text), 0) == {ASKED: share}


def test_who_asks_what_is_easy_solves_as_who_asks_all_alike():
    assert (easy_asks().lengths, easy_asks().slips) == (ladder().lengths, ladder().slips)
    assert easy_asks().asked[0] > 40 * easy_asks().asked[-1]
