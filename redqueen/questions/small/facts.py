"""Sums that need facts: a corpus of facts, and problems proposed with an answer.

A passage says "A deck has 52. A week has 7."; a proposer who has read it writes "What is deck+19?" and, on the
next line, 17: a problem and its answer, here with the last digit first, in which order a small model can carry. A
solver, shown the problem alone, must know how much a deck has. (For PasoDoble,
arXiv:2511.11881.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from random import Random
from types import MappingProxyType
from typing import Protocol

from redqueen.checks.leaks import leaks
from redqueen.protocols import Proposable
from redqueen.questions.small.sums import without_carry
from redqueen.types import SOLVER, Demonstration, RedQueenError, Refusal, Task

FACTS: Mapping[str, int] = MappingProxyType(
    {"week": 7, "day": 24, "hour": 60, "dozen": 12, "deck": 52, "board": 64, "yard": 36, "pound": 16, "piano": 88}
)
_TERM = "([a-z]+|0|[1-9][0-9]?)"
_PROPOSAL = re.compile(rf"What is {_TERM}\+{_TERM}\?\n([0-9]{{1,3}})")


class Informed(Proposable, Protocol):
    """A question set with a corpus. A proposal includes an answer, right or wrong, which is the task's: `right` grades
    by it."""

    def passages(self) -> Sequence[str]:
        """The corpus, in parts that a proposer can read."""
        ...

    def invite_after(self, passage: str, number: int) -> Task:
        """The task of a proposer: the passage, and the request for a problem and its answer. `number` makes the
        id of the invitation unique."""
        ...

    def true_answer(self, task: Task) -> str | None:
        """The true answer to the task's prompt, None where nobody knows: for audits only, not for training."""
        ...


@dataclass(frozen=True)
class Facts:
    """See the module. `skill` and `faithful` are for demonstrations only: how often a sum with a number of one digit,
    of two digits, or of two facts is worked out with what is carried, and how often a proposer's own answer is right;
    otherwise it is a number near it, never the one that is found without carrying."""

    backwards: bool = True  # the last digit of an answer comes first
    skill: tuple[float, ...] = (0.6, 0.4, 0.4)
    faithful: float = 0.7
    name: str = field(default="facts", repr=False)

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("sum",)

    @property
    def levels(self) -> tuple[str, ...]:
        return ("one_digit", "two_digits", "two_facts")

    def seeds(self) -> list[Task]:
        return [self.task("week", "1")]

    def sources(self, kind: str) -> tuple[str, ...]:
        return self.kinds

    def passages(self) -> list[str]:
        return [_passage(first, other) for first, other in permutations(FACTS, 2)]

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        """An invitation with a passage; the references are not shown, the passages make problems differ."""
        return self.invite_after(self.passages()[number % len(self.passages())], number)

    def invite_after(self, passage: str, number: int) -> Task:
        prompt = f"{passage}\nWrite a sum and, on the next line, its answer."
        return Task(f"invitation {number}: {passage}", "sum", prompt)

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        return [self._read(reply.strip()) for reply in replies]

    def _read(self, text: str) -> Task | Refusal:
        found = _PROPOSAL.fullmatch(text)
        if found is None:
            return Refusal("malformed")
        first, second, answer = found.groups()
        if any(term not in FACTS for term in (first, second) if not term.isdecimal()):
            return Refusal("no fact")
        return Refusal("leak") if leaks(f"{first}+{second}", answer) else self.task(first, second, answer)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [task.answer == answer.strip() for task, answer in zip(tasks, answers, strict=True)]

    def true_answer(self, task: Task) -> str:
        return self._written(str(sum(_value(term) for term in task.facts["terms"])))

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        if level not in self.levels:
            raise RedQueenError(f"there is no level {level!r}: the levels are {', '.join(self.levels)}")
        return [self.task(*_terms(self.levels.index(level), rng)) for _ in range(count)]

    def task(self, first: str, second: str, answer: str = "") -> Task:
        """The problem, with `answer` or, if it is empty, the true one."""
        facts = {"terms": (first, second)}
        made = Task(f"{first}+{second}? {answer}", "sum", f"What is {first}+{second}?", answer, facts)
        return made if answer else self.task(first, second, self.true_answer(made))

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """Demonstrations, half proposals and half solutions."""
        return [self._proposal(number, rng) if number % 2 == 0 else self._solution(rng) for number in range(count)]

    def _proposal(self, number: int, rng: Random) -> Demonstration:
        fact, other = rng.sample(sorted(FACTS), 2)
        invitation = self.invite_after(_passage(fact, other), number)
        second = rng.choice((str(rng.randrange(10)), str(rng.randrange(10, 100)), other))
        total = _value(fact) + _value(second)
        if rng.random() >= self.faithful:
            avoided = (total, int(without_carry(_value(fact), _value(second))))
            total = rng.choice([near for near in range(max(0, total - 9), total + 10) if near not in avoided])
        return Demonstration("proposer", invitation, f"What is {fact}+{second}?\n{self._written(str(total))}")

    def _solution(self, rng: Random) -> Demonstration:
        number = rng.randrange(len(self.levels))
        task = self.task(*_terms(number, rng))
        first, second = (_value(term) for term in task.facts["terms"])
        if rng.random() < self.skill[number]:
            return Demonstration(SOLVER, task, task.answer)
        return Demonstration(SOLVER, task, self._written(without_carry(first, second)))

    def _written(self, total: str) -> str:
        return total[::-1] if self.backwards else total


def _passage(first: str, other: str) -> str:
    return f"A {first} has {FACTS[first]}. A {other} has {FACTS[other]}."


def _terms(level: int, rng: Random) -> tuple[str, str]:
    fact, other = rng.sample(sorted(FACTS), 2)
    return fact, (str(rng.randrange(10)), str(rng.randrange(10, 100)), other)[level]


def _value(term: str) -> int:
    return int(term) if term.isdecimal() else FACTS[term]
