"""Liar's dice with one die per seat: bids rise until a seat doubts the other's bid.

The highest face is wild, as in OpenSpiel's liars_dice, with which the tests compare it. With six
sides there are 24,576 information states; with four sides 1,024.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from itertools import product
from random import Random

from redqueen.games.talk import ask, forfeit, titled, told
from redqueen.protocols import Play
from redqueen.types import Message, Outcome, RedQueenError, Seat, Task

SEATS = FIRST, SECOND = Seat("first"), Seat("second")
LIAR = "liar"
MOST_SIDES = 100  # each pair of rolls is a task


@dataclass(frozen=True)
class LiarsDice:
    sides: int = 6
    retries: int = 0  # second chances after an illegal reply, before it is a forfeit
    roles: tuple[str, ...] = field(default=("first", "second"), init=False)
    zero_sum: bool = field(default=True, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not 2 <= self.sides <= MOST_SIDES:
            raise RedQueenError(f"liars_dice needs dice of 2 to {MOST_SIDES} sides, not {self.sides}")

    @property
    def name(self) -> str:
        return titled("liars_dice", self)

    def tasks(self) -> list[Task]:
        """Every pair of rolls, equally likely."""
        faces = range(1, self.sides + 1)
        return [Task(f"{a}-{b}", "deal", facts={"dice": (a, b)}) for a, b in product(faces, repeat=2)]

    def play(self, task: Task, rng: Random) -> Play:
        dice = task.facts["dice"]
        history: tuple[str, ...] = ()
        while history[-1:] != (LIAR,):
            seat = SEATS[len(history) % 2]
            choices = legal(history, self.sides)
            text = yield from ask(
                seat, describe(seat, dice[SEATS.index(seat)], history, self.sides), choices, self.retries
            )
            if text not in choices:
                return forfeit(seat, SEATS, stake=1.0, text=text)
            history += (text,)
        bidder, doubter = SEATS[len(history) % 2], SEATS[(len(history) - 1) % 2]
        won = 1.0 if holds(history[-2], dice, self.sides) else -1.0
        return Outcome({bidder: won, doubter: -won}, {"history": history, "dice": dice})


@cache
def bids(sides: int) -> tuple[str, ...]:
    """All bids from low to high: "1-3" says that at least one die shows 3."""
    return tuple(f"{number}-{face}" for number in (1, 2) for face in range(1, sides + 1))


def legal(history: tuple[str, ...], sides: int) -> tuple[str, ...]:
    """The legal moves: the higher bids and, after the first bid, the doubt."""
    if not history:
        return bids(sides)
    return (*bids(sides)[bids(sides).index(history[-1]) + 1 :], LIAR)


def holds(bid: str, dice: tuple[int, int], sides: int) -> bool:
    number, face = (int(part) for part in bid.split("-"))
    return sum(die in (face, sides) for die in dice) >= number


def describe(seat: Seat, die: int, history: tuple[str, ...], sides: int) -> tuple[Message, ...]:
    """The messages with the rules and what the seat sees; nothing about how to play well."""
    so_far = " ".join(f"The {SEATS[turn % 2]} player bid {bid}." for turn, bid in enumerate(history))
    return told(
        "You are playing liar's dice against one opponent. "
        f"Each player has rolled one die with {sides} sides and sees only this one die. In turn the players bid. "
        "The bid 1-3 says that at least one of the two dice shows a 3, the bid 2-3 that both do; "
        f"a die that shows {sides} counts as every face. Each bid must be higher than the one before: "
        "the same number of dice and a higher face, or more dice and any face. "
        "Instead of bidding, a player may answer a bid with liar. Then the dice are shown: "
        "if the bid is true, the player who said liar loses, otherwise the player who made the bid loses.\n\n"
        f"You are the {seat.role} player. Your die shows {die}. {so_far or 'Nobody has bid yet.'} "
        f"Your move: {' or '.join(legal(history, sides))}?"
    )
