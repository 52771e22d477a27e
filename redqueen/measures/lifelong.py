"""What learning one task after another leaves of each: maintenance, forward and backward transfer.

From the performances p[i, k] from 0 to 1 of task k after the i-th learning block (0 before any), where block k + 1
learned task k (L2RLCF, arXiv:2212.04603; the definitions of the released l2metrics):

    maintenance  mean over blocks i > k + 1 of p[i, k] - p[k + 1, k]             below 0 is forgetting
    forward      mean over blocks j < k + 1 of contrast(p[j - 1, k], p[j, k])    of a task that was not learned yet
    backward     mean over blocks j > k + 1 of the same                          of a task that was learned before

    contrast(before, after) = (after - before) / (after + before)

A task that was never done before has a contrast of 1 whatever comes after: look at the performances.
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
