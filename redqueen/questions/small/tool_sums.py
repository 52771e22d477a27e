"""Sums for solvers with a calculator: short ones are known by heart, long ones are better worked out with the tool.

A proposer writes "12+7"; a solver answers 19, at once or after "<calculate>12+7</calculate>". What makes a
sum hard without the tool is how many digits the longer number has. Nothing here demands the tool: whether it is called
is for the solver to learn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from redqueen.games.tools import Calculator
from redqueen.types import SOLVER, Demonstration, Refusal, Task

_SUM = re.compile(r"(0|[1-9][0-9]*)\+(0|[1-9][0-9]*)")
INVITATION = "Write a sum."


@dataclass(frozen=True)
class ToolSums:
    """See the module. `lengths`, `calls` and `knows` are for demonstrations only: how often the longer number has one,
    two, ... digits, how often such a sum is worked out with the tool, and how often it is known where it is not."""

    digits: int = 4  # of the longest number
    lengths: tuple[float, ...] = (0.25, 0.40, 0.25, 0.10)
    calls: tuple[float, ...] = (0.10, 0.35, 0.35, 0.35)
    knows: tuple[float, ...] = (0.9, 0.5, 0.1, 0.0)
    name: str = field(default="tool_sums", repr=False)

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("sum",)

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(f"{digits}_digits" for digits in range(1, self.digits + 1))

    def tools_for(self, role: str) -> tuple[Calculator, ...]:
        """The calculator, for the solver; nothing for other roles."""
        return (Calculator(),) if role == SOLVER else ()

    def seeds(self) -> list[Task]:
        return [self.task(1, 1)]

    def sources(self, kind: str) -> tuple[str, ...]:
        return self.kinds

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        """An invitation without the references, which are too short to be varied."""
        return Task(f"invitation {number}", kind, INVITATION)

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        return [self._read(reply.strip()) for reply in replies]

    def _read(self, text: str) -> Task | Refusal:
        found = _SUM.fullmatch(text)
        if found is None:
            return Refusal("malformed")
        if max(map(len, found.groups())) > self.digits:
            return Refusal("too long")
        return self.task(int(found[1]), int(found[2]))

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [task.answer == answer.strip() for task, answer in zip(tasks, answers, strict=True)]

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        digits = self.levels.index(level) + 1
        return [self.task(*self._numbers(digits, rng)) for _ in range(count)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """Demonstrations, one third proposals and two thirds solutions; a solution may hold a call
        (`demonstrations.rehearsal`)."""
        return [self._demonstration(number, rng) for number in range(count)]

    def _demonstration(self, number: int, rng: Random) -> Demonstration:
        (digits,) = rng.choices(range(1, len(self.lengths) + 1), self.lengths)
        first, second = self._numbers(digits, rng)
        task = self.task(first, second)
        if number % 3 == 0:
            return Demonstration("proposer", self.invite("sum", (), number), task.id)
        if rng.random() < self.calls[digits - 1]:
            return Demonstration(SOLVER, task, f"<calculate>{task.id}</calculate>{task.answer}")
        guess = rng.randrange(10 ** (digits - 1), 2 * 10**digits)
        return Demonstration(SOLVER, task, task.answer if rng.random() < self.knows[digits - 1] else str(guess))

    def _numbers(self, digits: int, rng: Random) -> tuple[int, int]:
        """Two numbers, both drawn below 10^digits until the longer one has as many digits."""
        while True:
            first, second = rng.randrange(10**digits), rng.randrange(10**digits)
            if len(str(max(first, second))) == digits:
                return first, second

    def task(self, first: int, second: int) -> Task:
        facts = {"digits": len(str(max(first, second)))}
        return Task(f"{first}+{second}", "sum", f"{first}+{second}=?", str(first + second), facts)
