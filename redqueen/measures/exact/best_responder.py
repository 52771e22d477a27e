"""A player that knows another one by heart and answers it as well as can be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from redqueen.measures.exact.exploitability import GameTree
from redqueen.players.scripted import Strategic
from redqueen.protocols import OpenPlayer
from redqueen.types import Ask, RedQueenError, Seat


def best_responder(tree: GameTree, player: OpenPlayer, seats: Sequence[Seat] | None = None) -> Strategic:
    """A player of a pure best response in each of `seats` (all by default) to the player holding every other seat, as
    the player is now. Ties go to the first choice.

    Asked in another seat it raises RedQueenError. Raises RedQueenError for a seat that the game does not
    have, and for a player whose probabilities cannot be read.
    """
    strategy = tree.strategy(player)
    answers: dict[Ask, np.ndarray] = {}
    for seat in tree.seats if seats is None else seats:
        if seat not in tree.seats:
            raise RedQueenError(
                f"{tree.game.name} has no seat {seat}: its seats are {', '.join(str(each) for each in tree.seats)}"
            )
        answers |= tree.best_response(strategy, seat)[1]
    return Strategic(answers, f"best_responder({player.name})")
