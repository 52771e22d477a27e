"""Questions of eight concepts on two small numbers, some of them weak: rarely right in the demonstrations.

A proposer is given two concepts and writes a question of one of them, "gcd 6 4"; a solver answers. Every concept is a
kind and a level. In the demonstrations a weak concept is nearly always mistaken for another one, unless both numbers
are small; the others are answered right with probability `skill`, else at random. (For SwS, arXiv:2506.08989.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd
from random import Random
from types import MappingProxyType

from redqueen.types import SOLVER, Demonstration, RedQueenError, Refusal, Task

CONCEPTS: Mapping[str, Callable[[int, int], int]] = MappingProxyType(
    {
        "sum": lambda a, b: a + b,
        "gap": lambda a, b: abs(a - b),
        "product": lambda a, b: a * b,
        "quotient": lambda a, b: a // b,
        "rest": lambda a, b: a % b,
        "larger": max,
        "smaller": min,
        "gcd": gcd,
    }
)
# the concept for which an unknown one is mistaken
MISTAKEN_FOR: Mapping[str, str] = MappingProxyType(
    {
        "sum": "larger",
        "gap": "smaller",
        "product": "sum",
        "quotient": "gap",
        "rest": "quotient",
        "larger": "smaller",
        "smaller": "larger",
        "gcd": "larger",  # the smaller number is the gcd of many pairs
    }
)
_PROPOSAL = re.compile(r"([a-z]+) ([1-9][0-9]?) ([1-9][0-9]?)")


@dataclass(frozen=True)
class Concepts:
    """The question set of the module. All settings but `largest` and `weak` are for demonstrations only."""

    largest: int = 12  # of a number
    weak: tuple[str, ...] = ("rest", "gcd")
    small: int = 5  # both numbers up to this make a weak concept easier
    skill: float = 0.75  # how often a strong concept is answered right
    skill_small: float = 0.5  # a weak one, numbers small
    skill_weak: float = 0.06  # a weak one otherwise
    small_proposals: float = 0.5  # how many proposals have small numbers
    name: str = field(default="concepts", repr=False)

    def __post_init__(self) -> None:
        unknown = [concept for concept in self.weak if concept not in CONCEPTS]
        if unknown:
            raise RedQueenError(f"there is no concept {unknown[0]!r}: the concepts are {', '.join(CONCEPTS)}")
        if not 1 <= self.small <= self.largest <= 99:
            raise RedQueenError(
                f"numbers need 1 <= small <= largest <= 99, not small={self.small} and largest={self.largest}"
            )

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(CONCEPTS)

    @property
    def levels(self) -> tuple[str, ...]:
        """The concepts, not in order of difficulty."""
        return self.kinds

    def seeds(self) -> list[Task]:
        return [self.task(concept, 1, 1) for concept in self.kinds]

    def sources(self, kind: str) -> tuple[str, ...]:
        """All concepts: any may be combined with the one asked for."""
        return self.kinds

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        """An invitation that names the concept and that of the first reference of another kind."""
        beside = next((task.kind for task in references if task.kind != kind), kind)
        wanted = (kind,) if beside == kind else (kind, beside)
        prompt = f"Write a question on {' or '.join(wanted)}."
        return Task(f"invitation {kind} {number}", kind, prompt, facts={"concepts": wanted})

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        return [self._read(task, reply.strip()) for task, reply in zip(invitations, replies, strict=True)]

    def _read(self, invitation: Task, text: str) -> Task | Refusal:
        found = _PROPOSAL.fullmatch(text)
        if found is None or found[1] not in CONCEPTS:
            return Refusal("malformed")
        if max(int(found[2]), int(found[3])) > self.largest:
            return Refusal("too large")
        if found[1] not in invitation.facts["concepts"]:
            return Refusal("other concept")
        return self.task(found[1], int(found[2]), int(found[3]))

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [task.answer == answer.strip() for task, answer in zip(tasks, answers, strict=True)]

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return [self.task(level, *self._numbers(rng)) for _ in range(count)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """Demonstrations, one quarter proposals and three quarters solutions."""
        return [self._demonstration(number, rng) for number in range(count)]

    def _demonstration(self, number: int, rng: Random) -> Demonstration:
        concept, other = rng.choice(self.kinds), rng.choice(self.kinds)
        if number % 4 == 0:
            invitation = self.invite(concept, [self.task(other, 1, 1)], number)
            small = rng.random() < self.small_proposals
            first, second = self._numbers(rng, self.small if small else self.largest)
            return Demonstration("proposer", invitation, f"{rng.choice((concept, other))} {first} {second}")
        task = self.task(concept, *self._numbers(rng))
        return Demonstration(SOLVER, task, self._solution(task, rng))

    def _solution(self, task: Task, rng: Random) -> str:
        first, second = task.facts["numbers"]
        if task.kind not in self.weak:
            return task.answer if rng.random() < self.skill else str(rng.randint(0, self.largest))
        skill = self.skill_small if max(first, second) <= self.small else self.skill_weak
        return task.answer if rng.random() < skill else str(CONCEPTS[MISTAKEN_FOR[task.kind]](first, second))

    def _numbers(self, rng: Random, largest: int = 0) -> tuple[int, int]:
        most = largest or self.largest
        return rng.randint(1, most), rng.randint(1, most)

    def task(self, concept: str, first: int, second: int) -> Task:
        answer = str(CONCEPTS[concept](first, second))
        prompt = f"What is the {concept} of {first} and {second}?"
        return Task(f"{concept} {first} {second}", concept, prompt, answer, {"numbers": (first, second)})
