"""When a buffered question has taught what it can, by its pass rates, one a round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from redqueen.curricula.history import TaskHistory
from redqueen.rewards import marked
from redqueen.types import Episode


def rounds(attempts: Sequence[Episode], rates: np.ndarray) -> list[Episode]:
    """One episode for each task with its pass rate as the score, for `TaskStore.observe`: the first of the K attempts
    at it. `attempts` lie task by task, `rates` are [tasks]; a task whose rate is NaN is left out."""
    times = len(attempts) // len(rates) if len(rates) else 1
    return marked(attempts[::times], rates.tolist())


def exhausted(history: TaskHistory, patience: int = 3) -> bool:
    """Whether the last round was solved by every attempt, or none of the last `patience` rounds was better than the
    best before them (PasoDoble's question buffer, arXiv:2511.11881). The results are those of `rounds`."""
    results = history.results
    if not results:
        return False
    earlier, late = results[:-patience], results[-patience:]
    return results[-1] >= 1.0 or (bool(earlier) and max(late) <= max(earlier))
