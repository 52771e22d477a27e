from math import exp, sqrt
from random import Random

import numpy as np
import pytest

from redqueen.measures.ratings import Result, alpha_rank, cycles, nash_average, ratings
from redqueen.types import RedQueenError

NAMES = tuple(f"bot{number}" for number in range(10))
STRENGTHS = {name: 25.0 + 2.5 * (number - 4.5) for number, name in enumerate(NAMES)}
SCALE = 25.0 / 6.0 * sqrt(2.0)  # of openskill: how many points are one logit


def played(seed, matches, strengths=STRENGTHS):
    """Every pair plays; the stronger wins as often as the ratings say."""
    rng, found = Random(seed), []
    names = list(strengths)
    for number, first in enumerate(names):
        for second in names[:number]:
            chance = 1.0 / (1.0 + exp((strengths[second] - strengths[first]) / SCALE))
            found += [Result(first, second, float(rng.random() < chance)) for _ in range(matches)]
    return found


def test_a_planted_order_of_ten_is_recovered_with_intervals_that_cover():
    covered, order = 0, []
    for seed in range(5):
        found = ratings(played(seed, 24), seed)
        covered += sum(each.strength.low <= STRENGTHS[each.player] <= each.strength.high for each in found)
        order.append([each.player for each in found])
    assert covered >= 45  # of 50 intervals of 95 %
    places = np.mean([[row.index(name) for name in NAMES] for row in order], axis=0)
    assert places.tolist() == sorted(places.tolist(), reverse=True)  # the strongest come first
    assert ratings(played(3, 60), 0)[0].player == "bot9"


def test_more_matches_make_narrower_intervals_and_are_counted():
    few, many = (ratings(played(0, count), 0) for count in (4, 60))
    width = [np.mean([each.strength.high - each.strength.low for each in found]) for found in (few, many)]
    assert width[1] < 0.5 * width[0]
    assert {each.matches for each in many} == {9 * 60}


def test_the_order_in_which_matches_come_does_not_decide():
    results = played(1, 10)
    assert ratings(results, 5) == ratings(results[::-1], 5)
    for each in ratings(results, 6):  # other shuffles
        (other,) = [found for found in ratings(results, 5) if found.player == each.player]
        assert other.strength.mean == pytest.approx(each.strength.mean, abs=1.0)


def test_draws_bring_two_together():
    drawn = ratings([Result("a", "b", 0.5)] * 50, 0)
    assert drawn[0].strength.mean == pytest.approx(drawn[1].strength.mean)
    won = ratings([Result("a", "b", 1.0)] * 50, 0)
    assert won[0].player == "a" and won[0].strength.low > won[1].strength.high


ROCK = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
BIASED = np.array([[0, 0.8, -0.6, 0.9], [-0.8, 0, 0.4, 0.8], [0.6, -0.4, 0, 0.7], [-0.9, -0.8, -0.7, 0]])


def test_circles_are_worth_alike_and_whoever_is_outside_nothing():
    assert alpha_rank(ROCK) == pytest.approx(np.full(3, 1 / 3), abs=1e-6)
    assert alpha_rank(BIASED) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.0], abs=1e-6)
    assert alpha_rank(np.zeros((1, 1))).tolist() == [1.0]


def test_nash_averaging_by_hand():
    """The mixture p with p a b c = .4 .6 .8 / 1.8: each of the three then scores 0, the fourth loses 7/9."""
    mixture, skills = nash_average(BIASED)
    assert mixture == pytest.approx([2 / 9, 3 / 9, 4 / 9, 0.0], abs=1e-4)
    assert skills == pytest.approx([0.0, 0.0, 0.0, -7 / 9], abs=1e-4)
    mixture, skills = nash_average(np.array([[0.0, 1.0], [-1.0, 0.0]]))
    assert mixture == pytest.approx([1.0, 0.0], abs=1e-4)


def test_a_copy_of_a_player_changes_nothing_but_shares_its_weight():
    """What the best are worth does not depend on how often somebody enters the tournament."""
    doubled = ROCK[np.ix_([0, 0, 1, 2], [0, 0, 1, 2])]
    mixture, _ = nash_average(doubled)
    assert mixture == pytest.approx([1 / 6, 1 / 6, 1 / 3, 1 / 3], abs=1e-4)


def test_circles_are_named():
    assert cycles("abcd", BIASED > 0) == [("a", "b", "c")]
    assert cycles("abc", np.triu(np.ones((3, 3), dtype=bool), 1)) == []


def test_what_cannot_be_rated_is_refused():
    with pytest.raises(RedQueenError, match="from 0 to 1"):
        ratings([Result("a", "b", 2.0)], 0)
    with pytest.raises(RedQueenError, match="one player won from another"):
        ratings([Result("a", "a", 1.0)], 0)
    with pytest.raises(RedQueenError, match="square of finite numbers"):
        alpha_rank(np.zeros((2, 3)))
    with pytest.raises(RedQueenError, match="what one player wins the other loses"):
        nash_average(np.array([[0.0, 1.0], [1.0, 0.0]]))


def test_scores_far_apart_are_ranked_as_scores_near_each_other():
    order = np.array([[0.0, 1.0, 1.0], [-1.0, 0.0, 1.0], [-1.0, -1.0, 0.0]])
    for span in (0.5, 7.5, 50.0, 10_000.0):
        assert alpha_rank(span * order) == pytest.approx([1.0, 0.0, 0.0], abs=1e-3)
