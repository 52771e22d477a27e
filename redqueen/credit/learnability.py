"""Learnability of a task, from the scores of the attempts at it: the difficulty term of a proposer's reward.

A shape is called with the scores of the G attempts at one task, [G], and returns the reward of the task.

| system                           | shape                                              | best solve rate, G        |
|----------------------------------|----------------------------------------------------|---------------------------|
| Absolute Zero, eq. 4             | `HardButSolved()`                                  | .26, 8                    |
| Absolute Zero as trained         | `HardButSolved(at_the_ends=-0.5)`                  | .30, 8                    |
| SSR                              | `bug_injection(alpha=0.8)`                         | .26, 8                    |
| SSP; "inverse" of Absolute Zero  | `FailureShare(pay_unsolved=True)`                  | 0                         |
| MAE, over a judge's scores       | `FailureShare(pay_unsolved=True)`                  | 0                         |
| SSP, "intermediate"              | `Parabola()`                                       | .5, 5                     |
| R-Zero and Agent0, papers        | `Tent()`                                           | .5, 10                    |
| R-Zero, Agent0, released code    | `Tent(height=0.5)`, which is min(p, 1 - p)         | .5, 10                    |
| SPELL                            | `Bell()`                                           | .5, 8                     |
| PasoDoble, without its diversity | `HardAboveFloor()`                                 | .48, 6                    |
| SvS                              | `Band(1 / 8, 5 / 8)`                               | .35, 8                    |
| STP                              | `Band(0.0, 1 / 4)`                                 | .18, 8                    |
| SQLM                             | `Band(0.0, 1.0)`                                   | .5, 8                     |
| SPICE                            | `VarianceBell(pay_unsolved=True)`                  | .5, 8                     |
| DreamGym, ExIt                   | `ReturnVariance()`                                 | .5, 8                     |
| eva                              | `BestMinusBase()`                                  | any scale                 |
| SEC                              | `MeanAbsoluteAdvantage()`                          | .5, 8                     |

**A task that nobody solves pays nothing.** Where a formula would pay it (`FailureShare`, `VarianceBell`) it does
so only with `pay_unsolved=True`; the other shapes have no such case. If it does, the best task is an
impossible one, and another term of the proposer's reward has to keep impossible tasks away.

The score of an attempt that could not be scored (a verifier that broke, a reply that was cut off where that is said to
be unknown) is NaN. It is left out, not counted as a failure. With fewer than two scores left the result is NaN too;
such a task belongs in no batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb, exp, isnan, nan
from typing import Protocol

import numpy as np

from redqueen.types import RedQueenError

GRID = 10_000  # steps between solve rates 0 and 1 in the search for the best one


class Shape(Protocol):
    def __call__(self, scores: np.ndarray) -> float:
        """The reward of a task from the `scores` of the attempts at it, [G], NaN where unscored."""
        ...


class RateShape(Shape, Protocol):
    """A shape that depends on the mean score only."""

    def at(self, rate: float) -> float:
        """The reward at a solve rate in [0, 1]."""
        ...


# --- scores ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SolveRate:
    """The mean score of the attempts at one task, and the number of attempts with and without a score."""

    mean: float  # in [0, 1]; NaN with fewer than two scores
    scored: int
    unscored: int


def solve_rate(scores: np.ndarray) -> SolveRate:
    """The solve rate of a task from [G] scores, 0 to 1, NaN where an attempt could not be scored.

    Raises RedQueenError for fewer than two attempts and for scores outside [0, 1].
    """
    kept = known(scores)
    if len(kept) and (kept.min() < 0.0 or kept.max() > 1.0):
        raise RedQueenError(
            f"a solve rate needs scores between 0 and 1, not {kept.min():g} to {kept.max():g}: give the share of "
            "successes, not the solver's reward"
        )
    mean = float(kept.mean()) if len(kept) > 1 else nan
    return SolveRate(mean, len(kept), np.size(scores) - len(kept))


def known(scores: np.ndarray) -> np.ndarray:
    """The scores that are not NaN, in their order. Raises RedQueenError for fewer than two attempts."""
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or len(values) < 2:
        raise RedQueenError(
            f"learnability needs at least 2 attempts at a task, [G], not scores of shape {values.shape}"
        )
    if np.isinf(values).any():
        raise RedQueenError("the score of an attempt must be finite, or NaN where it could not be scored")
    return np.asarray(values[~np.isnan(values)])


def _paid(shape: RateShape, scores: np.ndarray) -> float:
    rate = solve_rate(scores).mean
    return nan if isnan(rate) else shape.at(rate)


# --- shapes of the solve rate ----------------------------------------------------------------


@dataclass(frozen=True)
class HardButSolved:
    """1 - slope * p for 0 < p < 1, and `at_the_ends` (0 or less) at p = 0 and p = 1.

    Absolute Zero (2505.03335): eq. 4 has 0 at the ends. The released code gives -0.5 there, to every valid
    proposal whose reward is not above zero.
    """

    at_the_ends: float = 0.0
    slope: float = 1.0

    def __post_init__(self) -> None:
        _refuse_paid_ends(self.at_the_ends)

    def at(self, rate: float) -> float:
        return 1.0 - self.slope * rate if 0.0 < rate < 1.0 else self.at_the_ends

    def __call__(self, scores: np.ndarray) -> float:
        return _paid(self, scores)


def bug_injection(alpha: float = 0.8) -> HardButSolved:
    """1 - (1 + alpha) p for 0 < p < 1, and -alpha at p = 0 and p = 1 (SSR, 2512.18552)."""
    return HardButSolved(at_the_ends=-alpha, slope=1.0 + alpha)


@dataclass(frozen=True)
class FailureShare:
    """1 - p, the share of attempts that failed; 0 at p = 0 unless `pay_unsolved`.

    SSP (2510.18821), and MAE (2510.23595) over a judge's scores of the attempts, both with
    `pay_unsolved`: there a check of validity has to keep impossible tasks away.
    """

    pay_unsolved: bool = False  # 1 at p = 0: the best task is then one that nobody can solve

    def at(self, rate: float) -> float:
        return 1.0 - rate if rate > 0.0 or self.pay_unsolved else 0.0

    def __call__(self, scores: np.ndarray) -> float:
        return _paid(self, scores)


@dataclass(frozen=True)
class Tent:
    """height * (1 - 2 |p - 1/2|). R-Zero (2508.05004) and Agent0 (2511.16043): height 1 in the papers, 1/2 in the
    released code, where a repetition penalty therefore weighs twice as much."""

    height: float = 1.0

    def at(self, rate: float) -> float:
        return self.height * (1.0 - 2.0 * abs(rate - 0.5))

    def __call__(self, scores: np.ndarray) -> float:
        return _paid(self, scores)


@dataclass(frozen=True)
class Parabola:
    """height * 4 p (1 - p): an option of SSP."""

    height: float = 1.0

    def at(self, rate: float) -> float:
        return self.height * 4.0 * rate * (1.0 - rate)

    def __call__(self, scores: np.ndarray) -> float:
        return _paid(self, scores)


@dataclass(frozen=True)
class Bell:
    """exp(-(p - middle)^2 / (2 width^2)) for 0 < p < 1, `at_the_ends` at p = 0 and p = 1 (SPELL, 2509.23863)."""

    middle: float = 0.5
    width: float = 1 / 6
    at_the_ends: float = 0.0

    def __post_init__(self) -> None:
        _refuse_paid_ends(self.at_the_ends)
        if self.width <= 0.0:
            raise RedQueenError(f"the width of a bell must be above 0, not {self.width:g}")

    def at(self, rate: float) -> float:
        inside = exp(-((rate - self.middle) ** 2) / (2.0 * self.width**2))
        return inside if 0.0 < rate < 1.0 else self.at_the_ends

    def __call__(self, scores: np.ndarray) -> float:
        return _paid(self, scores)


@dataclass(frozen=True)
class HardAboveFloor:
    """top - p where p > floor, else 0 (PasoDoble, 2511.11881, which adds 0.2 * diversity above the floor).

    The floor replaces a check of the proposer's answer: if that is wrong, few attempts agree with it.
    A task that every attempt solves still pays top - 1.
    """

    top: float = 1.1
    floor: float = 0.2

    def __post_init__(self) -> None:
        if not 0.0 <= self.floor < 1.0:
            raise RedQueenError(f"the floor of a solve rate must be at least 0 and below 1, not {self.floor:g}")

    def at(self, rate: float) -> float:
        return self.top - rate if rate > self.floor else 0.0

    def __call__(self, scores: np.ndarray) -> float:
        return _paid(self, scores)


@dataclass(frozen=True)
class Band:
    """`inside` if lowest <= p <= highest, `outside` elsewhere, and `at_the_ends` at p = 0 and p = 1 even if the
    band reaches them.

    SvS (2508.14029): 1/8 to 5/8. STP (2502.00212): up to 1/4. SQLM (2508.03682): 0 < p < 1.
    A negative `at_the_ends` drives a proposer away from tasks without a gradient.
    """

    lowest: float
    highest: float
    inside: float = 1.0
    outside: float = 0.0
    at_the_ends: float = 0.0

    def __post_init__(self) -> None:
        _refuse_paid_ends(self.at_the_ends)
        if not 0.0 <= self.lowest <= self.highest <= 1.0:
            raise RedQueenError(
                f"a band of solve rates needs 0 <= lowest <= highest <= 1, not {self.lowest:g} to {self.highest:g}"
            )

    def at(self, rate: float) -> float:
        if not 0.0 < rate < 1.0:
            return self.at_the_ends
        return self.inside if self.lowest <= rate <= self.highest else self.outside

    def __call__(self, scores: np.ndarray) -> float:
        return _paid(self, scores)


def _refuse_paid_ends(at_the_ends: float) -> None:
    if not at_the_ends <= 0.0:
        raise RedQueenError(
            f"at_the_ends must be 0 or less, not {at_the_ends:g}: a task that nobody solves must not be paid"
        )


@dataclass(frozen=True)
class Shrunk:
    """Another shape, at the posterior mean of a Beta(solved, failed) prior after n scores that sum to k:

        p = (k + solved) / (n + solved + failed)

    If all or none of the attempts solved the task, p stays at 1 or 0, since a shape's ends are about observed scores.
    """

    inner: RateShape
    solved: float = 1.0  # imagined successes
    failed: float = 1.0  # imagined failures

    def __post_init__(self) -> None:
        if min(self.solved, self.failed) < 0.0 or self.solved + self.failed <= 0.0:
            raise RedQueenError(
                f"a prior needs counts of at least 0 and one above 0, not {self.solved:g} and {self.failed:g}"
            )

    def __call__(self, scores: np.ndarray) -> float:
        found = solve_rate(scores)
        if isnan(found.mean):
            return nan
        if found.mean in (0.0, 1.0):
            return self.inner.at(found.mean)
        total = found.mean * found.scored + self.solved
        return self.inner.at(total / (found.scored + self.solved + self.failed))


# --- shapes of the spread --------------------------------------------------------------------


@dataclass(frozen=True)
class VarianceBell:
    """exp(-(variance - middle)^2 / scale) of scores in [0, 1], population variance (SPICE, 2510.24684).

    1/4 is the variance of a fair coin. Scores that are all equal pay 0.04, or 0 if they are all zero.
    """

    middle: float = 0.25
    scale: float = 0.02
    pay_unsolved: bool = False  # 0.04 if all failed, as for any other scores that are all equal

    def __call__(self, scores: np.ndarray) -> float:
        rate = solve_rate(scores).mean
        if isnan(rate):
            return nan
        if rate == 0.0 and not self.pay_unsolved:
            return 0.0
        return exp(-((float(known(scores).var()) - self.middle) ** 2) / self.scale)


@dataclass(frozen=True)
class ReturnVariance:
    """The population variance of the scores, of any scale (ExIt, 2509.04575; DreamGym, 2511.03773)."""

    def __call__(self, scores: np.ndarray) -> float:
        kept = known(scores)
        return float(kept.var()) if len(kept) > 1 else nan


def worst(scores: np.ndarray) -> float:
    return float(scores.min())


def average(scores: np.ndarray) -> float:
    return float(scores.mean())


@dataclass(frozen=True)
class BestMinusBase:
    """The best score minus a base: the worst score, or the average (eva, 2411.00062, where the worst does best).

    The scores are rewards of any scale, and the result has that scale. A gap among failures pays like any other:
    a reward model does not say what is solved.
    """

    base: Callable[[np.ndarray], float] = worst  # [at least 2] scores -> what the best is compared with

    def __call__(self, scores: np.ndarray) -> float:
        kept = known(scores)
        return float(kept.max()) - self.base(kept) if len(kept) > 1 else nan


@dataclass(frozen=True)
class MeanAbsoluteAdvantage:
    """The mean of |A| under GRPO, A = (score - mean) / (deviation + epsilon), unbiased deviation (SEC, 2505.14970).

    It is free of scale: a tiny spread pays as much as a large one. Scores that are all equal pay 0.
    """

    epsilon: float = 1e-6

    def __call__(self, scores: np.ndarray) -> float:
        kept = known(scores)
        if len(kept) < 2:
            return nan
        if kept.min() == kept.max():
            return 0.0
        return float(np.abs(kept - kept.mean()).mean() / (kept.std(ddof=1) + self.epsilon))


# --- what a shape asks for -------------------------------------------------------------------


def expected(shape: Shape, rate: float, attempts: int) -> float:
    """The exact mean reward of a task of true solve rate `rate`: k of the `attempts` succeed, k ~ Binomial."""
    return float(_chances(np.array([rate]), attempts)[0] @ _outcomes(shape, attempts))


def noise(shape: Shape, rate: float, attempts: int) -> float:
    """The exact standard deviation of the reward of a task of true solve rate `rate`."""
    chances, outcomes = _chances(np.array([rate]), attempts)[0], _outcomes(shape, attempts)
    return float(np.sqrt(max(0.0, chances @ (outcomes - chances @ outcomes) ** 2)))


def target(shape: Shape, attempts: int) -> float:
    """The true solve rate with the highest mean reward, to 1 / GRID; the lowest of equals."""
    rates = np.linspace(0.0, 1.0, GRID + 1)
    values = _chances(rates, attempts) @ _outcomes(shape, attempts)
    return float(rates[np.flatnonzero(values >= values.max() - 1e-12)[0]])


def even_share(rate: float, attempts: int) -> float:
    """The probability that all attempts have one result, so that all advantages are zero: p^G + (1 - p)^G."""
    return float(_chances(np.array([rate]), attempts)[0, [0, -1]].sum())


def _outcomes(shape: Shape, attempts: int) -> np.ndarray:
    """[G + 1] the rewards if k = 0 .. G attempts succeed."""
    if attempts < 2:
        raise RedQueenError(f"learnability needs at least 2 attempts at a task, not {attempts}")
    return np.array([shape(np.repeat([1.0, 0.0], [k, attempts - k])) for k in range(attempts + 1)])


def _chances(rates: np.ndarray, attempts: int) -> np.ndarray:
    """[P, G + 1] the binomial probabilities of k = 0 .. G successes at [P] true solve rates."""
    if not ((rates >= 0.0) & (rates <= 1.0)).all():
        raise RedQueenError(f"a true solve rate lies between 0 and 1, not at {rates.min():g}")
    k = np.arange(attempts + 1)
    ways = np.array([float(comb(attempts, successes)) for successes in k])
    rates = rates[:, None]
    return np.asarray(ways * rates**k * (1.0 - rates) ** (attempts - k))
