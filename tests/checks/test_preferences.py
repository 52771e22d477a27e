from fractions import Fraction
from itertools import combinations
from math import inf, isnan, nan
from random import Random

import numpy as np
import pytest

from redqueen.checks.preferences import BothOrders, ByReward, Labels, Table, chances, tournament, win_rates
from redqueen.types import RedQueenError, Task

CIRCLE = Table(("r", "p", "s"), np.array([[0.5, 0.2, 0.9], [0.8, 0.5, 0.3], [0.1, 0.7, 0.5]]))
TASK = Task("t")


def asked(oracle, first, second, seed=0):
    return oracle([TASK] * len(first), list(first), list(second), Random(seed))


def test_a_table_is_looked_up():
    found = asked(CIRCLE, "rps?", "psr" + "r")
    assert found[:3].tolist() == [0.2, 0.3, 0.1]
    assert isnan(found[3])


@pytest.mark.parametrize(
    ("answers", "wins", "message"),
    [
        (("a", "b"), np.full((3, 3), 0.5), "2 by 2"),
        (("a", "a"), np.full((2, 2), 0.5), "different"),
        (("a", "b"), np.array([[0.5, 0.7], [0.7, 0.5]]), "1 in sum"),
    ],
)
def test_a_table_that_is_none_is_refused(answers, wins, message):
    with pytest.raises(RedQueenError, match=message):
        Table(answers, wins)


def test_rewards_are_compared_by_bradley_and_terry():
    def length(tasks, answers):
        return [float(len(answer)) for answer in answers]

    assert asked(ByReward(length), ["aa", "a"], ["a", "aaa"]) == pytest.approx([0.7310586, 0.1192029])
    assert asked(ByReward(length, inf), ["aa", "a", "b"], ["a", "aaa", "c"]).tolist() == [1.0, 0.0, 0.5]
    assert asked(ByReward(length, 1e6), ["a" * 99], ["a"]).tolist() == [1.0]
    assert isnan(asked(ByReward(lambda tasks, answers: [nan, 0.0]), ["a"], ["b"])[0])
    for bad in ([0.0], None, ["good", "bad"], Unreadable()):
        with pytest.raises(RedQueenError, match="must give 2 numbers"):
            asked(ByReward(lambda tasks, answers, bad=bad: bad), ["a"], ["b"])
    with pytest.raises(RedQueenError, match="above 0, not 0"):
        ByReward(length, 0.0)


def test_the_order_of_presentation_is_averaged_away():
    def first_is_nice(tasks, first, second, rng):
        true = {"a": 0.8, "b": 0.2, "?": nan}
        return np.array([min(true[one] + 0.2, 1.0) for one in first])

    assert asked(BothOrders(first_is_nice), ["a", "b"], ["b", "a"]) == pytest.approx([0.8, 0.2])
    assert isnan(asked(BothOrders(first_is_nice), ["a"], ["?"])[0])


def test_labels_are_drawn_and_noise_is_a_coin():
    def many(oracle):
        return asked(oracle, "r" * 4000, "s" * 4000)

    sure = many(Labels(CIRCLE))
    assert set(sure.tolist()) == {0.0, 1.0}
    assert sure.mean() == pytest.approx(0.9, abs=0.02)
    assert many(Labels(CIRCLE, 0.5)).mean() == pytest.approx(0.5 * 0.9 + 0.25, abs=0.025)
    assert isnan(asked(Labels(CIRCLE, 1.0), "?", "r")[0])
    assert np.array_equal(many(Labels(CIRCLE)), sure)
    with pytest.raises(RedQueenError, match="from 0 to 1"):
        Labels(CIRCLE, 1.5)


