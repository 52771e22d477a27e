import math
import re

import numpy as np
import pytest

from redqueen.credit.learnability import (
    Band,
    Bell,
    BestMinusBase,
    FailureShare,
    HardAboveFloor,
    HardButSolved,
    MeanAbsoluteAdvantage,
    Parabola,
    ReturnVariance,
    Shrunk,
    Tent,
    VarianceBell,
    average,
    bug_injection,
    even_share,
    expected,
    noise,
    solve_rate,
    target,
)
from redqueen.types import RedQueenError


def named(each):
    """What it is, without where it lies in memory: workers must agree on the names of tests."""
    return re.sub(r" at 0x\w+", "", repr(each))


SHAPES = (
    HardButSolved(),
    HardButSolved(at_the_ends=-0.5),
    bug_injection(),
    FailureShare(),
    Tent(),
    Tent(height=0.5),
    Parabola(),
    Bell(),
    HardAboveFloor(),
    Band(1 / 8, 5 / 8),
    Band(0.0, 1 / 4),
    Band(0.0, 1.0, at_the_ends=-1.0),
    VarianceBell(),
    ReturnVariance(),
    BestMinusBase(),
    BestMinusBase(average),
    MeanAbsoluteAdvantage(),
    Shrunk(Tent()),
    Shrunk(FailureShare()),
)

# best solve rate, expectation and deviation there, expectations at .1, .5 and .9: computed elsewhere
TABLE = (
    (HardButSolved(), 8, 0.257, 0.650, 0.246, (0.470, 0.496, 0.100)),
    (HardButSolved(at_the_ends=-0.5), 8, 0.298, 0.614, 0.313, (0.254, 0.492, -0.115)),
    (FailureShare(pay_unsolved=True), 8, 0.0, 1.0, 0.0, (0.900, 0.500, 0.100)),
    (bug_injection(0.8), 8, 0.257, 0.370, 0.442, (0.045, 0.093, -0.620)),
    (FailureShare(pay_unsolved=True), 5, 0.0, 1.0, 0.0, (0.900, 0.500, 0.100)),
    (Parabola(), 5, 0.500, 0.800, 0.253, (0.288, 0.800, 0.288)),
    (Tent(), 10, 0.500, 0.754, 0.199, (0.200, 0.754, 0.200)),
    (Tent(height=0.5), 10, 0.500, 0.377, 0.099, (0.100, 0.377, 0.100)),
    (Bell(), 8, 0.500, 0.680, 0.290, (0.109, 0.680, 0.109)),
    (HardAboveFloor(top=1.3), 6, 0.514, 0.674, 0.274, (0.108, 0.673, 0.400)),
    (Band(1 / 8, 5 / 8), 8, 0.352, 0.943, 0.232, (0.570, 0.852, 0.038)),
    (Band(0.0, 1.0), 8, 0.500, 0.992, 0.088, (0.570, 0.992, 0.570)),
    (VarianceBell(pay_unsolved=True), 8, 0.500, 0.909, 0.175, (0.321, 0.909, 0.321)),
    (ReturnVariance(), 8, 0.500, 0.219, 0.041, (0.079, 0.219, 0.079)),
)


def attempts(solved, count):
    return np.array([1.0] * solved + [0.0] * (count - solved))


def paid(shape, count):
    return [shape(attempts(solved, count)) for solved in range(count + 1)]


# --- published values ------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "count", "best", "value", "deviation", "elsewhere"), TABLE)
def test_the_best_solve_rate_and_the_expectations_are_those_of_the_table(
    shape, count, best, value, deviation, elsewhere
):
    assert target(shape, count) == pytest.approx(best, abs=1e-3)
    assert expected(shape, best, count) == pytest.approx(value, abs=6e-4)
    assert noise(shape, best, count) == pytest.approx(deviation, abs=1e-3)  # best is rounded
    assert [expected(shape, rate, count) for rate in (0.1, 0.5, 0.9)] == pytest.approx(elsewhere, abs=6e-4)


