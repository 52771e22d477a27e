from itertools import combinations
from math import inf, log10, sqrt

import numpy as np
import pytest

from redqueen.measures.ratings import ELO, alpha_rank, cycles, evolved, nash_average, ratings
from redqueen.types import RedQueenError

NAMES = tuple(f"bot{number}" for number in range(6))
STRENGTHS = {name: 60.0 * (number - 2.5) for number, name in enumerate(NAMES)}  # Elo, from -150 to 150


def played(seed, deals, strengths=tuple(STRENGTHS.values())):
    """[D, P, P]: every pair plays two matches a deal; the stronger wins as often as its points say."""
    rng, count = np.random.default_rng(seed), len(strengths)
    won = np.full((deals, count, count), 0.5)
    for i, j in combinations(range(count), 2):
        chance = 1.0 / (1.0 + 10.0 ** ((strengths[j] - strengths[i]) / 400.0))
        won[:, i, j] = rng.binomial(2, chance, deals) / 2.0
        won[:, j, i] = 1.0 - won[:, i, j]
    return won


def two(*shares):
    """[D, 2, 2] what the first of two players won of each deal."""
    return np.array([[[0.5, share], [1.0 - share, 0.5]] for share in shares])


@pytest.mark.parametrize("deals", [10, 40])
def test_a_planted_order_is_recovered_with_intervals_that_cover(deals):
    covered, order = 0, []
    for seed in range(20):
        found = ratings(NAMES, played(seed, deals), seed)
        covered += sum(each.strength.low <= STRENGTHS[each.player] <= each.strength.high for each in found)
        order.append([each.player for each in found])
    assert 110 <= covered <= 119, "of 120 intervals of 95 %"
    places = np.mean([[row.index(name) for name in NAMES] for row in order], axis=0)
    assert places.tolist() == sorted(places.tolist(), reverse=True)  # the strongest come first


def test_intervals_are_as_wide_as_the_matches_leave_them():
    """Two players, 400 matches, 60 % of them won: the log-odds have a standard error of 1 / sqrt(400 x .6 x .4), and
    each player has half of the difference."""
    won = np.random.default_rng(0).permutation(np.repeat([1.0, 0.5, 0.0], [72, 96, 32]))  # of two each: .36 .48 .16
    best, _ = ratings(("a", "b"), two(*won), 0)
    assert best.strength.mean == pytest.approx(0.5 * 400.0 * log10((240 + 0.5) / (160 + 0.5)))
    wide = 2.0 * 1.96 * 0.5 * ELO / sqrt(400 * 0.6 * 0.4)
    assert best.strength.high - best.strength.low == pytest.approx(wide, rel=0.15)
    assert best.matches == 400


def test_luck_that_both_seatings_share_is_no_doubt():
    """Who sits first wins every match: no deal tells one player from the other."""
    found = ratings(("a", "b"), two(*[0.5] * 40), 0)
    for each in found:
        assert tuple(each.strength) == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)


def test_whoever_wins_always_is_better_by_nobody_knows_how_much():
    best, worst = ratings(("a", "b"), two(*[1.0] * 10), 0)
    assert best.strength.mean == pytest.approx(0.5 * 400.0 * log10(20.5 / 0.5))
    assert best.player == "a" and best.strength.low > worst.strength.high
    assert best.strength.high > 1.5 * best.strength.mean


def test_few_deals_say_nothing():
    for found in (ratings(("a", "b"), two(*[1.0] * 5), 0)[0].strength, evolved(2.0 * two(*[1.0] * 5) - 1.0, 0)[0]):
        assert (found.low, found.high) == (-inf, inf)


def test_a_tiny_edge_gives_all_to_one_player_and_an_interval_that_says_so():
    """A mean edge of .001 over 50 deals that differ by 1: which of the two is ahead is luck, and above 1 it is not."""
    edge = np.random.default_rng(0).normal(0.0, 1.0, 50)
    scores = np.zeros((50, 2, 2))
    scores[:, 0, 1] = edge - edge.mean() + 0.001
    scores[:, 1, 0] = -scores[:, 0, 1]
    assert [tuple(round(bound, 3) for bound in each) for each in evolved(scores, 0)] == [
        (1.0, 0.0, 1.0),
        (0.0, 0.0, 1.0),
    ]
    scores[:, 0, 1] += 1.0
    scores[:, 1, 0] -= 1.0
    assert [tuple(round(bound, 3) for bound in each) for each in evolved(scores, 0)] == [
        (1.0, 1.0, 1.0),
        (0.0, 0.0, 0.0),
    ]


def test_one_win_among_draws_is_no_certain_lead():
    """Of ten deals one is won by .5: the mean of .05 has a t of 1 with 9 degrees of freedom, and is below 0 with a
    probability of 17 %; of ten that are won by .4 to .6 it is never."""
    won = np.array([0.5, *[0.0] * 9])
    for edge, low in ((won, 0.0), (0.5 + 0.1 * np.array([-1.0, 1.0] * 5), 1.0)):
        scores = np.zeros((10, 2, 2))
        scores[:, 0, 1], scores[:, 1, 0] = edge, -edge
        first, second = evolved(scores, 0)
        assert first == pytest.approx((1.0, low, 1.0), abs=1e-6)
        assert second == pytest.approx((0.0, 0.0, 1.0 - low), abs=1e-6)


ROCK = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
BIASED = np.array([[0, 0.8, -0.6, 0.9], [-0.8, 0, 0.4, 0.8], [0.6, -0.4, 0, 0.7], [-0.9, -0.8, -0.7, 0]])


def test_circles_are_worth_alike_and_whoever_is_outside_nothing():
    assert alpha_rank(ROCK) == pytest.approx(np.full(3, 1 / 3), abs=1e-6)
    assert "-" not in str(alpha_rank(np.array([[0, -0.01, 0.06], [0.01, 0, 0.03], [-0.06, -0.03, 0]])).tolist())
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
    for wrong in (2.0 * two(1.0), np.ones((3, 2, 2))):
        with pytest.raises(RedQueenError, match="from 0 to 1, the other lost"):
            ratings(("a", "b"), wrong, 0)
    with pytest.raises(RedQueenError, match="square of finite numbers"):
        alpha_rank(np.zeros((2, 3)))
    with pytest.raises(RedQueenError, match="what one player wins the other loses"):
        nash_average(np.array([[0.0, 1.0], [1.0, 0.0]]))


def test_scores_far_apart_are_ranked_as_scores_near_each_other():
    order = np.array([[0.0, 1.0, 1.0], [-1.0, 0.0, 1.0], [-1.0, -1.0, 0.0]])
    for span in (0.5, 7.5, 50.0, 10_000.0):
        assert alpha_rank(span * order) == pytest.approx([1.0, 0.0, 0.0], abs=1e-3)
