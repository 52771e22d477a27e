"""How strong players are, from matches between them: ratings with intervals, and what a rating cannot say.

A rating orders players on a line. Where A beats B, B beats C and C beats A there is no line: alpha-rank and Nash
averaging weigh players by how they do against those who matter, and `cycles` names the circles.

Alpha-rank and Nash averaging need OpenSpiel and cvxpy, which come with the extra `league`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import permutations
from math import inf, log, sqrt
from random import Random
from statistics import NormalDist
from typing import Any

import numpy as np

from redqueen.chance import derive
from redqueen.measures.intervals import Interval, student_quantile
from redqueen.opponents.payoffs import bradley_terry
from redqueen.types import RedQueenError

RESAMPLES = 400  # of the deals
FEWEST_DEALS = 6  # below it resampling says nothing
ELO = 400.0 / log(10.0)  # points of a logit
LARGEST_EXPONENT = 700.0  # exp of more is no float
NOBODY_KNOWS = (-inf, inf)


@dataclass(frozen=True)
class Rating:
    """How strong a player is, in points of Elo, the mean of all players at 0: the stronger of two players d points
    apart wins 1 / (1 + 10^(-d / 400)) of their matches, 64 % at 100 points."""

    player: str
    strength: Interval
    matches: int


def ratings(names: Sequence[str], won: np.ndarray, seed: int, level: float = 0.95) -> list[Rating]:
    """The players from the strongest to the weakest, from [D, P, P] the share of the two matches of each deal that each
    of `names` won against each other one, a draw a half, and one half against itself.

    Strengths are those of highest likelihood (Bradley and Terry, 1952) for the matches and one draw added to each pair,
    without which whoever wins always has none. Intervals are of a Bayesian bootstrap (Rubin, 1981): deals and the added
    draw get random weights, since all pairs met the same deals; bounds are widened as Student's t is over the normal.
    They are infinite for fewer than six deals. Raises RedQueenError for results that are no shares of a match."""
    deals, count = won.shape[:2]
    if not ((won >= 0.0) & (won <= 1.0)).all() or not np.allclose(won + won.transpose(0, 2, 1), 1.0):
        raise RedQueenError("what one player won of a match, from 0 to 1, the other lost")
    apart = 1.0 - np.eye(count)
    weights = np.concatenate(
        [np.ones((1, deals + 1)), _weights(deals + 1, seed)]
    )  # of the deals, last of the added draw
    played = (2.0 * weights[:, :-1].sum(axis=1) + weights[:, -1])[:, None, None] * apart
    wins = (2.0 * np.tensordot(weights[:, :-1], won, 1) + 0.5 * weights[:, -1, None, None]) * apart
    found = ELO * bradley_terry(wins.sum(axis=2), played)  # [1 + RESAMPLES, P]
    bounds = _bounds(found[1:], found[0], deals, level)
    rated = [
        Rating(name, Interval(*map(float, (mean, low, high))), 2 * deals * (count - 1))
        for name, mean, (low, high) in zip(names, found[0], bounds, strict=True)
    ]
    return sorted(rated, key=lambda rating: -rating.strength.mean)


def evolved(scores: np.ndarray, seed: int, level: float = 0.95) -> list[Interval]:
    """The share that alpha-rank gives each player for the mean scores, [P] intervals from [D, P, P] the scores of each
    deal. They are those of mean scores drawn around these as widely as Student's t, all pairs on the same deals: an
    edge of a thousandth gives all to one player, and an interval from 0 to 1. They are infinite for fewer than six
    deals."""
    means = alpha_rank(scores.mean(axis=0))
    if len(scores) < FEWEST_DEALS:
        return [Interval(float(mean), *NOBODY_KNOWS) for mean in means]
    shares = np.array([alpha_rank(each) for each in _believed(scores, seed)])
    low, high = np.quantile(shares, [0.5 - level / 2.0, 0.5 + level / 2.0], axis=0)
    return [
        Interval(float(m), float(min(lo, m)), float(max(hi, m))) for m, lo, hi in zip(means, low, high, strict=True)
    ]


def _believed(scores: np.ndarray, seed: int) -> np.ndarray:
    """[RESAMPLES, P, P] mean scores as [D, P, P] deals let one believe: the mean, and the distances of deals from it
    times normal numbers, over the root of a chi-squared one, so that each score has the distribution of Student's t. A
    bootstrap of one win and nine draws would never lose."""
    rng, count = np.random.Generator(np.random.PCG64(derive(seed, "believed"))), len(scores)
    mean = scores.mean(axis=0)
    turned = rng.standard_normal((RESAMPLES, count)) / np.sqrt(count * rng.chisquare(count - 1, (RESAMPLES, 1)))
    return np.asarray(mean + np.tensordot(turned, scores - mean, 1))


def _weights(count: int, seed: int) -> np.ndarray:
    """[RESAMPLES, count] weights of a Bayesian bootstrap, mean one."""
    rng = Random(derive(seed, "resamples"))
    return np.array([[rng.expovariate(1.0) for _ in range(count)] for _ in range(RESAMPLES)])


def _bounds(found: np.ndarray, means: np.ndarray, deals: int, level: float) -> list[tuple[float, float]]:
    """[P] the bounds around `means` [P] of what was `found` [RESAMPLES, P], widened for few deals."""
    if deals < FEWEST_DEALS:
        return [NOBODY_KNOWS] * len(means)
    above = (1.0 + level) / 2.0
    wider = student_quantile(above, deals - 1) / NormalDist().inv_cdf(above) * sqrt((deals + 1) / (deals - 1))
    low, high = (means + wider * (each - means) for each in np.quantile(found, [1.0 - above, above], axis=0))
    return list(zip(low.tolist(), high.tolist(), strict=True))


def alpha_rank(scores: np.ndarray, strength: float = 100.0) -> np.ndarray:
    """[P] how much time evolution spends at each player (Omidshafiei et al. 2019, by OpenSpiel), summing to one, from
    [P, P] the mean score of each against each other one. `strength` is the selection intensity alpha, less where scores
    are so far apart that its powers would not be numbers."""
    alpharank = _library("open_spiel.python.egt.alpharank", "open-spiel")
    if len(scores) == 1:
        return np.ones(1)
    matrix = _checked(scores)
    held = min(strength, LARGEST_EXPONENT / max(float(np.ptp(matrix)), 1e-9))
    with np.errstate(over="ignore"):  # exp of a large loss stands for a chance of nothing
        _, _, shares, *_ = alpharank.compute([matrix], alpha=held)
    # solved for, so that 0 may come out as -1e-17, or as -0
    return np.clip(np.asarray(shares, dtype=np.float64), 0.0, 1.0) + 0.0


def nash_average(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[P] the mixture of players of highest entropy among those that nobody beats, and [P] each player's mean score
    against that mixture, 0 for those in it (Balduzzi et al. 2018, by OpenSpiel), from [P, P] scores that are
    antisymmetric: what one wins the other loses."""
    averaging = _library("open_spiel.python.algorithms.nash_averaging", "open-spiel")
    matrix = _checked(scores)
    if not np.allclose(matrix, -matrix.T):
        raise RedQueenError("Nash averaging needs a zero-sum game: what one player wins the other loses")
    matrix = (matrix - matrix.T) / 2.0
    pyspiel = _library("pyspiel", "open-spiel")
    mixture, skills = averaging.nash_averaging(pyspiel.create_matrix_game(matrix, -matrix))
    return np.asarray(mixture, dtype=np.float64).reshape(-1), np.asarray(skills, dtype=np.float64).reshape(-1)


def cycles(names: Sequence[str], beats: np.ndarray) -> list[tuple[str, str, str]]:
    """The circles of three, A beats B beats C beats A, each from its first name on; `beats` is [P, P] bool. Where
    players who all beat one another or are beaten go round in a longer circle, there is one of three."""
    found = []
    for a, b, c in permutations(range(len(names)), 3):
        if a == min(a, b, c) and beats[a, b] and beats[b, c] and beats[c, a]:
            found.append((names[a], names[b], names[c]))
    return found


def _checked(scores: np.ndarray) -> np.ndarray:
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all() or not len(matrix):
        raise RedQueenError(f"the scores of players are a square of finite numbers, not {scores!s:.40}")
    return matrix


def _library(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise RedQueenError(f"this needs {package}: pip install 'redqueen[league]' ({error.name} is missing)") from None
