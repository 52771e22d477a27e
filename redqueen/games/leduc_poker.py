"""Leduc poker (Southey et al., 2005): six cards, two rounds of betting, one public card.

Each player antes one chip. Raises are of 2 chips in the first round and 4 in the second, at most two
in a round, so a hand costs at most 13 chips. Suits do not matter, so a deal is a triple of ranks:
24 deals with weights, 288 information states, value of the first seat at equilibrium -0.0856.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from random import Random

from redqueen.games.talk import ask, forfeit, told
from redqueen.protocols import Play
from redqueen.types import Message, Outcome, Seat, Task

SEATS = FIRST, SECOND = Seat("first"), Seat("second")
CARDS = ("jack", "queen", "king")  # from low to high, two of each
FOLD, CHECK, CALL, RAISE = "fold", "check", "call", "raise"
PAST = {FOLD: "folded", CHECK: "checked", CALL: "called", RAISE: "raised"}
RAISES = (2, 4)  # chips added by a raise in each round
STAKE = 13.0  # the most a hand can cost: the ante and two raises in each round

RULES = (
    "You are playing Leduc poker against one opponent. The deck has six cards: two jacks, two queens and two kings; "
    "king beats queen and queen beats jack. Each player puts one chip into the pot and is dealt one private card. "
    "There are two rounds of betting. After the first round one public card is turned up. "
    "In each round the first player moves first. When both have put in the same, a player may check or raise. "
    "A raise matches what the other player has put in and adds 2 more chips in the first round, 4 more in the second. "
    "After a raise, the other player may fold, which gives up the pot, call, which matches the raise, or raise again; "
    "there are at most two raises in a round. A round ends with a call or when both have checked. "
    "If nobody folded, a player whose card has the rank of the public card wins the pot; "
    "otherwise the higher card wins, and equal cards share the pot."
)


@dataclass(frozen=True)
class LeducPoker:
    retries: int = 0  # second chances after an illegal reply, before it is a forfeit
    name: str = field(default="leduc_poker", init=False)
    roles: tuple[str, ...] = field(default=("first", "second"), init=False)
    zero_sum: bool = field(default=True, init=False)
    perfect_information: bool = field(default=False, init=False)

    def tasks(self) -> list[Task]:
        """The 24 deals of ranks, each weighted by the number of deals of suits behind it (120 in all)."""
        deals = []
        for first, second, public in product(CARDS, repeat=3):
            ways = 2 * (2 - (second == first)) * (2 - (public == first) - (public == second))
            if ways:
                facts = {"cards": (first, second), "public": public}
                deals.append(Task(f"{first}-{second}-{public}", "deal", facts=facts, weight=float(ways)))
        return deals

    def play(self, task: Task, rng: Random) -> Play:
        cards = dict(zip(SEATS, task.facts["cards"], strict=True))
        public = task.facts["public"]
        paid = {FIRST: 1.0, SECOND: 1.0}
        rounds: tuple[tuple[str, ...], ...] = ()
        for raised_by in RAISES:
            rounds += ((),)
            while not round_over(rounds[-1]):
                seat, other = SEATS[:: 1 if len(rounds[-1]) % 2 == 0 else -1]
                choices = legal(rounds[-1])
                text = yield from ask(seat, describe(seat, cards[seat], public, rounds), choices, self.retries)
                if text not in choices:
                    return forfeit(seat, SEATS, STAKE, text)
                rounds = (*rounds[:-1], (*rounds[-1], text))
                facts = {"history": rounds, "cards": task.facts["cards"], "public": public}
                if text == FOLD:
                    return Outcome({seat: -paid[seat], other: paid[seat]}, facts)
                if text == CALL:
                    paid[seat] = paid[other]
                if text == RAISE:
                    paid[seat] = paid[other] + raised_by
        won = paid[FIRST] * showdown(cards[FIRST], cards[SECOND], public)
        return Outcome({FIRST: won, SECOND: -won}, facts)


def legal(moves: tuple[str, ...]) -> tuple[str, ...]:
    """The legal moves after `moves` of a round."""
    passive = (FOLD, CALL) if moves[-1:] == (RAISE,) else (CHECK,)
    return (*passive, RAISE) if moves.count(RAISE) < 2 else passive


def round_over(moves: tuple[str, ...]) -> bool:
    return moves[-1:] == (CALL,) or moves[-2:] == (CHECK, CHECK)


def showdown(first: str, second: str, public: str) -> int:
    """1 if the first card wins, -1 if the second does, 0 on a tie."""
    strength = [(card == public, CARDS.index(card)) for card in (first, second)]
    return (strength[0] > strength[1]) - (strength[0] < strength[1])


def describe(seat: Seat, card: str, public: str, rounds: tuple[tuple[str, ...], ...]) -> tuple[Message, ...]:
    """The messages with the rules and what the seat sees; nothing about how to play well."""
    story = [f"The public card is the {public}."] if len(rounds) > 1 else []
    for number, moves in enumerate(rounds, start=1):
        names = ("first", "second")
        told_moves = [f"the {names[turn % 2]} player {PAST[move]}" for turn, move in enumerate(moves)]
        story.append(f"Round {number}: {', '.join(told_moves) or 'nobody has moved yet'}.")
    return told(
        f"{RULES}\n\nYou are the {seat.role} player. Your card is the {card}. "
        f"{' '.join(story)} Your move: {' or '.join(legal(rounds[-1]))}?"
    )
