import json

import numpy as np
import pytest

from redqueen.opponents.payoffs import Payoffs
from redqueen.types import RedQueenError


@pytest.fixture
def counted(met):
    def count(results, decay=1.0, learning=()):
        payoffs = Payoffs(decay)
        for batch in results:
            payoffs.observe([met(*each) for each in batch], {"a", "b", "c"}, learning)
        return payoffs

    return count


def test_win_rates_are_those_of_one_drawn_match_and_all_that_were_played(counted):
    payoffs = counted([[("a", "b", 1.0), ("b", "a", -2.0), ("a", "b", 0.0), ("a", "stranger", 1.0)]])
    assert payoffs.played("a", "b") == payoffs.played("b", "a") == 3.0
    assert payoffs.win_rate("a", "b") == pytest.approx(3.0 / 4.0)  # two won, one drawn, and the half at the start
    assert payoffs.win_rate("b", "a") == pytest.approx(1.0 / 4.0)
    assert payoffs.win_rate("a", "c") == payoffs.win_rate("a", "stranger") == 0.5
    np.testing.assert_allclose(payoffs.matrix(["b", "c"], ["a", "b"]), [[0.25, 0.5], [0.5, 0.5]])


def test_only_the_results_of_those_who_learn_fade(counted):
    payoffs = counted([[("a", "b", 1.0)] * 4, [("b", "c", 1.0)] * 4, []], decay=0.5, learning={"a"})
    assert payoffs.played("a", "b") == 1.0  # twice halved
    assert payoffs.played("b", "c") == 4.0


def test_strengths_are_those_of_bradley_and_terry(counted):
    # two players: nine of ten with the drawn match make 9.5 of 11, so the odds are 9.5 to 1.5
    payoffs = counted([[("a", "b", 1.0)] * 9 + [("a", "b", -1.0)]])
    one, other = payoffs.strengths(["a", "b"])
    assert one - other == pytest.approx(np.log(9.5 / 1.5))
    assert one + other == pytest.approx(0.0)


def test_players_who_never_met_are_placed_by_those_they_both_met(counted):
    payoffs = counted([[("a", "b", 1.0)] * 20 + [("b", "c", 1.0)] * 20])
    strengths = payoffs.strengths(["a", "b", "c"])
    assert strengths[0] > strengths[1] > strengths[2]
    assert payoffs.win_rate("a", "c") == 0.5
    # the likelihood's gradient is zero: each one's wins are as many as its strengths expect
    for number, name in enumerate("abc"):
        won = expected = 0.0
        for against, other in enumerate("abc"):
            if other != name:
                count = payoffs.played(name, other) + 1.0
                won += payoffs.win_rate(name, other) * count
                expected += count / (1.0 + np.exp(strengths[against] - strengths[number]))
        assert won == pytest.approx(expected, abs=0.05)


def test_strengths_follow_the_counts(counted, met):
    payoffs = counted([[("a", "b", 1.0)] * 3])
    before = payoffs.strengths("ab")
    assert payoffs.strengths("ab") is before  # nothing has changed
    payoffs.observe([met("b", "a", 1.0)] * 3, {"a", "b"}, ())
    np.testing.assert_allclose(payoffs.strengths("ab"), 0.0, atol=1e-9)
    state = payoffs.state()
    payoffs.drop("b")
    payoffs.observe([met("a", "b", 1.0)], {"a", "b"}, ())
    assert payoffs.strengths("ab")[0] > 0.0
    payoffs.restore(state)
    np.testing.assert_allclose(payoffs.strengths("ab"), 0.0, atol=1e-9)


def test_who_is_forgotten_is_as_if_never_met(counted):
    payoffs = counted([[("a", "b", 1.0), ("b", "c", 1.0), ("a", "c", 1.0)]])
    payoffs.drop("c")
    assert payoffs.played("b", "c") == payoffs.played("a", "c") == 0.0
    assert payoffs.played("a", "b") == 1.0
    payoffs.keep({"a"})
    assert payoffs.played("a", "b") == 0.0


def test_the_matrix_comes_back_exactly(counted):
    payoffs = counted([[("a", "b", 1.0)] * 3, [("b", "c", -1.0)]], decay=0.7, learning={"a"})
    again = Payoffs(0.7)
    again.restore(json.loads(json.dumps(payoffs.state())))
    assert again.state() == payoffs.state()
    np.testing.assert_array_equal(again.strengths("abc"), payoffs.strengths("abc"))


def test_a_decay_beyond_one_is_refused():
    with pytest.raises(RedQueenError, match="between 0 and 1"):
        Payoffs(1.5)
