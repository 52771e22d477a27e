"""Strategies known in closed form, as players: what a learner can be measured against."""

from __future__ import annotations

import numpy as np

from redqueen.games.kuhn_poker import BET, CARDS, PASS, TO_MOVE, describe
from redqueen.players.scripted import Strategic
from redqueen.types import Ask, RedQueenError

Bets = dict[tuple[str, tuple[str, ...]], float]
"""The probability of betting with a card after a history; 0 where it is not listed."""


def kuhn_equilibrium(alpha: float = 0.0) -> Strategic:
    """An equilibrium of Kuhn poker for each alpha in [0, 1/3], the first seat's chance of bluffing
    with the jack (Kuhn, 1950). There are no others."""
    if not 0.0 <= alpha <= 1.0 / 3.0:
        raise RedQueenError(f"alpha must lie between 0 and 1/3, not at {alpha}")
    bets: Bets = {
        ("jack", ()): alpha,
        ("king", ()): 3.0 * alpha,
        ("queen", (PASS, BET)): alpha + 1.0 / 3.0,
        ("king", (PASS, BET)): 1.0,
        ("jack", (PASS,)): 1.0 / 3.0,
        ("king", (PASS,)): 1.0,
        ("queen", (BET,)): 1.0 / 3.0,
        ("king", (BET,)): 1.0,
    }
    return _kuhn_player(bets, f"kuhn_equilibrium({alpha:.3g})")


def honest_kuhn() -> Strategic:
    """Bets and calls with the king and never else: it never bluffs, and everyone knows it."""
    return _kuhn_player({("king", history): 1.0 for history in TO_MOVE}, "honest_kuhn")


def _kuhn_player(bets: Bets, name: str) -> Strategic:
    strategy = {}
    for history, seat in TO_MOVE.items():
        for card in CARDS:
            bet = bets.get((card, history), 0.0)
            ask = Ask(seat, describe(seat, card, history), (PASS, BET))
            strategy[ask] = np.array([1.0 - bet, bet])
    return Strategic(strategy, name)
