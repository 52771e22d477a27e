"""How strong players are, from matches between them: ratings with intervals, and what a rating cannot say.

A rating orders players on a line. Where A beats B, B beats C and C beats A there is no line: alpha-rank and Nash
averaging weigh players by how they do against those who matter, and `cycles` names the circles.

The libraries come with the extra `league`: openskill for ratings, OpenSpiel and cvxpy for the two others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import permutations
from random import Random
from statistics import NormalDist
from typing import Any

import numpy as np

from redqueen.chance import derive
from redqueen.measures.intervals import Interval
from redqueen.types import RedQueenError

FEWEST_ORDERS, MOST_ORDERS = 4, 16  # a rating depends a little on the order of the matches: the mean over shuffles
UPDATES = 20_000  # of all orders together, some two seconds
LARGEST_EXPONENT = 700.0  # exp of more is no float


@dataclass(frozen=True)
class Result:
    """One match: who met whom, and what part of it the first one won: 1, a half for a draw, or 0."""

    first: str
    second: str
    won: float


@dataclass(frozen=True)
class Rating:
    """How strong a player is, on openskill's scale: 25 is the mean at the start, and the stronger of two players d
    points apart wins 1 / (1 + exp(-d / 5.9)) of their matches, 66 % at 4 points."""

    player: str
    strength: Interval
    matches: int


def ratings(results: Sequence[Result], seed: int, level: float = 0.95) -> list[Rating]:
    """The players from the strongest to the weakest (Plackett-Luce, Weng and Lin 2011, by openskill). The interval is
    that of the posterior; it tells how well a player is known, not whether a line fits. Raises RedQueenError for a
    result that is no share of a match."""
    models = _library("openskill.models", "openskill")
    if not all(0.0 <= result.won <= 1.0 and result.first != result.second for result in results):
        raise RedQueenError("a result is the share of a match, from 0 to 1, that one player won from another")
    model = models.PlackettLuce(tau=0.0)  # nobody gets stronger between the matches
    names = sorted({name for result in results for name in (result.first, result.second)})
    count = min(MOST_ORDERS, max(FEWEST_ORDERS, UPDATES // max(len(results), 1)))
    found = np.zeros((count, len(names), 2))
    for number in range(count):
        order = sorted(results, key=lambda each: (each.first, each.second, each.won))
        Random(derive(seed, "order", number)).shuffle(order)
        known = {name: model.rating() for name in names}
        for each in order:
            pair = [[known[each.first]], [known[each.second]]]
            ((known[each.first],), (known[each.second],)) = model.rate(pair, scores=[each.won, 1.0 - each.won])
        found[number] = [(known[name].mu, known[name].sigma) for name in names]
    wide = NormalDist().inv_cdf(0.5 + level / 2.0)
    rated = []
    for name, (mu, sigma) in zip(names, found.mean(axis=0).tolist(), strict=True):
        met = sum(name in (result.first, result.second) for result in results)
        rated.append(Rating(name, Interval(mu, mu - wide * sigma, mu + wide * sigma), met))
    return sorted(rated, key=lambda rating: -rating.strength.mean)


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
    return np.asarray(shares, dtype=np.float64)


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
