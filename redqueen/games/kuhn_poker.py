"""Kuhn poker (Kuhn, 1950): three cards, one bet; a minimal game whose equilibrium bluffs.

Each player antes one chip and is dealt one card of jack, queen, king. In turn they pass or bet one
chip; a bet may be passed (folded) or matched (bet). 12 information states, 6 deals, value of the
first seat at equilibrium -1/18.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from random import Random

from redqueen.games.talk import ask, forfeit, told
from redqueen.protocols import Play
from redqueen.types import Message, Outcome, Seat, Task

FIRST, SECOND = Seat("first"), Seat("second")
CARDS = ("jack", "queen", "king")  # from low to high
PASS, BET = "pass", "bet"
TO_MOVE = {(): FIRST, (PASS,): SECOND, (BET,): SECOND, (PASS, BET): FIRST}

RULES = (
    "You are playing Kuhn poker against one opponent. The deck has three cards: jack, queen and king; "
    "king beats queen and queen beats jack. Each player puts one chip into the pot and is dealt one card. "
    "The first player passes or bets one more chip, then the second player does. "
    "After a bet, the other player may pass, which gives up the pot, or bet, which matches the bet. "
    "If nobody gave up, the higher card wins the pot."
)


@dataclass(frozen=True)
class KuhnPoker:
    retries: int = 0  # second chances after an illegal reply, before it is a forfeit
    name: str = "kuhn_poker"
    roles: tuple[str, ...] = ("first", "second")
    zero_sum: bool = True
    perfect_information: bool = False

    def tasks(self) -> list[Task]:
        """The six deals, equally likely."""
        return [Task(f"{a}-{b}", "deal", facts={"cards": (a, b)}) for a, b in permutations(CARDS, 2)]

    def play(self, task: Task, rng: Random) -> Play:
        cards = dict(zip((FIRST, SECOND), task.facts["cards"], strict=True))
        history: tuple[str, ...] = ()
        while history in TO_MOVE:
            seat = TO_MOVE[history]
            text = yield from ask(seat, describe(seat, cards[seat], history), (PASS, BET), self.retries)
            if text not in (PASS, BET):
                return forfeit(seat, (FIRST, SECOND), stake=2.0, text=text)
            history += (text,)
        won = payoff(history, CARDS.index(cards[FIRST]) > CARDS.index(cards[SECOND]))
        return Outcome({FIRST: won, SECOND: -won}, {"history": history, "cards": task.facts["cards"]})


def describe(seat: Seat, card: str, history: tuple[str, ...]) -> tuple[Message, ...]:
    """The messages with the rules and what the seat sees; nothing about how to play well."""
    so_far = " ".join(
        f"The {role} player {'passed' if move == PASS else 'bet'}."
        for role, move in zip(("first", "second"), history, strict=False)
    )
    return told(
        f"{RULES}\n\nYou are the {seat.role} player. Your card is the {card}. "
        f"{so_far or 'Nobody has moved yet.'} Your move: pass or bet?"
    )


def payoff(history: tuple[str, ...], first_is_higher: bool) -> float:
    """Chips won by the first seat."""
    if history in ((BET, PASS), (PASS, BET, PASS)):
        return 1.0 if history[0] == BET else -1.0
    stake = 2.0 if BET in history else 1.0
    return stake if first_is_higher else -stake
