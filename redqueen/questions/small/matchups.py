"""Preferences known exactly: one question with a few answers, and a table of their win probabilities.

It shows what a method makes of a cyclic preference, or of one from scores. With
listed answers a tabular policy and a language model play the same question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType

import numpy as np

from redqueen.checks.preferences import Labels, Table
from redqueen.protocols import PreferenceOracle
from redqueen.types import RedQueenError, Task

Known = tuple[tuple[str, ...], tuple[tuple[float, ...], ...], tuple[float, ...]]  # answers, wins, equilibrium

TABLES: Mapping[str, Known] = MappingProxyType(
    {
        "rock_paper_scissors": (
            ("rock", "paper", "scissors"),
            ((0.5, 0.0, 1.0), (1.0, 0.5, 0.0), (0.0, 1.0, 0.5)),
            (1 / 3, 1 / 3, 1 / 3),
        ),
        "biased": (  # by hand: the three that go round win against each other .4, .3, .2 more often than not
            ("a", "b", "c", "d"),
            ((0.5, 0.9, 0.2, 0.95), (0.1, 0.5, 0.7, 0.90), (0.8, 0.3, 0.5, 0.85), (0.05, 0.10, 0.15, 0.5)),
            (2 / 9, 3 / 9, 4 / 9, 0.0),
        ),
        "transitive": (
            ("good", "fair", "poor"),
            ((0.5, 0.7, 0.9), (0.3, 0.5, 0.7), (0.1, 0.3, 0.5)),
            (1.0, 0.0, 0.0),
        ),
    }
)


@dataclass(frozen=True)
class Matchups:
    """The question set of the module. `labels` draws every verdict as 0 or 1; `noise` is the share of random labels."""

    table: str = "biased"
    labels: bool = False
    noise: float = 0.0
    name: str = field(default="matchups", repr=False)

    def __post_init__(self) -> None:
        if self.table not in TABLES:
            raise RedQueenError(f"there is no table {self.table!r}: the tables are {', '.join(TABLES)}")
        if self.noise and not self.labels:
            raise RedQueenError("noise is of labels: write labels=true with it")

    @property
    def levels(self) -> tuple[str, ...]:
        return ("matchup",)

    @property
    def wins(self) -> np.ndarray:
        """[K, K] the probability that an answer (row) is preferred to another (column)."""
        return np.array(TABLES[self.table][1])

    @property
    def equilibrium(self) -> np.ndarray:
        """[K] the mixture that no answer beats with a probability above one half."""
        return np.array(TABLES[self.table][2])

    @property
    def oracle(self) -> PreferenceOracle:
        known = Table(TABLES[self.table][0], self.wins)
        return Labels(known, self.noise) if self.labels else known

    def task(self, number: int = 0) -> Task:
        answers, best = TABLES[self.table][0], int(self.equilibrium.argmax())
        asked = f"Choose one of {', '.join(answers)}."
        return Task(f"{self.table} {number}", "matchup", asked, answers[best], choices=answers)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        """Whether the answer has a place in the equilibrium."""
        played = {answer for answer, share in zip(TABLES[self.table][0], self.equilibrium, strict=True) if share > 0}
        return [answer in played for answer in answers]

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        """The question `count` times, each with a unique id, so that its answers are compared separately."""
        return [self.task(rng.getrandbits(48)) for _ in range(count)]


def exploitability(wins: np.ndarray, policy: np.ndarray) -> float:
    """The win probability of the best answer against `policy` [K] under `wins` [K, K], minus one half: 0 at the
    equilibrium."""
    return float((wins @ policy).max() - 0.5)