def test_absolute_zero_pays_nothing_at_both_ends_and_as_trained_takes_half_a_point():
    assert [HardButSolved()(attempts(k, 8)) for k in (0, 1, 4, 7, 8)] == [0.0, 0.875, 0.5, 0.125, 0.0]
    trained = HardButSolved(at_the_ends=-0.5)
    assert [trained(attempts(k, 8)) for k in (0, 1, 4, 7, 8)] == [-0.5, 0.875, 0.5, 0.125, -0.5]


def test_bug_injection_has_the_published_values():
    values = [-0.8, 0.775, 0.55, 0.325, 0.10, -0.125, -0.35, -0.575, -0.8]
    assert paid(bug_injection(0.8), 8) == pytest.approx(values)


def test_the_bell_has_the_published_values():
    values = [0.0, 0.0796, 0.3247, 0.7548, 1.0, 0.7548, 0.3247, 0.0796, 0.0]
    assert paid(Bell(), 8) == pytest.approx(values, abs=5e-5)


def test_the_tent_of_the_paper_is_twice_that_of_the_code():
    assert paid(Tent(), 10)[5] == 1.0
    assert paid(Tent(), 10)[8] == pytest.approx(0.4)
    assert paid(Tent(height=0.5), 10) == pytest.approx([min(k, 10 - k) / 10 for k in range(11)])


def test_the_floor_of_pasodoble_refuses_a_fifth_and_everybody_s_success_still_pays():
    shape = HardAboveFloor()
    assert shape(attempts(3, 6)) + 0.2 == pytest.approx(0.8)
    assert shape(attempts(6, 6)) + 0.2 == pytest.approx(0.3)
    assert shape(attempts(2, 6)) + 0.2 * 0.6 == pytest.approx(0.886667, abs=1e-6)
    assert shape(attempts(1, 6)) == 0.0
    assert shape(attempts(1, 5)) == 0.0


def test_the_variance_bell_has_the_published_values():
    values = [VarianceBell(pay_unsolved=True)(attempts(k, 8)) for k in (0, 1, 2, 4)]
    assert values == pytest.approx([0.0439, 0.3720, 0.8226, 1.0], abs=5e-5)


