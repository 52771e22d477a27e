"""What learning one task after another leaves of each: maintenance, forward and backward transfer.

From the performances p[i, k] from 0 to 1 of task k after the i-th learning block (0 before any), where block k + 1
learned task k (L2RLCF, arXiv:2212.04603; the definitions of the released l2metrics):

    maintenance  mean over blocks i > k + 1 of p[i, k] - p[k + 1, k]             below 0 is forgetting
    forward      mean over blocks j < k + 1 of contrast(p[j - 1, k], p[j, k])    of a task that was not learned yet
    backward     mean over blocks j > k + 1 of the same                          of a task that was learned before

    contrast(before, after) = (after - before) / (after + before)

A task that was never done before has a contrast of 1 whatever comes after: look at the performances.

Beside an expert, a run that learned the same task alone from the start, with the curves of both while they learn:

    relative performance   sum of own performances / sum of the expert's after as many experiences
    sample efficiency      (own saturation / the expert's) * (the expert's experiences until then / own)

The saturation is the highest value of the curve, each of its points being the mean of the last `window` measurements.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np

from redqueen.types import RedQueenError


@dataclass(frozen=True)
class Retained:
    """What became of one task; NaN for what the sequence does not show: the first task has no forward transfer, the
    last no maintenance and no backward transfer."""

    gain: float  # of its own learning block
    maintenance: float
    forward: float
    backward: float


def retained(performances: np.ndarray) -> list[Retained]:
    """For each task what became of it, from [blocks + 1, tasks] performances. Raises RedQueenError for another shape,
    and for a performance outside [0, 1]."""
    table = np.asarray(performances, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] + 1 or not table.size:
        raise RedQueenError(
            f"a sequence of n tasks has performances [n + 1, n], the first row before any, not {list(table.shape)}"
        )
    if not ((table >= 0.0) & (table <= 1.0)).all():
        raise RedQueenError("a performance lies from 0 to 1: shift and scale other scores first")
    return [_of_task(table[:, task], task + 1) for task in range(table.shape[1])]


@dataclass(frozen=True)
class Curve:
    """Performances [n] from 0 to 1 while a task is learned, after so many experiences [n] each, in rising order. Raises
    RedQueenError for an empty curve, and for two that do not belong together."""

    experiences: np.ndarray
    performances: np.ndarray

    def __post_init__(self) -> None:
        seen, done = self.experiences, self.performances
        if not len(seen) or len(seen) != len(done) or (np.diff(seen) <= 0).any():
            raise RedQueenError("a curve has a performance for each number of experiences, and these rise")

    def saturation(self, window: int = 1) -> tuple[float, float]:
        """The highest mean of `window` measurements, of all where there are fewer, and the experiences until then."""
        width = min(window, len(self.performances))
        means = np.convolve(self.performances, np.ones(width) / width, mode="valid")
        best = int(means.argmax())
        return float(means[best]), float(self.experiences[best + width - 1])


def relative_performance(own: Curve, expert: Curve) -> float:
    """The sum of own performances over the expert's, read between its measurements; NaN where the expert never did any.
    Raises RedQueenError for an expert with fewer experiences."""
    if expert.experiences[-1] < own.experiences[-1]:
        raise RedQueenError(
            f"the expert learned from {expert.experiences[-1]:,.0f} episodes, and what is compared with it from "
            f"{own.experiences[-1]:,.0f}: train it for as many"
        )
    beside = float(np.interp(own.experiences, expert.experiences, expert.performances).sum())
    return float(own.performances.sum()) / beside if beside else nan


def sample_efficiency(own: Curve, expert: Curve, window: int = 1) -> float:
    """How much is reached, and how soon, beside an expert: 1 is as much as soon. NaN where the expert never did any."""
    (level, seen), (best, needed) = own.saturation(window), expert.saturation(window)
    return (level / best) * (needed / seen) if best and seen else nan


def _of_task(column: np.ndarray, own: int) -> Retained:
    """What became of the task that the block `own` learned, from its performances [blocks + 1]."""
    moves = [contrast(column[block - 1], column[block]) for block in range(1, len(column))]
    return Retained(
        float(column[own] - column[own - 1]),
        _mean(column[own + 1 :] - column[own]),
        _mean(np.array(moves[: own - 1])),
        _mean(np.array(moves[own:])),
    )


def contrast(before: float, after: float) -> float:
    """(after - before) / (after + before), from -1 to 1; 0 where both are 0."""
    return float((after - before) / (after + before)) if after + before else 0.0


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else nan
