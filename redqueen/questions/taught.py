"""A question set with an added role: demonstrations of a role that reads its solutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from redqueen.games.tools import tools_for
from redqueen.protocols import Demonstrator, Proposable, Questions, Tool, has
from redqueen.questions.catalogue import having
from redqueen.types import SOLVER, Demonstration, Refusal, Task

More = Callable[[Sequence[Demonstration], Sequence[bool], int, Random], list[Demonstration]]
"""Makes up to `count` demonstrations about solutions, given for each whether it is right."""


@dataclass(frozen=True)
class Taught:
    """The problems and checks of `inner`, with demonstrations of which up to a third come from `more`."""

    inner: Questions
    more: More = field(repr=False)
    name: str = field(repr=False)

    @property
    def levels(self) -> tuple[str, ...]:
        return self.inner.levels

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return self.inner.problems(level, count, rng)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> Sequence[bool | None]:
        return self.inner.right(tasks, answers)

    def tools_for(self, role: str) -> tuple[Tool, ...]:
        return tools_for(self.inner, role)

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        shown = having(self.inner, Demonstrator).demonstrations(count, rng)
        solved = [one for one in shown if one.role == SOLVER]
        right = self.inner.right([one.task for one in solved], [one.text for one in solved])
        known = [(one, each) for one, each in zip(solved, right, strict=True) if each is not None]
        more = self.more([one for one, _ in known], [each for _, each in known], count // 3, rng)
        return shown[: count - len(more)] + more


@dataclass(frozen=True)
class TaughtProposable:
    """`taught` that takes proposed tasks as `inner` does."""

    taught: Taught
    inner: Proposable

    @property
    def name(self) -> str:
        return self.taught.name

    @property
    def levels(self) -> tuple[str, ...]:
        return self.taught.levels

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return self.taught.problems(level, count, rng)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> Sequence[bool | None]:
        return self.taught.right(tasks, answers)

    def tools_for(self, role: str) -> tuple[Tool, ...]:
        return self.taught.tools_for(role)

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        return self.taught.demonstrations(count, rng)

    @property
    def kinds(self) -> tuple[str, ...]:
        return self.inner.kinds

    def seeds(self) -> list[Task]:
        return self.inner.seeds()

    def sources(self, kind: str) -> tuple[str, ...]:
        return self.inner.sources(kind)

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        return self.inner.invite(kind, references, number)

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        return self.inner.read(invitations, replies)


def taught(inner: Questions, more: More, name: str) -> Taught | TaughtProposable:
    """The question set `inner` with demonstrations from `more`; Proposable if `inner` is."""
    made = Taught(inner, more, name)
    return TaughtProposable(made, inner) if has(inner, Proposable) else made
