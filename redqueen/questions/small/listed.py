"""Questions with listed answers, of which one is right and one is a tempting mistake: for tables.

With `trials.tables` a table begins with known chances, so that what a vote or a judge calls right is known before a
run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from redqueen.chance import derive
from redqueen.types import Task

LETTERS = "ABCDEFGH"
LEVEL = "listed"


@dataclass(frozen=True)
class Listed:
    """`count` questions of which each has as many listed answers as there are `choices`; `seed` deals which is right
    and which tempting."""

    count: int = 61
    choices: int = 6
    seed: int = 0
    name: str = field(default="listed", repr=False)

    @property
    def levels(self) -> tuple[str, ...]:
        return (LEVEL,)

    def tasks(self) -> list[Task]:
        """All of them, in order. The fact `tempting` is the tempting wrong answer, `number` the place."""
        return [self._task(number) for number in range(self.count)]

    def _task(self, number: int) -> Task:
        listed = tuple(LETTERS[: self.choices])
        right, tempting = Random(derive(self.seed, "listed", number)).sample(listed, 2)
        facts: dict[str, Any] = {"tempting": tempting, "number": number}
        return Task(f"listed {number}", LEVEL, f"Question {number}?", right, facts, choices=listed)

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return [self._task(number) for number in rng.sample(range(self.count), min(count, self.count))]

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [answer == task.answer for task, answer in zip(tasks, answers, strict=True)]
