from math import inf, sqrt

import numpy as np
import pytest

from redqueen.measures.intervals import (
    Interval,
    bootstrap_interval,
    exact_binomial_interval,
    paired_difference,
    student_interval,
    student_quantile,
    wilson_interval,
)
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


@pytest.mark.parametrize(
    ("probability", "degrees", "known"),
    [
        (0.975, 1, 12.7062),  # tan(.475 pi)
        (0.975, 2, 4.3027),
        (0.975, 4, 2.7764),
        (0.975, 9, 2.2622),
        (0.95, 9, 1.8331),
        (0.975, 29, 2.0452),
        (0.995, 4, 4.6041),
        (0.975, 100_000, 1.9600),
        (0.5, 3, 0.0),
        (0.025, 4, -2.7764),
    ],
)
def test_quantiles_of_students_t_are_those_of_the_tables(probability, degrees, known):
    assert student_quantile(probability, degrees) == pytest.approx(known, abs=6e-5)


def test_two_degrees_of_freedom_have_a_closed_form():
    # t = (2 p - 1) sqrt(2 / (1 - (2 p - 1)^2))
    for probability in (0.6, 0.9, 0.99, 0.999):
        centred = 2 * probability - 1
        assert student_quantile(probability, 2) == pytest.approx(centred * sqrt(2 / (1 - centred**2)), rel=1e-9)


def test_the_interval_of_a_few_values_is_students():
    # mean 2, deviation 1: t(.975, 2) / sqrt(3)
    assert student_interval([1.0, 2.0, 3.0]) == pytest.approx((2.0, 2.0 - 2.48414, 2.0 + 2.48414), abs=1e-5)
    assert student_interval([0.5] * 4) == Interval(0.5, 0.5, 0.5)
    assert student_interval([0.5]) == Interval(0.5, -inf, inf)
    with pytest.raises(RedQueenError, match="at least one value"):
        student_interval([])


@pytest.mark.slow
def test_the_interval_of_five_values_holds_the_truth_as_often_as_it_says():
    rng = np.random.Generator(np.random.PCG64(0))
    intervals = [student_interval(rng.normal(size=5)) for _ in range(2000)]
    held = np.mean([interval.low <= 0.0 <= interval.high for interval in intervals])
    assert held == pytest.approx(0.95, abs=0.015)  # of the bootstrap: 0.83


def test_pairing_removes_what_the_pairs_share():
    shared = np.linspace(-100.0, 100.0, 50)
    assert paired_difference(shared + 0.5, shared) == pytest.approx((0.5, 0.5, 0.5))
    with pytest.raises(RedQueenError, match="equally many, not 2 and 3"):
        paired_difference([1.0, 2.0], [1.0, 2.0, 3.0])


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


@pytest.mark.parametrize(
    ("wins", "count", "bounds"),
    [
        (0, 10, (0.0, 1 - 0.025**0.1)),  # nothing in ten has probability (1 - p)^10
        (10, 10, (0.025**0.1, 1.0)),
        (1, 1, (0.025, 1.0)),
        (8, 20, (0.1912, 0.6395)),
    ],
)
def test_exact_binomial_intervals_are_those_of_clopper_and_pearson(wins, count, bounds):
    interval = exact_binomial_interval(wins, count)
    assert interval.mean == wins / count
    assert interval[1:] == pytest.approx(bounds, abs=1e-4)


def test_an_exact_binomial_interval_leaves_a_fortieth_on_each_side():
    from math import comb

    interval = exact_binomial_interval(3, 14)
    above = sum(comb(14, k) * interval.low**k * (1 - interval.low) ** (14 - k) for k in range(3, 15))
    below = sum(comb(14, k) * interval.high**k * (1 - interval.high) ** (14 - k) for k in range(4))
    assert (above, below) == pytest.approx((0.025, 0.025), abs=1e-9)


def test_more_wins_than_trials_are_no_share():
    with pytest.raises(RedQueenError, match="5 wins of 4 is no share"):
        exact_binomial_interval(5, 4)
