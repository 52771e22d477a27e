"""Ultimatum: one player proposes how to share coins, the other takes it or leaves both with nothing.

The `coins` may be shared in multiples of `unit`; a score is the share of all coins that a seat gets. The only
equilibrium in which the responder's threat is believable leaves it next to nothing, yet every split is an equilibrium:
that of a responder who takes so much and no less, and a proposer who gives it (Güth, Schmittberger and Schwarze 1982).
A seat that breaks the rules ends the match: both score 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from redqueen.games.talk import ask, offence, titled, told
from redqueen.protocols import Play
from redqueen.types import Outcome, RedQueenError, Seat, Task

SEATS = PROPOSER, RESPONDER = Seat("first"), Seat("second")
ANSWERS = ACCEPT, REJECT = "accept", "reject"


@dataclass(frozen=True)
class Ultimatum:
    coins: int = 10
    unit: int = 1  # offers are multiples of it
    retries: int = 0  # second chances after an illegal reply, before it ends the match
    roles: tuple[str, ...] = field(default=("first", "second"), init=False)
    zero_sum: bool = field(default=False, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.unit < 1 or self.coins < self.unit or self.coins % self.unit:
            raise RedQueenError(f"{self.coins} coins cannot be shared in units of {self.unit}")

    @property
    def name(self) -> str:
        return titled("ultimatum", self)

    def tasks(self) -> list[Task]:
        return [Task("share")]

    def play(self, task: Task, rng: Random) -> Play:
        offers = tuple(str(coins) for coins in range(0, self.coins + 1, self.unit))
        rules = (
            f"The first player says how many of {self.coins} coins it gives to the second and keeps the others. If the "
            "second rejects that, neither gets any."
        )
        offer = yield from ask(
            PROPOSER, told(f"{rules} You are the first player. How many do you give?"), offers, self.retries
        )
        if offer not in offers:
            return Outcome(dict.fromkeys(SEATS, 0.0), {**offence(PROPOSER, offer), "history": ()})
        question = f"{rules} You are the second player. You are given {offer}. Accept or reject?"
        answer = yield from ask(RESPONDER, told(question), ANSWERS, self.retries)
        if answer not in ANSWERS:
            return Outcome(dict.fromkeys(SEATS, 0.0), {**offence(RESPONDER, answer), "history": (offer,)})
        given = int(offer) / self.coins
        shares = (1.0 - given, given) if answer == ACCEPT else (0.0, 0.0)
        return Outcome(dict(zip(SEATS, shares, strict=True)), {"history": (offer, answer)})