def test_bands_hold_their_edges_and_never_their_ends():
    assert paid(Band(1 / 8, 5 / 8), 8) == [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert paid(Band(0.0, 1 / 4), 8) == [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert paid(Band(0.0, 1.0), 4) == [0.0, 1.0, 1.0, 1.0, 0.0]
    assert paid(Band(0.25, 0.5, outside=-0.1, at_the_ends=-1.0), 4) == [-1.0, 1.0, 1.0, -0.1, -1.0]


def test_the_mean_absolute_advantage_has_the_published_expectations():
    rates = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
    values = [expected(MeanAbsoluteAdvantage(), rate, 8) for rate in rates]
    assert values == pytest.approx([0.220, 0.392, 0.711, 0.868, 0.711, 0.392], abs=6e-4)


def test_the_mean_absolute_advantage_by_hand():
    # mean 1/4, unbiased deviation 1/2: advantages 1.5, -.5, -.5, -.5
    assert MeanAbsoluteAdvantage()(attempts(1, 4)) == pytest.approx(0.75, abs=1e-5)
    assert MeanAbsoluteAdvantage()(np.full(4, 0.1)) == 0.0


def test_the_spread_of_rewards_of_any_scale():
    scores = np.array([-3.0, 1.0, 2.0, 0.0])
    assert BestMinusBase()(scores) == 5.0
    assert BestMinusBase(average)(scores) == 2.0
    assert ReturnVariance()(scores) == 3.5


def test_a_judge_s_scores_are_a_solve_rate():
    assert FailureShare()(np.array([0.2, 0.4, 0.3])) == pytest.approx(0.7)


def test_the_share_of_groups_without_an_advantage():
    assert [even_share(0.1, count) for count in (4, 8, 16)] == pytest.approx([0.6562, 0.4305, 0.1853], abs=5e-5)


# --- the guard -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=named)
@pytest.mark.parametrize("count", [2, 5, 8])
def test_a_task_that_nobody_solves_pays_nothing(shape, count):
    assert shape(attempts(0, count)) <= 0.0


def test_an_unsolved_task_is_paid_only_where_that_is_asked_for():
    assert FailureShare(pay_unsolved=True)(attempts(0, 4)) == 1.0
    assert VarianceBell(pay_unsolved=True)(attempts(0, 4)) > 0.0
    assert target(FailureShare(), 8) == pytest.approx(0.257, abs=1e-3)


@pytest.mark.parametrize("make", [HardButSolved, Bell, lambda at_the_ends: Band(0.1, 0.9, at_the_ends=at_the_ends)])
def test_ends_that_pay_are_refused(make):
    with pytest.raises(RedQueenError, match="must not be paid"):
        make(at_the_ends=0.1)


# --- scores ----------------------------------------------------------------------------------


def test_attempts_that_could_not_be_scored_are_left_out_and_counted():
    scores = np.array([1.0, 0.0, np.nan, np.nan])
    found = solve_rate(scores)
    assert (found.mean, found.scored, found.unscored) == (0.5, 2, 2)
    assert Tent()(scores) == 1.0
    assert ReturnVariance()(scores) == 0.25


@pytest.mark.parametrize("shape", SHAPES, ids=named)
def test_with_fewer_than_two_scores_there_is_no_telling(shape):
    assert math.isnan(shape(np.array([math.nan, 1.0, math.nan])))
    assert math.isnan(shape(np.full(3, math.nan)))


@pytest.mark.parametrize("shape", SHAPES, ids=named)
def test_the_order_of_the_attempts_does_not_matter(shape):
    assert shape(np.array([0.0, 1.0, 0.0, math.nan])) == pytest.approx(shape(np.array([math.nan, 0.0, 0.0, 1.0])))


@pytest.mark.parametrize("shape", SHAPES, ids=named)
def test_one_attempt_is_refused(shape):
    with pytest.raises(RedQueenError, match="at least 2 attempts"):
        shape(np.array([1.0]))
    with pytest.raises(RedQueenError, match="at least 2 attempts"):
        expected(shape, 0.5, 1)


def test_a_solver_s_reward_is_not_taken_for_a_success():
    with pytest.raises(RedQueenError, match="between 0 and 1"):
        HardButSolved()(np.array([1.0, -0.5, -1.0]))
    with pytest.raises(RedQueenError, match="finite"):
        BestMinusBase()(np.array([1.0, math.inf]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Band(0.5, 0.2),
        lambda: Band(-0.1, 0.2),
        lambda: Bell(width=0.0),
        lambda: HardAboveFloor(floor=-0.1),
        lambda: Shrunk(Tent(), solved=0.0, failed=0.0),
        lambda: expected(Tent(), 1.5, 4),
    ],
)
def test_shapes_that_make_no_sense_are_refused(make):
    with pytest.raises(RedQueenError):
        make()


# --- the prior -------------------------------------------------------------------------------


def test_a_prior_moves_the_solve_rate_towards_its_own_mean():
    # (2 + 1) / (8 + 2) = .3
    assert Shrunk(Tent())(attempts(2, 8)) == pytest.approx(0.6)
    # (3 + 4) / (4 + 5), one attempt of five unscored
    scores = np.array([1.0, 1.0, 1.0, 0.0, math.nan])
    assert Shrunk(FailureShare(), solved=4.0, failed=1.0)(scores) == pytest.approx(2 / 9)


def test_a_prior_leaves_the_ends_where_they_are():
    shape = Shrunk(HardButSolved(at_the_ends=-0.5))
    assert shape(attempts(0, 8)) == -0.5
    assert shape(attempts(8, 8)) == -0.5
