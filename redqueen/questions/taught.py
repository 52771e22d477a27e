"""Another domain with a role more: demonstrations of whoever looks at its solutions, beside its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from redqueen.games.tools import Tool, tools_for
from redqueen.protocols import Domain
from redqueen.questions.catalogue import demonstrator
from redqueen.types import Demonstration, Refusal, Task

More = Callable[[Sequence[Demonstration], Sequence[bool], int, Random], list[Demonstration]]
"""Up to so many demonstrations about solutions, of which it is known whether they are right."""


@dataclass(frozen=True)
class Taught:
    """`inner` in everything but its demonstrations, of which up to a third come from `more`."""

    inner: Domain
    more: More = field(repr=False)
    name: str = field(repr=False)

    @property
    def kinds(self) -> tuple[str, ...]:
        return self.inner.kinds

    @property
    def levels(self) -> tuple[str, ...]:
        return self.inner.levels

    def seeds(self) -> list[Task]:
        return self.inner.seeds()

    def sources(self, kind: str) -> tuple[str, ...]:
        return self.inner.sources(kind)

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        return self.inner.invite(kind, references, number)

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        return self.inner.read(invitations, replies)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return self.inner.right(tasks, answers)

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return self.inner.problems(level, count, rng)

    def tools_for(self, role: str) -> tuple[Tool, ...]:
        return tools_for(self.inner, role)

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        shown = demonstrator(self.inner).demonstrations(count, rng)
        solved = [one for one in shown if one.role == "solver"]
        right = self.inner.right([one.task for one in solved], [one.text for one in solved])
        more = self.more(solved, right, count // 3, rng)
        return shown[: count - len(more)] + more
