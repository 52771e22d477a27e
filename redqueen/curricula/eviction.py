"""Eviction rules: which tasks leave a store that has become too large.

New tasks may leave too. A store that keeps its first tasks for ever accepts nothing new:
AZR's released code does so (`max_programs`), and `newest` reproduces it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from redqueen.curricula.draws import Weights
from redqueen.curricula.history import TaskHistory

Eviction = Callable[[Sequence[TaskHistory], int, int], list[int]]
"""Returns the indices of the tasks that leave, given those held (oldest first), how many must leave, and the step."""


def oldest(held: Sequence[TaskHistory], count: int, now: int) -> list[int]:
    """The `count` tasks that were added first."""
    return list(range(count))


def newest(held: Sequence[TaskHistory], count: int, now: int) -> list[int]:
    """The `count` tasks that were added last: a full store accepts nothing."""
    return list(range(len(held) - count, len(held)))


def oldest_of_most(held: Sequence[TaskHistory], count: int, now: int) -> list[int]:
    """Repeatedly the oldest task of the most frequent kind, so that no kind displaces the others."""
    kinds: dict[str, deque[int]] = {}
    for index, history in enumerate(held):
        kinds.setdefault(history.task.kind, deque()).append(index)
    return [max(kinds.values(), key=len).popleft() for _ in range(count)]


@dataclass(frozen=True)
class LowestPriority:
    """The tasks of lowest weight, of equals the oldest (ExIt keeps its buffer by the variance of scores)."""

    weights: Weights

    def __call__(self, held: Sequence[TaskHistory], count: int, now: int) -> list[int]:
        return [int(index) for index in np.argsort(self.weights(held, now), kind="stable")[:count]]


@dataclass(frozen=True)
class MostSolved:
    """The tasks with a solve rate of at least `rate`, highest first; then the oldest."""

    rate: float = 0.9

    def __call__(self, held: Sequence[TaskHistory], count: int, now: int) -> list[int]:
        easy = solved_at_least(self.rate)
        order = sorted(range(len(held)), key=lambda at: -(held[at].solve_rate or 0.0) if easy(held[at]) else 1.0)
        return order[:count]


@dataclass(frozen=True)
class Stagnant:
    """The tasks whose results have not changed for at least `rounds` rounds, longest first; then the oldest."""

    rounds: int = 3

    def __call__(self, held: Sequence[TaskHistory], count: int, now: int) -> list[int]:
        order = sorted(range(len(held)), key=lambda at: -held[at].unmoved if held[at].unmoved >= self.rounds else 1)
        return order[:count]


def solved_at_least(rate: float = 0.9) -> Callable[[TaskHistory], bool]:
    """A test for `TaskStore.prune`: whether a task's solve rate is at least `rate` (RAPO drops such tasks after every
    epoch)."""
    return lambda history: history.solve_rate is not None and history.solve_rate >= rate
