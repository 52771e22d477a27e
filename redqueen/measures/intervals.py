"""How sure a mean, a difference or a share is."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from redqueen.types import RedQueenError

_CELLS = 4_000_000  # resampled values held at once


class Interval(NamedTuple):
    """An estimate and the bounds between which it is believed to lie."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def bootstrap_interval(
    values: Sequence[float] | np.ndarray, seed: int, level: float = 0.95, resamples: int = 2_000
) -> Interval:
    """The mean of independent values and its percentile bootstrap interval (Efron, 1979).

    With few values it is too narrow: of five normal ones it holds the truth in 83 % of cases, of thirty
    in 92 %. Raises RedQueenError where there is no value.
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or not len(sample):
        raise RedQueenError("an interval needs at least one value")
    rng = np.random.Generator(np.random.PCG64(seed))
    means = np.empty(resamples)
    rows = max(1, _CELLS // len(sample))
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        means[start : start + count] = sample[rng.integers(len(sample), size=(count, len(sample)))].mean(axis=1)
    low, high = np.quantile(means, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Interval(float(sample.mean()), float(low), float(high))


def paired_difference(
    ours: Sequence[float] | np.ndarray, theirs: Sequence[float] | np.ndarray, level: float = 0.95
) -> Interval:
    """The mean of `ours - theirs` and its Student's t interval, where the values of one index share their chance (seed,
    deal, task)."""
    if len(ours) != len(theirs):
        raise RedQueenError(f"paired values must be equally many, not {len(ours)} and {len(theirs)}")
    return student_interval(np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64), level)


def student_interval(values: Sequence[float] | np.ndarray, level: float = 0.95) -> Interval:
    """The mean of independent values and its Student's t interval, exact for normal ones however few they are. Of one
    value the bounds are infinite. Raises RedQueenError where there is no value."""
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or not len(sample):
        raise RedQueenError("an interval needs at least one value")
    mean, degrees = float(sample.mean()), len(sample) - 1
    if not degrees:
        return Interval(mean, -inf, inf)
    reach = student_quantile((1.0 + level) / 2.0, degrees) * float(sample.std(ddof=1)) / sqrt(len(sample))
    return Interval(mean, mean - reach, mean + reach)


def student_quantile(probability: float, degrees: int) -> float:
    """The value below which a Student's t variable with these degrees of freedom lies with this probability."""
    assert 0.0 < probability < 1.0 and degrees >= 1, f"no quantile {probability:g} with {degrees} degrees of freedom"
    if probability < 0.5:
        return -student_quantile(1.0 - probability, degrees)
    tails = 2.0 * (1.0 - probability)  # P(|T| > t) = I_x(degrees / 2, 1 / 2) with x = degrees / (degrees + t^2)
    low, high = 0.0, 1.0  # of x, of which the probability is a rising function
    for _ in range(200):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _incomplete_beta(degrees / 2.0, 0.5, middle) < tails else (low, middle)
    return sqrt(degrees * (1.0 - low) / low)


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Abramowitz and Stegun 26.5.8)."""
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1.0) / (a + b + 2.0):  # there the fraction converges slowly
        return 1.0 - _incomplete_beta(b, a, 1.0 - x)
    front = exp(a * log(x) + b * log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b)) / a
    fraction, c, d = 1.0, 1.0, 0.0  # Lentz's method
    for number in range(1_000):
        m = number // 2
        if number == 0:
            term = 1.0
        elif number % 2 == 0:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1.0 / (1.0 + term * d), 1.0 + term / c
        fraction *= c * d
        if number and abs(c * d - 1.0) < 1e-15:
            break
    return front * (fraction - 1.0)


def exact_binomial_interval(wins: int, count: int, level: float = 0.95) -> Interval:
    """The share of wins and its exact interval (Clopper and Pearson, 1934): at each bound a share as far off as the
    one that was seen, or farther, has the probability (1 - level) / 2. Raises RedQueenError where there is nothing to
    count, or more wins than that."""
    if count < 1 or not 0 <= wins <= count:
        raise RedQueenError(f"{wins} wins of {count} is no share")
    tail = (1.0 - level) / 2.0
    low = _beta_quantile(wins, count - wins + 1, tail) if wins else 0.0
    high = _beta_quantile(wins + 1, count - wins, 1.0 - tail) if wins < count else 1.0
    return Interval(wins / count, low, high)


def _beta_quantile(a: float, b: float, probability: float) -> float:
    """The value below which a beta variable lies with this probability."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _incomplete_beta(a, b, middle) < probability else (low, middle)
    return (low + high) / 2.0


def wilson_interval(wins: float, count: int, level: float = 0.95) -> Interval:
    """The share of wins and its score interval, which holds for shares near 0 and 1 too (Wilson, 1927).

    Raises RedQueenError where there is no match, or more wins than matches.
    """
    if count < 1 or not 0.0 <= wins <= count:
        raise RedQueenError(f"{wins:g} wins of {count} matches is no share")
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    share = wins / count
    centre = (share + z * z / (2 * count)) / (1.0 + z * z / count)
    reach = z * sqrt(share * (1.0 - share) / count + z * z / (4 * count * count)) / (1.0 + z * z / count)
    return Interval(share, max(0.0, centre - reach), min(1.0, centre + reach))
