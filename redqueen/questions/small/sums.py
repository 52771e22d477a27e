"""Sums of two numbers, answered with the last digit first (backwards=false: as usual), for models trained from scratch.

A proposer writes "12+7", a solver answers 19, or 91 with the digits from the last to the first, in which order a
small model can carry. The difficulty of a sum is the number of digits of its longer number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from redqueen.types import SOLVER, Demonstration, Refusal, Task

_SUM = re.compile(r"(0|[1-9][0-9]*)\+(0|[1-9][0-9]*)")
INVITATION = "Write a sum."


@dataclass(frozen=True)
class Sums:
    """See the module. `lengths`, `asked` and `slips` are for demonstrations only: how often the longer number has one,
    two, ... digits, how often where it is proposed (as `lengths` says if empty), and how often such a sum is answered
    as if nothing were carried."""

    digits: int = 4  # of the longest number
    backwards: bool = True  # the last digit of an answer comes first
    lengths: tuple[float, ...] = (0.35, 0.45, 0.15, 0.05)
    asked: tuple[float, ...] = ()
    slips: tuple[float, ...] = (0.30, 0.55, 0.80, 0.90)
    name: str = field(default="sums", repr=False)

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("sum",)

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(f"{digits}_digits" for digits in range(1, self.digits + 1))

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
        """Demonstrations, one third proposals and two thirds solutions."""
        return [self._demonstration(number, rng) for number in range(count)]

    def _demonstration(self, number: int, rng: Random) -> Demonstration:
        lengths = self.lengths if number % 3 else self.asked or self.lengths
        (digits,) = rng.choices(range(1, len(lengths) + 1), lengths)
        first, second = self._numbers(digits, rng)
        if number % 3 == 0:
            return Demonstration("proposer", self.invite("sum", (), number), f"{first}+{second}")
        slips = rng.random() < self.slips[digits - 1]
        total = without_carry(first, second) if slips else str(first + second)
        return Demonstration(SOLVER, self.task(first, second), self._written(total))

    def _numbers(self, digits: int, rng: Random) -> tuple[int, int]:
        """Two numbers, both drawn below 10^digits until the longer one has as many digits."""
        while True:
            first, second = rng.randrange(10**digits), rng.randrange(10**digits)
            if len(str(max(first, second))) == digits:
                return first, second

    def task(self, first: int, second: int) -> Task:
        answer = self._written(str(first + second))
        facts: Mapping[str, object] = {"digits": len(str(max(first, second))), "total": first + second}
        return Task(f"{first}+{second}", "sum", f"What is {first}+{second}?", answer, facts)

    def _written(self, total: str) -> str:
        return total[::-1] if self.backwards else total


def without_carry(first: int, second: int) -> str:
    """The digits of both numbers added column by column, nothing carried: 57+68 gives 15."""
    width = max(len(str(first)), len(str(second)))
    columns = zip(str(first).zfill(width), str(second).zfill(width), strict=True)
    return "".join(str((int(a) + int(b)) % 10) for a, b in columns)
