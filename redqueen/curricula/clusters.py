"""Clusters of documents with a memory of what was asked about them, by which texts grow (SPELL, arXiv:2509.23863)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from random import Random

import numpy as np

from redqueen.curricula.history import storable
from redqueen.protocols import State
from redqueen.records import plain, task_from_json, task_to_json
from redqueen.types import Metrics, RedQueenError, Task


class ClusterMemory:
    """So many clusters, each with the last `size` questions about it that were solved now and then: those with a mean
    score of `solvable` or more. A cluster is at stage `first` plus the number of its questions, up to `last`."""

    def __init__(
        self, clusters: int, size: int = 3, first: int = 0, last: int | None = None, solvable: float = 0.01
    ) -> None:
        self.first, self.last, self.solvable = first, first + size if last is None else last, solvable
        if clusters < 1 or size < 1 or not 0 <= first <= self.last:
            raise RedQueenError(
                "a memory needs 1 cluster and 1 question of each at least, and stages from 0 that do not fall, not "
                f"{clusters}, {size} and {first} to {self.last}"
            )
        if self.last > first + size:
            raise RedQueenError(
                f"a cluster remembers {size} questions, and grows by a stage with each: no text of stage {self.last} "
                f"follows from one of stage {first}"
            )
        self._asked: list[deque[Task]] = [deque(maxlen=size) for _ in range(clusters)]

    def draw(self, count: int, rng: Random) -> list[int]:
        """So many different clusters at random, all where there are fewer."""
        return rng.sample(range(len(self._asked)), min(count, len(self._asked)))

    def before(self, cluster: int) -> tuple[Task, ...]:
        """The questions remembered, oldest first."""
        return tuple(self._asked[cluster])

    def stage(self, cluster: int) -> int:
        return min(self.first + len(self._asked[cluster]), self.last)

    def observe(self, tasks: Sequence[Task], scores: np.ndarray) -> None:
        """Questions that name their cluster among their facts, and the scores of the attempts at each, [tasks, G], NaN
        where unknown."""
        for task, row in zip(tasks, scores, strict=True):
            known = row[~np.isnan(row)]
            if len(known) and known.mean() >= self.solvable:
                self._asked[task.facts["cluster"]].append(storable(task))

    def metrics(self) -> Metrics:
        """`stage`, the mean over the clusters, and `longest`, the share of them that is at the last stage."""
        stages = np.array([self.stage(cluster) for cluster in range(len(self._asked))])
        return {"clusters/stage": float(stages.mean()), "clusters/longest": float((stages == self.last).mean())}

    def state(self) -> State:
        return {"asked": [[plain(task_to_json(task)) for task in asked] for asked in self._asked]}

    def restore(self, state: State) -> None:
        for held, asked in zip(self._asked, state["asked"], strict=True):
            held.clear()
            held.extend(task_from_json(dict(task)) for task in asked)
