"""Which opponents are wanted, and which one leaves when there is no room."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Weighting = Callable[[float], float]
"""How much a player is wanted as an opponent, given the learner's win rate against it, in [0, 1]."""

Forgetting = Callable[[np.ndarray], int]
"""Which past self leaves a full pool: a row of the win rates [P, Q] of the P past selves, oldest first, against Q
players, the first of whom is the learner."""


def hard(power: float = 2.0) -> Weighting:
    """(1 - p)^power: those the learner loses to."""
    return lambda win_rate: (1.0 - win_rate) ** power


def even(power: float = 1.0) -> Weighting:
    """(p (1 - p))^power: those about as strong as the learner."""
    return lambda win_rate: (win_rate * (1.0 - win_rate)) ** power


def alike() -> Weighting:
    """1: all equally."""
    return lambda win_rate: 1.0


def oldest(win_rates: np.ndarray) -> int:
    """The self that has been there longest."""
    return 0


def most_beaten(win_rates: np.ndarray) -> int:
    """The self that the learner beats most often; of equals the oldest."""
    return int(np.argmin(win_rates[:, 0]))


def least_informative(win_rates: np.ndarray) -> int:
    """The older of the two selves that fare most alike against everyone: what meeting the one would tell, the other
    tells too. Of equal pairs the oldest."""
    if len(win_rates) < 2:
        return 0
    apart = np.abs(win_rates[:, None] - win_rates[None]).mean(axis=2)
    pairs = [(apart[one, other], one) for one in range(len(apart)) for other in range(one + 1, len(apart))]
    return min(pairs)[1]
