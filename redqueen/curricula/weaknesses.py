"""Weak tasks in training, and the number of new tasks to make for each category.

SwS, self-aware weakness-driven synthesis (Liang et al., 2025, arXiv:2506.08989): record the accuracy of every task
in every epoch of a first training; a task is weak if it never reached one half and was getting worse:

    weak  iff  max accuracy < 0.5  and  least-squares slope over the epochs < 0

A task that stays at one accuracy, such as 0, has a slope of 0 and is not weak by this rule; of noisy flat curves half
are. `below` sets the slope under which a curve counts as not rising; a small positive one includes flat curves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, isfinite
from statistics import fmean

from redqueen.curricula.store import Result, result_of
from redqueen.protocols import COUNT, FINITE, SHARE, Row, State, shaped
from redqueen.types import SOLVER, Episode, RedQueenError, Task


@dataclass(frozen=True)
class LearningCurve:
    """The accuracy of one task over the epochs in which it was tried."""

    task_id: str
    category: str
    epochs: tuple[int, ...] = ()  # [E], rising
    accuracy: tuple[float, ...] = ()  # [E], in [0, 1]


class LearningCurves:
    """The accuracy of every task by epoch: the mean of its results in the epoch."""

    def __init__(self, category: Callable[[Task], str] | None = None, result: Result | None = None) -> None:
        self.category = category or (lambda task: task.kind)
        self.result = result or result_of(SOLVER)
        self.epoch = 0
        self._curves: dict[str, LearningCurve] = {}  # by task, in the order first seen
        self._results: dict[str, list[float]] = {}  # of the current epoch

    def observe(self, episodes: Sequence[Episode]) -> None:
        """Records the results of an epoch's episodes, without those that have none (None)."""
        for episode in episodes:
            result = self.result(episode)
            if result is None:
                continue
            if not 0.0 <= result <= 1.0:
                raise RedQueenError(f"the result of task {episode.task.id!r} is {result}: an accuracy is from 0 to 1")
            self._results.setdefault(episode.task.id, []).append(float(result))
            if episode.task.id not in self._curves:
                self._curves[episode.task.id] = LearningCurve(episode.task.id, self.category(episode.task))

    def end_epoch(self) -> None:
        """Records the accuracy of every task that was tried since the last call."""
        for task_id, results in self._results.items():
            curve = self._curves[task_id]
            self._curves[task_id] = LearningCurve(
                task_id, curve.category, (*curve.epochs, self.epoch), (*curve.accuracy, fmean(results))
            )
        self._results = {}
        self.epoch += 1

    def curves(self) -> list[LearningCurve]:
        """The learning curve of every task, up to the last complete epoch."""
        return list(self._curves.values())

    def state(self) -> State:
        curves = [[c.task_id, c.category, list(c.epochs), list(c.accuracy)] for c in self._curves.values()]
        results = {task_id: list(values) for task_id, values in self._results.items()}
        return {"epoch": self.epoch, "curves": curves, "results": results}

    def restore(self, state: State) -> None:
        shaped(state, _STATE, "the learning curves: ")
        self.epoch = state["epoch"]
        self._curves = {
            task_id: LearningCurve(task_id, category, tuple(epochs), tuple(accuracy))
            for task_id, category, epochs, accuracy in state["curves"]
        }
        self._results = {task_id: list(values) for task_id, values in state["results"].items()}


_STATE = {"epoch": COUNT, "curves": [Row(str, str, [COUNT], [SHARE])], "results": {...: [FINITE]}}


def slope(curve: LearningCurve) -> float:
    """The least-squares change of accuracy per epoch. Raises RedQueenError for fewer than two epochs."""
    if len(curve.epochs) < 2:
        raise RedQueenError(f"the curve of task {curve.task_id!r} has {len(curve.epochs)} epochs: a slope needs two")
    middle, level = fmean(curve.epochs), fmean(curve.accuracy)
    along = sum((epoch - middle) ** 2 for epoch in curve.epochs)
    return sum((e - middle) * (a - level) for e, a in zip(curve.epochs, curve.accuracy, strict=True)) / along


def is_weak(curve: LearningCurve, ceiling: float = 0.5, below: float = 0.0, least_epochs: int = 2) -> bool:
    """Whether a task never reached `ceiling` and its slope is under `below`; False before `least_epochs` epochs."""
    if len(curve.epochs) < max(2, least_epochs):
        return False
    return max(curve.accuracy) < ceiling and slope(curve) < below


def weak_counts(curves: Sequence[LearningCurve], weak: Callable[[LearningCurve], bool] = is_weak) -> dict[str, int]:
    """The number of weak tasks of each category, in the order the categories appear."""
    counts = dict.fromkeys((curve.category for curve in curves), 0)
    for curve in curves:
        counts[curve.category] += weak(curve)
    return counts


def weak_rates(curves: Sequence[LearningCurve], weak: Callable[[LearningCurve], bool] = is_weak) -> dict[str, float]:
    """The share of each category's tasks that is weak."""
    sizes = dict.fromkeys((curve.category for curve in curves), 0)
    for curve in curves:
        sizes[curve.category] += 1
    return {category: count / sizes[category] for category, count in weak_counts(curves, weak).items()}


def budgets(failures: Mapping[str, float], total: int) -> dict[str, int]:
    """The number of new tasks for each category, in proportion to `failures` (counts or rates, at least 0), summing to
    `total`.

    Each category gets the integer part of its share; the rest goes to the largest remainders, of equals to the
    first. Nine tasks over failures 1, 2 and 3 (shares 1.5, 3, 4.5) are 2, 3 and 4.
    Raises RedQueenError if no category fails."""
    for category, failure in failures.items():
        if not (isfinite(failure) and failure >= 0.0):
            raise RedQueenError(f"the failures of {category!r} must be a finite number of at least 0, not {failure}")
    if total < 0:
        raise RedQueenError(f"a budget must be at least 0 tasks, not {total}")
    everything = sum(failures.values())
    if everything <= 0.0:
        raise RedQueenError("no category fails: there is nothing to share out a budget by")
    shares = {category: total * failure / everything for category, failure in failures.items()}
    given = {category: floor(share + 1e-9) for category, share in shares.items()}
    by_remainder = sorted(shares, key=lambda category: given[category] - shares[category])
    for category in by_remainder[: total - sum(given.values())]:
        given[category] += 1
    return given
