"""How sure a mean, a difference or a share is."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
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
    ours: Sequence[float] | np.ndarray, theirs: Sequence[float] | np.ndarray, seed: int, level: float = 0.95
) -> Interval:
    """The mean of `ours - theirs` where the values of one index share their chance (seed, deal, task)."""
    if len(ours) != len(theirs):
        raise RedQueenError(f"paired values must be equally many, not {len(ours)} and {len(theirs)}")
    return bootstrap_interval(np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64), seed, level)


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
