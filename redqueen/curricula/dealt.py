"""Curricula over a fixed list of tasks: drawn by weight, or enumerated."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from random import Random

from redqueen.protocols import State
from redqueen.types import Episode, RedQueenError, Task


class Sampled:
    """Independent draws in proportion to the tasks' weights."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        _check(tasks)
        self.tasks = tuple(tasks)

    def draw(self, count: int, rng: Random) -> list[Task]:
        return rng.choices(self.tasks, [task.weight for task in self.tasks], k=count)

    def observe(self, episodes: Sequence[Episode]) -> None:
        pass

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        pass


class Enumerated:
    """Draws that hold each task in proportion to its weight, in random order: the same mean as `Sampled`
    with less variance, since no deal is over-represented by chance.

    Of 128 draws among six equal deals each comes 21 times, and two random ones once more.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        _check(tasks)
        self.tasks = tuple(tasks)

    def draw(self, count: int, rng: Random) -> list[Task]:
        total = sum(task.weight for task in self.tasks)
        expected = [count * task.weight / total for task in self.tasks]
        whole = [floor(share + 1e-9) for share in expected]  # a share of 20.999999999 is 21
        rest = [max(0.0, share - times) for share, times in zip(expected, whole, strict=True)]
        drawn = [task for task, times in zip(self.tasks, whole, strict=True) for _ in range(times)]
        drawn += [self.tasks[index] for index in _systematic(rest, count - len(drawn), rng)]
        rng.shuffle(drawn)
        return drawn

    def observe(self, episodes: Sequence[Episode]) -> None:
        pass

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        pass


def _systematic(chances: Sequence[float], count: int, rng: Random) -> list[int]:
    """`count` different indices, each with its probability in `chances` (below one, summing to `count`):
    systematic sampling, with equal spacing and a random start over shuffled items (Madow, 1949)."""
    if count == 0:
        return []
    order = list(range(len(chances)))
    rng.shuffle(order)
    spacing = sum(chances) / count  # one, but for rounding
    mark = rng.random() * spacing
    picked: list[int] = []
    passed = 0.0
    for index in order:
        passed += chances[index]
        if passed > mark and len(picked) < count:
            picked.append(index)
            mark += spacing
    remaining = (index for index in order if index not in picked and chances[index] > 0.0)
    return picked + [next(remaining) for _ in range(count - len(picked))]  # a mark that rounding put past the end


def _check(tasks: Sequence[Task]) -> None:
    if not tasks:
        raise RedQueenError("a curriculum needs at least one task")
    bad = next((task for task in tasks if not 0.0 <= task.weight < float("inf")), None)
    if bad is not None:
        raise RedQueenError(f"the weight of task {bad.id!r} must be a finite number of at least 0, not {bad.weight}")
    if sum(task.weight for task in tasks) <= 0.0:
        raise RedQueenError("a curriculum needs a task whose weight is above 0")
