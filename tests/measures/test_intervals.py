import numpy as np
import pytest

from redqueen.measures.intervals import Interval, bootstrap_interval, paired_difference, wilson_interval
from redqueen.types import RedQueenError


def test_equal_values_leave_no_doubt():
    assert bootstrap_interval([0.25] * 10, seed=0) == Interval(0.25, 0.25, 0.25)


def test_two_values_are_resampled_as_a_coin_is_thrown_twice():
    # the mean of two draws from {0, 1} is 0, 1/2, 1 with probabilities 1/4, 1/2, 1/4
    assert bootstrap_interval([0.0, 1.0], seed=0) == Interval(0.5, 0.0, 1.0)
    assert bootstrap_interval([0.0, 1.0], seed=0, level=0.4) == Interval(0.5, 0.5, 0.5)


def test_many_values_give_the_normal_interval():
    values = np.tile([-1.0, 1.0], 5_000)
    interval = bootstrap_interval(values, seed=3)
    assert interval.mean == 0.0
    assert interval.high == pytest.approx(1.96 / 100, rel=0.08)
    assert interval.low == pytest.approx(-1.96 / 100, rel=0.08)


def test_an_interval_is_the_same_for_the_same_seed():
    values = np.linspace(0.0, 1.0, 37)
    assert bootstrap_interval(values, seed=1) == bootstrap_interval(values, seed=1)
    assert bootstrap_interval(values, seed=1) != bootstrap_interval(values, seed=2)


def test_ninety_five_percent_intervals_hold_the_truth_about_that_often():
    rng = np.random.Generator(np.random.PCG64(0))
    intervals = [bootstrap_interval(rng.normal(size=60), seed, resamples=400) for seed in range(400)]
    held = np.mean([interval.low <= 0.0 <= interval.high for interval in intervals])
    assert 0.90 <= held <= 0.98


def test_pairing_removes_what_the_pairs_share():
    shared = np.linspace(-100.0, 100.0, 50)
    assert paired_difference(shared + 0.5, shared, seed=0) == pytest.approx((0.5, 0.5, 0.5))
    with pytest.raises(RedQueenError, match="equally many, not 2 and 3"):
        paired_difference([1.0, 2.0], [1.0, 2.0, 3.0], seed=0)


@pytest.mark.parametrize(
    ("wins", "count", "bounds"),
    [
        (8, 10, (0.4902, 0.9433)),
        (0, 10, (0.0, 0.2775)),  # z^2 / (n + z^2)
        (10, 10, (0.7225, 1.0)),
        (50, 100, (0.4038, 0.5962)),
        (0.5, 1, (0.0546, 0.9454)),  # one draw: (1 -+ z / sqrt(1 + z^2)) / 2
    ],
)
def test_wilson_intervals_are_those_of_the_formula(wins, count, bounds):
    interval = wilson_interval(wins, count)
    assert interval.mean == wins / count
    assert (interval.low, interval.high) == pytest.approx(bounds, abs=5e-5)


def test_nothing_has_no_interval():
    with pytest.raises(RedQueenError, match="at least one value"):
        bootstrap_interval([], seed=0)
    for wins, count in ((0, 0), (3, 2), (-1, 2)):
        with pytest.raises(RedQueenError, match="is no share"):
            wilson_interval(wins, count)


def test_an_interval_reads_as_text():
    assert str(Interval(0.5, -0.25, 1.0)) == "+0.500 [-0.250, +1.000]"
