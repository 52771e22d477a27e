"""A row of the table from trainings whose figures are known."""

import pytest

from experiments.absolute_zero import ABLE, ASKED, HABITS, asked, easy_asks, learned
from experiments.sec import ladder
from redqueen.players.scripted import Constant
from redqueen.questions.catalogue import find_questions
from redqueen.questions.triplets import KINDS
from redqueen.trials.paired import Trial


def trial(end):
    measured = {f"{figure}/{kind}": end for figure in ("accuracy", "pass@8") for kind in KINDS}
    proposed = {f"proposals/{figure}": 0.5 for figure in ("valid_share", "distinct_share", "entropy", "solve_rate")}
    start = dict.fromkeys(measured, 0.1) | proposed | {"tasks/held": 30.0}
    last = {name: 2 * value for name, value in proposed.items()} | {"tasks/held": 600.0}
    return Trial((start, last), measured)


def test_a_row_tells_start_and_end_of_the_solver_and_first_and_late_of_the_proposer():
    cells = learned([trial(0.5), trial(0.7)])
    assert cells[:6] == ("0.100 to +0.600 [+0.500, +0.700]",) * 6
    assert cells[6:10] == ("0.500 to +1.000 [+1.000, +1.000]",) * 4
    assert cells[10] == "600"


def test_a_warm_start_first_shows_right_answers_and_then_nearly_none():
    able, spoilt = (find_questions(config.questions).wording for config in (ABLE, HABITS))
    assert (able.skill, spoilt.skill) == (1.0, 0.01)
    assert able.largest == spoilt.largest


@pytest.mark.parametrize(("text", "share"), [("120+7", 1.0), ("99+99", 0.0), ("no sum", 0.0), ("1200+7", 0.0)])
def test_a_proposer_is_known_by_the_share_of_long_sums_that_it_writes(text, share):
    assert asked(Constant(text)) == {ASKED: share}


def test_who_asks_what_is_easy_solves_as_who_asks_all_alike():
    assert (easy_asks().lengths, easy_asks().slips) == (ladder().lengths, ladder().slips)
    assert easy_asks().asked[0] > 40 * easy_asks().asked[-1]
