"""Strategies known in closed form, as players: what a learner can be measured against."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from redqueen.games.kuhn_poker import BET, CARDS, PASS, TO_MOVE, describe
from redqueen.players.scripted import Strategic
from redqueen.types import Ask, RedQueenError

Bets = dict[tuple[str, tuple[str, ...]], float]
"""The probability of betting with a card after a history; 0 where it is not listed."""


MOST_BLUFFS = 1.0 / 3.0  # the largest alpha


def kuhn_equilibrium(alpha: float = 0.0) -> Strategic:
    """An equilibrium of Kuhn poker for each alpha in [0, 1/3], the first seat's chance of bluffing
    with the jack (Kuhn, 1950). There are no others."""
    if not 0.0 <= alpha <= MOST_BLUFFS:
        raise RedQueenError(f"alpha must lie between 0 and 1/3, not at {alpha}")
    return _kuhn_player(_bets(alpha), f"kuhn_equilibrium({alpha:.3g})")


def kuhn_states() -> list[Ask]:
    """The states of Kuhn poker: the first seat's, then the second's, by what was played before and by the card."""
    return list(_strategy({}))


def kuhn_bets(alpha: float) -> dict[Ask, float]:
    """The probability of a bet (a call, where the other one has bet) in each state, in the equilibrium of `alpha`."""
    return {ask: float(chances[1]) for ask, chances in _strategy(_bets(alpha)).items()}


def nearest_alpha(bets: Mapping[Ask, float]) -> float:
    """The alpha of the equilibrium whose probabilities are nearest to these in the states of `bets`, by the sum of the
    squared differences: each probability of an equilibrium is linear in alpha."""
    least, most = kuhn_bets(0.0), kuhn_bets(MOST_BLUFFS)
    slopes = {ask: (most[ask] - least[ask]) / MOST_BLUFFS for ask in bets}
    steep = sum(slope**2 for slope in slopes.values())
    if not steep:
        return 0.0
    return float(np.clip(sum(slopes[ask] * (bets[ask] - least[ask]) for ask in bets) / steep, 0.0, MOST_BLUFFS))


def _bets(alpha: float) -> Bets:
    return {
        ("jack", ()): alpha,
        ("king", ()): 3.0 * alpha,
        ("queen", (PASS, BET)): alpha + 1.0 / 3.0,
        ("king", (PASS, BET)): 1.0,
        ("jack", (PASS,)): 1.0 / 3.0,
        ("king", (PASS,)): 1.0,
        ("queen", (BET,)): 1.0 / 3.0,
        ("king", (BET,)): 1.0,
    }


def honest_kuhn() -> Strategic:
    """Bets and calls with the king and never else: it never bluffs, and everyone knows it."""
    return _kuhn_player({("king", history): 1.0 for history in TO_MOVE}, "honest_kuhn")


def _kuhn_player(bets: Bets, name: str) -> Strategic:
    return Strategic(_strategy(bets), name)


def _strategy(bets: Bets) -> dict[Ask, np.ndarray]:
    strategy = {}
    for history, seat in TO_MOVE.items():
        for card in CARDS:
            bet = bets.get((card, history), 0.0)
            ask = Ask(seat, describe(seat, card, history), (PASS, BET))
            strategy[ask] = np.array([1.0 - bet, bet])
    return strategy
