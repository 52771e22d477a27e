"""DRIVE's second stage: which problems are the hardest, and what becomes of those that nobody can solve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan
from random import Random
from typing import Any

import numpy as np

from redqueen.credit.filters import even
from redqueen.credit.outcomes import result
from redqueen.curricula.eviction import LowestPriority
from redqueen.curricula.history import TaskHistory
from redqueen.curricula.store import TaskStore
from redqueen.protocols import State
from redqueen.types import Episode, Group, Mean, Metrics, RedQueenError, Task

Draw = Callable[[int, Random], list[Task]]


@dataclass(frozen=True)
class ByFailure:
    """1 minus the solve rate of the latest attempts; 1 for a task that was never tried."""

    def __call__(self, held: Sequence[TaskHistory], now: int) -> np.ndarray:
        return np.array([1.0 - (each.solve_rate or 0.0) for each in held])


@dataclass(frozen=True)
class Hardest:
    """The tasks that fail most, each once, the hardest first, ties in random order."""

    def __call__(self, held: Sequence[TaskHistory], count: int, now: int, rng: Random) -> list[int]:
        failure, order = ByFailure()(held, now), list(range(len(held)))
        rng.shuffle(order)
        return sorted(order, key=lambda at: -failure[at])[:count]


class Stages:
    """The problems of the first stage that failed most, for the second. Raises RedQueenError for settings of a second
    stage that never comes, and for a pool that is smaller than one of its steps."""

    def __init__(self, config: Any) -> None:
        if config.first_stage > config.steps:
            raise RedQueenError(
                f"--first-stage {config.first_stage} is longer than the run of --steps {config.steps}: at most as long"
            )
        if config.pool < config.hard_tasks:
            raise RedQueenError(
                f"--pool {config.pool} holds fewer problems than --hard-tasks {config.hard_tasks} takes a step"
            )
        self._count, self._focused, self._give_up = config.hard_tasks, config.focus == "hardest", config.give_up
        self._pool = TaskStore(
            config.pool,
            sampling=Hardest(),
            eviction=LowestPriority(ByFailure()),
            result=_known,
            window=config.hard_attempts,
            name="pool",
        )

    def hard(self, draw: Draw, rng: Random) -> list[Task]:
        """The problems of one step of the second stage, the hardest first; new ones from `draw` for those missing."""
        held = self._pool.draw(self._count, rng) if self._focused and len(self._pool) else []
        return held + (draw(self._count - len(held), rng) if len(held) < self._count else [])

    def observe(self, groups: Sequence[Group]) -> None:
        """Adds the problems with their results; drops those that nobody solves, and the easiest where the pool is
        full."""
        self._pool.add([group.task for group in groups], room=False)
        self._pool.observe(groups)
        self._pool.prune(lambda history: history.tries >= self._give_up and not history.solved)
        self._pool.make_room()

    def metrics(self, groups: Sequence[Group]) -> Metrics:
        """The pool's figures, and the share of the groups whose attempts differ."""
        return {**self._pool.metrics(), "live": Mean(sum(not even(each) for each in groups) / len(groups), len(groups))}

    def state(self) -> State:
        return self._pool.state()

    def restore(self, state: State) -> None:
        self._pool.restore(state)


def _known(episode: Episode) -> float | None:
    """The mean result of the seats; None without a verdict."""
    found = float(np.mean([result(episode, seat) for seat in episode.seats]))
    return None if isnan(found) else found
