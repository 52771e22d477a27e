"""Sampling policies of a store: weights over tasks, and draws by them.

The probability of a task is proportional to the policy's weight times the task's own `weight`. If all of the
policy's weights are zero, only the tasks' own weights count. S tasks are held, oldest first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

import numpy as np

from redqueen.credit.learnability import RateShape
from redqueen.curricula.history import TaskHistory
from redqueen.protocols import has
from redqueen.types import RedQueenError

Shape = Callable[[np.ndarray], float]
"""Returns the learnability of a task from the scores of its latest attempts, [G]. Below zero counts as zero."""


class Weights(Protocol):
    def __call__(self, held: Sequence[TaskHistory], now: int) -> np.ndarray:
        """[S] weights of the tasks `held` at the step `now`, at least 0."""
        ...


class Sampling(Protocol):
    def __call__(self, held: Sequence[TaskHistory], count: int, now: int, rng: Random) -> list[int]:
        """The indices of the tasks drawn."""
        ...


# Draws


@dataclass(frozen=True)
class Independent:
    """Independent draws with replacement: always `count` tasks."""

    weights: Weights

    def __call__(self, held: Sequence[TaskHistory], count: int, now: int, rng: Random) -> list[int]:
        return rng.choices(range(len(held)), cum_weights=np.cumsum(chances(self.weights, held, now)).tolist(), k=count)


@dataclass(frozen=True)
class Distinct:
    """Draws without replacement: no task twice, and fewer than `count` if fewer have a positive weight.

    Each task gets the key log(u) / w, u uniform in (0, 1]; the greatest keys are drawn, greatest first
    (Efraimidis and Spirakis, 2006). With `Uniform` these are AZR's K = 6 references.
    """

    weights: Weights

    def __call__(self, held: Sequence[TaskHistory], count: int, now: int, rng: Random) -> list[int]:
        likely = chances(self.weights, held, now)
        within_reach = np.flatnonzero(likely)
        keys = np.log([1.0 - rng.random() for _ in range(len(within_reach))]) / likely[within_reach]
        return [int(within_reach[place]) for place in np.argsort(-keys, kind="stable")[:count]]


@dataclass(frozen=True)
class NewestFirst:
    """The newest tasks, each once, latest first; then the rest of the draw from the older ones, with replacement.

    New tasks are those added at most `age` steps ago. AZR's released code (`max_new`) draws before it adds, so its new
    tasks are the previous step's: age 1. Its paper adds before it draws: age 0.
    """

    fill: Weights
    age: int = 1

    def __call__(self, held: Sequence[TaskHistory], count: int, now: int, rng: Random) -> list[int]:
        new = [index for index, history in enumerate(held) if now - history.added <= self.age and history.task.weight]
        drawn = new[::-1][:count]
        fresh = set(new)
        older = [index for index in range(len(held)) if index not in fresh]
        if not any(held[index].task.weight for index in older):
            older = list(range(len(held)))
        missing = count - len(drawn)
        if missing == 0:
            return drawn
        return drawn + [older[at] for at in Independent(self.fill)([held[i] for i in older], missing, now, rng)]


def chances(weights: Weights, held: Sequence[TaskHistory], now: int) -> np.ndarray:
    """[S] probabilities of the tasks in one draw. Raises RedQueenError if no task can be drawn, and for a weight that
    is not finite."""
    own = np.array([history.task.weight for history in held])
    if not own.any():
        raise RedQueenError("no task can be drawn: the weights of all the tasks held are 0")
    wanted = np.maximum(weights(held, now), 0.0)
    if not np.isfinite(wanted).all():
        task = held[int(np.argmin(np.isfinite(wanted)))].task
        raise RedQueenError(f"the sampling policy gives task {task.id!r} a weight that is not a finite number")
    product = wanted * own
    return np.asarray(product / product.sum() if product.any() else own / own.sum())


# Weights


@dataclass(frozen=True)
class Uniform:
    """1 for every task."""

    def __call__(self, held: Sequence[TaskHistory], now: int) -> np.ndarray:
        return np.ones(len(held))


@dataclass(frozen=True)
class Recency:
    """2^(-age / half_life), the age counted in steps from the newest task held."""

    half_life: float

    def __post_init__(self) -> None:
        if not self.half_life > 0.0:
            raise RedQueenError(f"half_life must be a number of steps above 0, not {self.half_life}")

    def __call__(self, held: Sequence[TaskHistory], now: int) -> np.ndarray:
        added = np.array([history.added for history in held], dtype=np.float64)
        return np.asarray(np.exp2((added - added.max()) / self.half_life))


@dataclass(frozen=True)
class ByLearnability:
    """shape(scores of the latest attempts), or `untried` if these are too few: high, so that a task is tried soon.

    With `prior` = (a, b) the shape is given one number in place of the scores, the solve rate shrunk towards
    a / (a + b): (k + a) / (n + a + b), k of the latest n attempts solved. Under (1, 1) a task that failed twice in two
    attempts is at 1/4, and not yet taken to be unsolvable.
    """

    shape: Shape
    untried: float = 1.0
    prior: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.prior is not None and not min(self.prior) > 0.0:
            raise RedQueenError(f"both numbers of a prior must be above 0, not {self.prior}")

    def __call__(self, held: Sequence[TaskHistory], now: int) -> np.ndarray:
        evidence = [self._evidence(history) for history in held]
        # many tasks share their few scores: each set of scores is rated once
        rated = {scores: self._rated(scores) for scores in dict.fromkeys(evidence) if scores}
        return np.array([max(0.0, rated[scores]) if scores else self.untried for scores in evidence])

    def _rated(self, scores: tuple[float, ...]) -> float:
        if self.prior is not None and has(self.shape, RateShape):
            return self.shape.at(*scores)
        try:
            return self.shape(np.array(scores))
        except RedQueenError:
            if len(scores) > 1:
                raise
            return self.untried  # one result is too little for most shapes

    def _evidence(self, history: TaskHistory) -> tuple[float, ...]:
        if self.prior is None or not history.results:
            return history.results
        a, b = self.prior
        return ((history.solved_of_results + a) / (len(history.results) + a + b),)


@dataclass(frozen=True)
class ByCredit:
    """The latest mean |advantage| given to `TaskStore.credit`, or `unknown` if there is none."""

    unknown: float = 1.0

    def __call__(self, held: Sequence[TaskHistory], now: int) -> np.ndarray:
        return np.array([self.unknown if history.credit is None else history.credit for history in held])


@dataclass(frozen=True)
class ByStaleness:
    """Steps since the latest result of a task, or since it was added if it has none."""

    def __call__(self, held: Sequence[TaskHistory], now: int) -> np.ndarray:
        last = [history.added if history.last_seen is None else history.last_seen for history in held]
        return np.array([float(now - step) for step in last])


@dataclass(frozen=True)
class ByRank:
    """(1 / rank)^(1 / temperature), rank 1 for the highest weight; equals share their best rank."""

    weights: Weights
    temperature: float = 0.1

    def __post_init__(self) -> None:
        if not self.temperature > 0.0:
            raise RedQueenError(f"temperature must be above 0, not {self.temperature}")

    def __call__(self, held: Sequence[TaskHistory], now: int) -> np.ndarray:
        wanted = self.weights(held, now)
        ranks = 1 + len(wanted) - np.searchsorted(np.sort(wanted), wanted, side="right")  # 1 + how many are above it
        return np.asarray((1.0 / ranks) ** (1.0 / self.temperature))


@dataclass(frozen=True)
class Mixture:
    """The sum of the parts' probabilities, each times its share: with (0.9, by regret) and (0.1, uniform) every
    task can be drawn. A part whose weights are all 0 leaves its share to the others."""

    parts: tuple[tuple[float, Weights], ...]

    def __post_init__(self) -> None:
        if not self.parts or min(share for share, _ in self.parts) < 0.0 or not any(share for share, _ in self.parts):
            raise RedQueenError("a mixture needs parts whose shares are at least 0 and not all 0")

    def __call__(self, held: Sequence[TaskHistory], now: int) -> np.ndarray:
        mixed = np.zeros(len(held))
        for share, weights in self.parts:
            wanted = np.maximum(weights(held, now), 0.0)
            if wanted.any():
                mixed += share * wanted / wanted.sum()
        return mixed


# Regret: the distance of attempts from the best one


def best_minus_worst(scores: np.ndarray) -> float:
    """eva's info(x) (Ye et al., 2024, arXiv:2411.00062), the variant reported to work best."""
    return float(scores.max() - scores.min())


def best_minus_mean(scores: np.ndarray) -> float:
    """The regret of an average attempt against the best one seen."""
    return float(scores.max() - scores.mean())


def best_minus_second(scores: np.ndarray) -> float:
    """The gap between the two best attempts; 0 if there is only one."""
    ordered = np.sort(scores)
    return float(ordered[-1] - ordered[-2]) if len(ordered) > 1 else 0.0


def by_regret(gap: Shape = best_minus_worst, untried: float = 1.0) -> ByLearnability:
    """Weights in proportion to the regret of the latest attempts."""
    return ByLearnability(gap, untried)


def prioritized_level_replay(
    gap: Shape = best_minus_mean, temperature: float = 0.1, staleness: float = 0.1, untried: float = 1.0
) -> Mixture:
    """(1 - staleness) P_regret + staleness P_stale: P_regret by the rank of the regret, P_stale in proportion to
    the steps since a task was last played (Jiang et al., 2021, arXiv:2010.03934; beta and rho there)."""
    return Mixture(((1.0 - staleness, ByRank(by_regret(gap, untried), temperature)), (staleness, ByStaleness())))
