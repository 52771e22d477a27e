"""Data whose distribution is known: a few listed outcomes, and texts of a Markov chain.

A stand-in for SPIN's human data: the distance of a policy from the data, and the accuracy of the best judge that tells
its replies from them, can be computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import log
from random import Random
from string import ascii_lowercase
from typing import Protocol

import numpy as np

from redqueen.protocols import Questions
from redqueen.types import SOLVER, Demonstration, RedQueenError, Task


class KnownData(Questions, Protocol):
    """A question set whose distribution of answers is known."""

    def log_likelihood(self, text: str) -> float:
        """The log-probability of an answer in nats, -inf for one that the data never give."""
        ...


@dataclass(frozen=True)
class Known:
    """One question with listed answers, the letters from a on: answer k has a chance in proportion to exp(spread z),
    with z standard normal, drawn with `seed`."""

    outcomes: int = 20
    spread: float = 0.5
    seed: int = 0
    name: str = field(default="known", repr=False)

    def __post_init__(self) -> None:
        if not 2 <= self.outcomes <= len(ascii_lowercase):
            raise RedQueenError(f"known data have 2 to {len(ascii_lowercase)} outcomes, not {self.outcomes}")

    @property
    def levels(self) -> tuple[str, ...]:
        return ("outcome",)

    @property
    def answers(self) -> tuple[str, ...]:
        return tuple(ascii_lowercase[: self.outcomes])

    @cached_property
    def distribution(self) -> np.ndarray:
        """[K] the probability of each answer."""
        rng = Random(self.seed)
        weights = np.exp([self.spread * rng.gauss(0.0, 1.0) for _ in range(self.outcomes)])
        return np.asarray(weights / weights.sum())

    def log_likelihood(self, text: str) -> float:
        if text not in self.answers:
            return float("-inf")
        return float(np.log(self.distribution[self.answers.index(text)]))

    def task(self, answer: str = "", number: int = 0) -> Task:
        return Task(f"known {number}", "outcome", "Say a letter.", answer, choices=self.answers)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        """Whether the data ever give this answer."""
        return [answer in self.answers for answer in answers]

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        """The question `count` times, each with an answer drawn from the data and a unique id."""
        drawn = rng.choices(self.answers, self.distribution.tolist(), k=count)
        return [self.task(answer, rng.getrandbits(48)) for answer in drawn]


@dataclass(frozen=True)
class Chain:
    """Texts of a Markov chain of letters: the first letter is uniform, each next one follows the row of the last.
    `spread` says how far a row is from uniform, as in `Known`."""

    letters: int = 12
    length: int = 12
    spread: float = 1.5
    seed: int = 0
    name: str = field(default="chain", repr=False)

    def __post_init__(self) -> None:
        if not (2 <= self.letters <= len(ascii_lowercase) and self.length >= 1):
            raise RedQueenError(f"a chain has 2 to {len(ascii_lowercase)} letters and a length of at least 1")

    @property
    def levels(self) -> tuple[str, ...]:
        return ("text",)

    @cached_property
    def rows(self) -> np.ndarray:
        """[K, K] the probability of each next letter (column) after each letter (row)."""
        rng = Random(self.seed)
        weights = [
            [np.exp(self.spread * rng.gauss(0.0, 1.0)) for _ in range(self.letters)] for _ in range(self.letters)
        ]
        return np.asarray(np.array(weights) / np.sum(weights, axis=1, keepdims=True))

    def log_likelihood(self, text: str) -> float:
        places = [ascii_lowercase.find(letter) for letter in text]
        if len(places) != self.length or not all(0 <= place < self.letters for place in places):
            return float("-inf")
        return -log(self.letters) + float(sum(np.log(self.rows[one, other]) for one, other in pairwise(places)))

    def task(self, answer: str = "", number: int = 0) -> Task:
        return Task(f"chain {number}", "text", "Write.", answer)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        """Whether it is a text of the chain's letters and length."""
        return [self.log_likelihood(answer) > float("-inf") for answer in answers]

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        """The question `count` times, each with a text drawn from the chain and a unique id."""
        return [self.task(self._text(rng), rng.getrandbits(48)) for _ in range(count)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        return [Demonstration(SOLVER, task, task.answer) for task in self.problems("text", count, rng)]

    def _text(self, rng: Random) -> str:
        places = [rng.randrange(self.letters)]
        while len(places) < self.length:
            places += rng.choices(range(self.letters), self.rows[places[-1]].tolist())
        return "".join(ascii_lowercase[place] for place in places)