def test_each_pair_is_asked_about_once_and_equal_answers_not_at_all():
    calls = []

    def oracle(tasks, first, second, rng):
        calls.append(list(zip(first, second, strict=True)))
        return CIRCLE(tasks, first, second, rng)

    one, other = tournament(oracle, [TASK, TASK], [["r", "p", "r"], ["s"]], Random(0))
    assert calls == [[("r", "p"), ("p", "r")]]
    assert one == pytest.approx(np.array([[0.5, 0.2, 0.5], [0.8, 0.5, 0.8], [0.5, 0.2, 0.5]]))
    assert other.tolist() == [[0.5]]
    with pytest.raises(RedQueenError, match="must give 1 probabilities"):
        tournament(lambda *_: np.array([1.5]), [TASK], [["a", "b"]], Random(0))


class Unreadable:
    """As a tensor of torch that still asks for its gradient."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


@pytest.mark.parametrize(
    "given",
    [[7.0], [-0.1], [0.5, 0.5], 0.5, None, ["much"], np.full((1, 1), 0.5), Unreadable()],
)
def test_what_is_no_probability_for_each_is_refused(given):
    with pytest.raises(RedQueenError, match="must give 1 probabilities from 0 to 1, or NaN"):
        chances(lambda *_: given, [TASK], ["a"], ["b"], Random(0))
    with pytest.raises(RedQueenError, match=r"or NaN: not \['It depends\.'\]$"):
        chances(lambda *_: ["It depends."], [TASK], ["a"], ["b"], Random(0))


def test_a_list_will_do():
    def oracle(tasks, first, second, rng):
        return [{"a": 1, "b": 0.25, "?": nan}[one] for one in first]

    assert chances(oracle, [TASK] * 3, "ab?", "bab", Random(0)) == pytest.approx([1.0, 0.25, nan], nan_ok=True)
    (wins,) = tournament(oracle, [TASK], [["a", "b"]], Random(0))
    assert wins.tolist() == [[0.5, 1.0], [0.0, 0.5]]
    assert asked(BothOrders(oracle), "a", "b").tolist() == [0.875]
    assert asked(Labels(oracle), "a", "b").tolist() == [1.0]


def test_win_rates_by_hand():
    wins = np.array([[0.5, 1.0, 0.7], [0.0, 0.5, 0.4], [0.3, 0.6, 0.5]])
    assert win_rates(wins) == pytest.approx([0.85, 0.2, 0.45])
    assert win_rates(wins).mean() == pytest.approx(0.5)
    assert win_rates(wins, beside_itself=True) == pytest.approx([2.2 / 3, 0.9 / 3, 1.4 / 3])
    ends = np.array([[0.5] + [1.0] * 4] + [[0.0] + [0.5] * 4] * 4)
    assert win_rates(ends, beside_itself=True).max() == pytest.approx(1 - 0.5 / 5)  # K = 5: at most .9


def test_win_rates_that_are_equal_as_fractions_are_equal_as_floats():
    """Groups judged in both orders, three times each: those whose rates all tie, and any two rates that do."""
    rng, tied = Random(0), 0
    for _ in range(3000):
        count = rng.choice([3, 4, 5, 8])
        wins, exact = np.full((count, count), 0.5), [[Fraction(0)] * count for _ in range(count)]
        for i, j in combinations(range(count), 2):
            one, other = rng.randint(0, 3), rng.randint(0, 3)  # how often i is preferred to j, and j to i
            wins[i, j] = (one / 3 + 1.0 - other / 3) / 2.0
            wins[j, i] = 1.0 - wins[i, j]
            exact[i][j] = (Fraction(one, 3) + 1 - Fraction(other, 3)) / 2
            exact[j][i] = 1 - exact[i][j]
        rates, meant = win_rates(wins), [sum(row) / (count - 1) for row in exact]
        assert rates == pytest.approx([float(each) for each in meant], abs=1e-11)
        for i, j in combinations(range(count), 2):
            assert (rates[i] > rates[j], rates[i] < rates[j]) == (meant[i] > meant[j], meant[i] < meant[j])
        tied += min(meant) == max(meant)
    assert tied > 20


def test_what_has_no_verdict_is_not_counted():
    wins = np.array([[0.5, nan, 1.0], [nan, 0.5, nan], [0.0, nan, 0.5]])
    found = win_rates(wins)
    assert found[[0, 2]].tolist() == [1.0, 0.0]
    assert isnan(found[1])
