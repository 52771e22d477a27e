"""Which tasks leave a store that has become too large.

Newcomers are among those that may leave. A store that keeps its first tasks for ever stops learning anything new:
AZR's code does so (`max_programs`), and `newest` is here to reproduce it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from redqueen.curricula.history import TaskHistory
from redqueen.curricula.sampling import Weights

Eviction = Callable[[Sequence[TaskHistory], int, int], list[int]]
"""Given the tasks held, oldest first, how many are too many, and the step: the indices of those that leave."""


def oldest(held: Sequence[TaskHistory], count: int, now: int) -> list[int]:
    """Those that were added first."""
    return list(range(count))


def newest(held: Sequence[TaskHistory], count: int, now: int) -> list[int]:
    """Those that were added last: a full store accepts nothing."""
    return list(range(len(held) - count, len(held)))


def oldest_of_most(held: Sequence[TaskHistory], count: int, now: int) -> list[int]:
    """One after another the oldest of the kind that has most: no kind is pushed out by the others."""
    kinds: dict[str, deque[int]] = {}
    for index, history in enumerate(held):
        kinds.setdefault(history.task.kind, deque()).append(index)
    return [max(kinds.values(), key=len).popleft() for _ in range(count)]


@dataclass(frozen=True)
class LowestPriority:
    """Those the weights want least, of equals the oldest (ExIt keeps its buffer by the variance of scores)."""

    weights: Weights

    def __call__(self, held: Sequence[TaskHistory], count: int, now: int) -> list[int]:
        return [int(index) for index in np.argsort(self.weights(held, now), kind="stable")[:count]]


@dataclass(frozen=True)
class MostSolved:
    """Those solved at least at this rate, most solved first; then the oldest."""

    rate: float = 0.9

    def __call__(self, held: Sequence[TaskHistory], count: int, now: int) -> list[int]:
        easy = solved_at_least(self.rate)
        order = sorted(range(len(held)), key=lambda at: -(held[at].solve_rate or 0.0) if easy(held[at]) else 1.0)
        return order[:count]


@dataclass(frozen=True)
class Stagnant:
    """Those whose results have not changed for so many rounds, longest first; then the oldest."""

    rounds: int = 3

    def __call__(self, held: Sequence[TaskHistory], count: int, now: int) -> list[int]:
        order = sorted(range(len(held)), key=lambda at: -held[at].unmoved if held[at].unmoved >= self.rounds else 1)
        return order[:count]


def solved_at_least(rate: float = 0.9) -> Callable[[TaskHistory], bool]:
    """Whether a task is solved that often, for `TaskStore.prune`: RAPO drops such tasks after every epoch."""
    return lambda history: history.solve_rate is not None and history.solve_rate >= rate
