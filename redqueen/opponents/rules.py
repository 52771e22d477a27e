"""Weightings of opponents by the learner's win rate p, and rules for which past self a full pool drops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Weighting = Callable[[float], float]
"""How much a player is wanted as an opponent, given the learner's win rate against it, in [0, 1]."""

Forgetting = Callable[[np.ndarray], int]
"""Which past self leaves a full pool: a row of the win rates [P, Q] of the P past selves, oldest first, against Q
players, the first of whom is the learner."""


def hard(power: float = 2.0) -> Weighting:
    """(1 - p)^power: prefers opponents that the learner loses to."""
    return lambda win_rate: (1.0 - win_rate) ** power


def even(power: float = 1.0) -> Weighting:
    """(p (1 - p))^power: prefers opponents about as strong as the learner."""
    return lambda win_rate: (win_rate * (1.0 - win_rate)) ** power


def alike() -> Weighting:
    """1 for every opponent: uniform."""
    return lambda win_rate: 1.0


def oldest(win_rates: np.ndarray) -> int:
    """Index of the oldest past self."""
    return 0


def most_beaten(win_rates: np.ndarray) -> int:
    """Index of the past self that the learner beats most often; the oldest on ties."""
    return int(np.argmin(win_rates[:, 0]))


def least_informative(win_rates: np.ndarray) -> int:
    """Index of the older of the two past selves whose win rates against all are most alike, so that either is enough;
    the oldest pair on ties."""
    if len(win_rates) < 2:
        return 0
    apart = np.abs(win_rates[:, None] - win_rates[None]).mean(axis=2)
    pairs = [(apart[one, other], one) for one in range(len(apart)) for other in range(one + 1, len(apart))]
    return min(pairs)[1]
