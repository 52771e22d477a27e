"""Prompts that can be made harder: sums of more and more numbers, with a reward for near answers.

"What is 3+5+2?" has difficulty 3. A rewriter makes it deeper (one number more) or broader (as hard, other numbers);
a reward model, not a check, says what an answer is worth: 1 less a tenth for each unit by which it is wrong, 0 for
what is no number. (For eva, arXiv:2411.00062.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import Protocol, cast

from redqueen.catalogue import Catalogue
from redqueen.protocols import Player, Proposable
from redqueen.types import SOLVER, Ask, Demonstration, RedQueenError, Refusal, Reply, Task

DEEPER, BROADER = "deeper", "broader"
FEWEST, MOST = 2, 1000  # numbers in a sum
_SUM = re.compile(r"[0-9](?:\+[0-9])+")
_ASKED = re.compile(rf"(Longer than|Another like) ({_SUM.pattern})\.")
_WORDS: Mapping[str, str] = MappingProxyType({DEEPER: "Longer than", BROADER: "Another like"})

RewardModel = Callable[[Sequence[Task], Sequence[str]], list[float]]
"""What the answers to tasks are worth, one finite number each, on any one scale."""


class Evolving(Proposable, Protocol):
    """A question set whose prompts can be rewritten, in depth or in breadth."""

    def evolve(self, task: Task, depth: str, number: int) -> Task:
        """The task of a rewriter, to make `task` deeper or broader; `read` takes its reply. `number` makes
        the id of the invitation unique."""
        ...

    def rewriter(self) -> Player:
        """A scripted player that rewrites."""
        ...

    def rewards(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[float]:
        """The question set's own reward model: see `RewardModel`."""
        ...


def find_reward_model(spec: str, questions: Evolving) -> RewardModel:
    """The reward model that `spec` names: the set's own if empty; else "path/to/file.py:MyModel", "some.module:MyModel"
    or an entry point of the group `redqueen.reward_models`, made without arguments and called with tasks and answers.
    Raises RedQueenError for anything else."""
    if not spec:
        return questions.rewards
    model = Catalogue("reward model", MappingProxyType({}), "redqueen.reward_models", takes=2).find(spec)
    if not callable(model):
        raise RedQueenError(f"{spec!r} is not a reward model: it cannot be called with tasks and answers")
    return cast(RewardModel, model)


@dataclass(frozen=True)
class Growing:
    """See the module. `skill` and `faithful` are for demonstrations only: how often a sum of two, three, ... numbers
    is answered rightly, and not as if its last number were not there; and how often a rewriter does as it is told."""

    longest: int = 5  # numbers in a sum
    largest: int = 5  # number in a sum
    skill: tuple[float, ...] = (0.6, 0.45, 0.3, 0.2)
    faithful: float = 0.9
    name: str = field(default="growing", repr=False)

    def __post_init__(self) -> None:
        if not FEWEST <= self.longest <= MOST or self.largest < 1:
            raise RedQueenError(
                f"sums need {FEWEST} to {MOST} numbers from 1 or more, not longest={self.longest} and "
                f"largest={self.largest}"
            )

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("sum",)

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(f"{count}_numbers" for count in range(FEWEST, self.longest + 1))

    def seeds(self) -> list[Task]:
        return [_task((1, 1))]

    def sources(self, kind: str) -> tuple[str, ...]:
        return self.kinds

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        return self.evolve((references or self.seeds())[0], BROADER, number)

    def evolve(self, task: Task, depth: str, number: int) -> Task:
        return Task(f"{depth} {number}", "sum", f"{_WORDS[depth]} {_written(task.facts['numbers'])}.")

    def rewriter(self) -> Player:
        return SumRule(self.largest)

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        return [self._read(reply.strip()) for reply in replies]

    def _read(self, text: str) -> Task | Refusal:
        if _SUM.fullmatch(text) is None:
            return Refusal("malformed")
        numbers = tuple(map(int, text.split("+")))
        fits = len(numbers) <= self.longest and max(numbers) <= self.largest
        return _task(numbers) if fits else Refusal("too large")

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [task.answer == answer.strip() for task, answer in zip(tasks, answers, strict=True)]

    def rewards(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[float]:
        return [nearness(int(task.answer), answer) for task, answer in zip(tasks, answers, strict=True)]

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        if level not in self.levels:
            raise RedQueenError(f"there is no level {level!r}: the levels are {', '.join(self.levels)}")
        size = FEWEST + self.levels.index(level)
        return [_task(_numbers(size, self.largest, rng)) for _ in range(count)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """Demonstrations, one third rewritten prompts and two thirds answers."""
        return [self._demonstration(number, rng) for number in range(count)]

    def _demonstration(self, number: int, rng: Random) -> Demonstration:
        numbers = _numbers(rng.randint(FEWEST, self.longest), self.largest, rng)
        if number % 3:
            kept = numbers if rng.random() < self.skill[len(numbers) - FEWEST] else numbers[:-1]
            return Demonstration(SOLVER, _task(numbers), str(sum(kept)))
        depth = rng.choice((DEEPER, BROADER))
        written = rewritten(numbers, depth, self.largest, rng)
        if rng.random() >= self.faithful:
            written = _numbers(rng.randint(1, 3), self.largest, rng)
        return Demonstration("rewriter", self.evolve(_task(numbers), depth, number), _written(written))


@dataclass(frozen=True)
class SumRule:
    """A scripted rewriter: deeper adds one number at the end, broader draws other numbers."""

    largest: int  # number
    name: str = "sum_rule"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(_obeyed(ask, self.largest), self.name) for ask in asks]


def _obeyed(ask: Ask, largest: int) -> str:
    asked = _ASKED.fullmatch(ask.messages[-1].text)
    if asked is None:
        raise RedQueenError(f"the rule rewrites sums of this question set only, not {ask.messages[-1].text!r:.60}")
    depth = DEEPER if asked[1] == _WORDS[DEEPER] else BROADER
    return _written(rewritten(tuple(map(int, asked[2].split("+"))), depth, largest, Random(ask.seed)))


def rewritten(numbers: Sequence[int], depth: str, largest: int, rng: Random) -> tuple[int, ...]:
    """Deeper or broader: (3, 5) becomes (3, 5, 2) or (4, 9)."""
    return (*numbers, rng.randint(0, largest)) if depth == DEEPER else _numbers(len(numbers), largest, rng)


def nearness(right: int, answer: str) -> float:
    """1 less a tenth for each unit by which an answer is wrong, not below 0; 0 for what is no number."""
    text = answer.strip()
    if not (text.isascii() and text.isdecimal()):
        return 0.0
    return max(0.0, 1.0 - abs(int(text) - right) / 10.0) if len(text) < 10 else 0.0


def _numbers(count: int, largest: int, rng: Random) -> tuple[int, ...]:
    return tuple(rng.randint(0, largest) for _ in range(count))


def _written(numbers: Sequence[int]) -> str:
    return "+".join(map(str, numbers))


def _task(numbers: Sequence[int]) -> Task:
    text = _written(numbers)
    facts = {"numbers": list(numbers), "difficulty": len(numbers)}
    return Task(text, "sum", f"What is {text}?", str(sum(numbers)), facts)
