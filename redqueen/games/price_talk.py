"""Price talk: a buyer who is advised and a seller bargain over a price, the seller's lowest a secret.

In each of the `turns` the adviser names a line for the buyer to take (`LINES`), the buyer offers a price or leaves, and
the seller agrees, asks a price or leaves. It begins by asking `top`; its task holds the lowest price at which it may
agree. With a deal at price p

    adviser, buyer    (top - p) / (top - 1)
    seller            (p - reserve) / (top - 1)

and without one all score 0, also where a seat breaks the rules, which ends the match. With `listed` the buyer chooses
among sentences; else it says what it likes, and the last number from 1 to `top` in it is its offer: its last one again
where there is none. Without `remember` a seat is shown only the standing offer and the standing price.

The adviser is the planner of PPDPP (arXiv:2311.00262) and the strategist of EPO (arXiv:2502.12486).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from random import Random

from redqueen.games.talk import GAME, ask_together, offence, titled, unsaid
from redqueen.protocols import Play
from redqueen.types import Ask, Message, Outcome, RedQueenError, Seat, Task

SEATS = ADVISER, BUYER, SELLER = Seat("adviser"), Seat("buyer"), Seat("seller")
LINES = ANCHOR, CONCEDE, FIRM, SPLIT, WALK = "anchor", "concede", "firm", "split", "walk"
DEAL, LEAVE = "Deal.", "I leave."
RESERVES = (3, 5, 7)
ADVICE = "Which line should the buyer take?"


@dataclass(frozen=True)
class PriceTalk:
    turns: int = 8
    top: int = 10  # what the seller asks at first
    listed: bool = True
    remember: bool = True
    retries: int = 0  # second chances after an illegal reply, before it ends the match
    roles: tuple[str, ...] = field(default=("adviser", "buyer", "seller"), init=False)
    zero_sum: bool = field(default=False, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.turns < 1 or self.top <= max(RESERVES):
            raise RedQueenError(
                f"price_talk needs at least 1 turn and a first price above {max(RESERVES)}, not {self.turns} and "
                f"{self.top}"
            )

    @property
    def name(self) -> str:
        return titled("price_talk", self)

    def tasks(self) -> list[Task]:
        """One task for each of the seller's lowest prices, equally likely."""
        return [Task(f"reserve-{reserve}", "deal", facts={"reserve": reserve}) for reserve in RESERVES]

    def play(self, task: Task, rng: Random) -> Play:
        reserve = int(task.facts["reserve"])
        said: tuple[str, ...] = ()
        advice: tuple[str, ...] = ()
        price, offer, agreed = self.top, 0, 0
        for turn in range(self.turns):
            standing = self.standing(turn, offer, price, said)
            asked = Ask(ADVISER, (Message(GAME, f"{self.rules(ADVISER)} {standing} {ADVICE}"),), LINES)
            (line,) = yield from ask_together([asked], self.retries)
            if not line.legal:
                return self._broken(ADVISER, line.text, said, advice)
            advice += (line.text,)
            said += (f"{ADVISER}: {line.text}",)
            told = f"{self.rules(BUYER)} {standing} What do you say? Strategy: {line.text}."
            asked = Ask(BUYER, (Message(GAME, told),), self.offers() if self.listed else (), stops=("\n",))
            (word,) = yield from ask_together([asked], self.retries, unsaid)
            if not word.legal:
                return self._broken(BUYER, word.text, said, advice)
            said += (f"buyer: {word.text}",)
            if word.text == LEAVE:
                break
            before, offer = offer, self.offered(word.text, offer)
            now = self.standing(turn, offer, price, overheard(said))
            moved = f" It offered {before} before." if before else ""
            told = f"{self.rules(SELLER, reserve)} {now}{moved} What do you say?"
            asked = Ask(SELLER, (Message(GAME, told),), self.answers())
            (answer,) = yield from ask_together([asked], self.retries)
            if not answer.legal:
                return self._broken(SELLER, answer.text, said, advice)
            said += (f"seller: {answer.text}",)
            if answer.text == DEAL and offer:
                agreed = offer
            if answer.text in (DEAL, LEAVE):
                break
            price = int(answer.text.split()[-1].rstrip("."))
        gained = (self.top - agreed) / (self.top - 1) if agreed else 0.0
        kept = (agreed - reserve) / (self.top - 1) if agreed else 0.0
        return Outcome({ADVISER: gained, BUYER: gained, SELLER: kept}, self._facts(said, advice, agreed))

    def offers(self) -> tuple[str, ...]:
        """What a buyer may say where replies are listed."""
        return (*(f"I offer {price}." for price in range(1, self.top + 1)), LEAVE)

    def answers(self) -> tuple[str, ...]:
        return (DEAL, *(f"I ask {price}." for price in range(1, self.top + 1)), LEAVE)

    def offered(self, text: str, before: int) -> int:
        """The price in what a buyer says; `before` where there is none, 0 if none was named yet."""
        prices = [int(number) for number in re.findall(r"(?<![\d.])\d{1,4}(?![\d.]*\d)", text)]
        fitting = [price for price in prices if 1 <= price <= self.top]
        return fitting[-1] if fitting else before

    def standing(self, turn: int, offer: int, price: int, said: tuple[str, ...]) -> str:
        """Where the talk stands, with what was `said` where seats remember."""
        talk = "".join(f"\n{line}" for line in said) if self.remember and said else ""
        mine = f"The buyer offers {offer}." if offer else "The buyer has offered nothing yet."
        return (
            f"This is turn {turn + 1} of {self.turns}.{talk}{chr(10) if talk else ' '}{mine} The seller asks {price}."
        )

    def rules(self, seat: Seat, reserve: int = 0) -> str:
        """What a seat is told of the talk as a whole."""
        if seat == SELLER:
            return f"You sell, and asked {self.top} at first. A price below {reserve} would be a loss."
        whole = f"a buyer bargains with a seller, who may take less than the {self.top} it asked at first"
        return f"You advise: {whole}." if seat == ADVISER else f"You buy: {whole}."

    def _broken(self, seat: Seat, text: str, said: tuple[str, ...], advice: tuple[str, ...]) -> Outcome:
        return Outcome(dict.fromkeys(SEATS, 0.0), {**offence(seat, text), **self._facts(said, advice, 0)})

    def _facts(self, said: tuple[str, ...], advice: tuple[str, ...], agreed: int) -> dict[str, object]:
        return {"history": overheard(said), "advice": advice, "price": agreed}


def overheard(said: tuple[str, ...]) -> tuple[str, ...]:
    """What was said aloud: all but the advice."""
    return tuple(line for line in said if not line.startswith(f"{ADVISER}: "))
