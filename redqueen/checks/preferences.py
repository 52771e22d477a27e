"""Preference oracles, which compare two answers, and the win rates of a group of answers against one another.

An oracle returns the probability that the first answer is preferred. NaN is no verdict: never a half, never a win. A
preference need not come from a score: a table may be cyclic, so that each answer loses to another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from redqueen.protocols import PreferenceOracle
from redqueen.types import RedQueenError, Task

_DIGITS = 12  # of a win rate
RewardModel = Callable[[Sequence[Task], Sequence[str]], Sequence[float]]


def chances(
    oracle: PreferenceOracle, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random
) -> np.ndarray:
    """[n] the oracle's probabilities. Raises RedQueenError unless there is a number from 0 to 1, or NaN, per task."""
    given = oracle(tasks, first, second, rng)
    found = numbers_in(given)
    if found.shape != (len(tasks),) or np.any((found < 0.0) | (found > 1.0)):
        told = " ".join(repr(given).split())
        raise RedQueenError(
            f"a preference oracle must give {len(tasks)} probabilities from 0 to 1, or NaN: not {told:.60}"
        )
    return found


def numbers_in(given: object) -> np.ndarray:
    """The numbers that somebody's function gave, None as NaN; [0] where they are none."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError):  # the last of a tensor that asks for its gradient
        return np.full(0, np.nan)


@dataclass(frozen=True, eq=False)
class Table:
    """Known preferences among a few answers: `wins[i, j]` is the probability that answer i is preferred to answer j.

    An answer that is not in the table has no verdict. Raises RedQueenError where the table is not square, does not fit
    the answers, or does not give the two of a pair 1 in sum.
    """

    answers: tuple[str, ...]
    wins: np.ndarray  # [K, K]

    def __post_init__(self) -> None:
        count = len(self.answers)
        if self.wins.shape != (count, count) or len(set(self.answers)) < count:
            raise RedQueenError(f"a table of {count} different answers is {count} by {count}, not {self.wins.shape}")
        if not np.allclose(self.wins + self.wins.T, 1.0):
            raise RedQueenError("each pair of answers must win 1 in sum against one another: wins + wins.T = 1")

    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        places = {answer: number for number, answer in enumerate(self.answers)}
        known = [(places.get(one), places.get(other)) for one, other in zip(first, second, strict=True)]
        return np.array([np.nan if i is None or j is None else self.wins[i, j] for i, j in known], dtype=np.float64)


@dataclass(frozen=True)
class ByReward:
    """The answer of higher reward is preferred, with probability sigmoid(sharpness (r1 - r2)) (Bradley and Terry);
    infinite sharpness decides by the sign, equals one half. A reward that is NaN is no verdict."""

    model: RewardModel
    sharpness: float = 1.0

    def __post_init__(self) -> None:
        if not self.sharpness > 0.0:
            raise RedQueenError(f"the sharpness of a preference must be above 0, not {self.sharpness:g}")

    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        rewards = numbers_in(self.model([*tasks, *tasks], [*first, *second]))
        if rewards.shape != (2 * len(tasks),):
            raise RedQueenError(f"the reward model must give {2 * len(tasks)} numbers, one for each answer")
        gaps = rewards[: len(tasks)] - rewards[len(tasks) :]
        if np.isinf(self.sharpness):
            return np.asarray(np.where(np.isnan(gaps), np.nan, 0.5 + 0.5 * np.sign(gaps)))
        return sigmoid(self.sharpness * gaps)


def sigmoid(gaps: np.ndarray) -> np.ndarray:
    """[n] between 0 and 1, without overflow: the chance of the better one of two whose worth is so far apart."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * gaps))


@dataclass(frozen=True)
class BothOrders:
    """The mean of both orders of presentation, for oracles that favour what stands first; where one order has no
    verdict there is none."""

    oracle: PreferenceOracle

    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        found = chances(self.oracle, [*tasks, *tasks], [*first, *second], [*second, *first], rng)
        return np.asarray((found[: len(tasks)] + 1.0 - found[len(tasks) :]) / 2.0)


@dataclass(frozen=True)
class Labels:
    """A sampled label in place of a probability: 1 or 0; a share `noise` of all labels is drawn uniformly."""

    oracle: PreferenceOracle
    noise: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.noise <= 1.0:
            raise RedQueenError(f"the share of random labels lies from 0 to 1, not at {self.noise:g}")

    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        given = (1.0 - self.noise) * chances(self.oracle, tasks, first, second, rng) + 0.5 * self.noise
        drawn = [rng.random() for _ in tasks]
        return np.array([np.nan if np.isnan(p) else float(u < p) for p, u in zip(given, drawn, strict=True)])


def tournament(
    oracle: PreferenceOracle, tasks: Sequence[Task], answers: Sequence[Sequence[str]], rng: Random
) -> list[np.ndarray]:
    """[K, K] for each task: the probability that each of its K answers is preferred to each other one, one half to
    itself. The oracle is asked once per pair, and not about equal answers, which get one half."""
    asked = [
        (n, i, j)
        for n, group in enumerate(answers)
        for i in range(len(group))
        for j in range(i + 1, len(group))
        if group[i] != group[j]
    ]
    found = chances(
        oracle,
        [tasks[n] for n, _, _ in asked],
        [answers[n][i] for n, i, _ in asked],
        [answers[n][j] for n, _, j in asked],
        rng,
    )
    matrices = [np.full((len(group), len(group)), 0.5) for group in answers]
    for (n, i, j), chance in zip(asked, found.tolist(), strict=True):
        matrices[n][i, j], matrices[n][j, i] = chance, 1.0 - chance
    return matrices


def win_rates(wins: np.ndarray, beside_itself: bool = False) -> np.ndarray:
    """[K] the share of comparisons that each answer wins of [K, K]: against the others (SPO, arXiv:2401.04056; their
    mean is one half), or against all including itself, which counts a half (SPPO's released code). NaN for an answer
    without a comparison. Rounded to 12 digits, so that shares that are equal are equal as floats: a tie is no pair."""
    known = ~np.isnan(wins)
    others = known & ~np.eye(len(wins), dtype=bool)
    counted = known if beside_itself else others
    with np.errstate(invalid="ignore"):
        rates = np.where(counted, wins, 0.0).sum(axis=1) / counted.sum(axis=1)
    return np.asarray(np.where(others.any(axis=1), rates.round(_DIGITS), np.nan))
