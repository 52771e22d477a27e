"""When a buffered question has taught what it can, by its pass rates, one a round."""

from __future__ import annotations

from redqueen.curricula.history import TaskHistory


def exhausted(history: TaskHistory, patience: int = 3) -> bool:
    """Whether the last round was solved by every attempt, or none of the last `patience` rounds was better than the
    best before them (PasoDoble's question buffer, arXiv:2511.11881). The results are those of `labels.rounds`."""
    results = history.results
    if not results:
        return False
    earlier, late = results[:-patience], results[-patience:]
    return results[-1] >= 1.0 or (bool(earlier) and max(late) <= max(earlier))
