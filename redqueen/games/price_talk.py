"""Price talk: a buyer who is advised and a seller bargain over a price, the seller's lowest a secret.

In each of the `turns` the adviser names a line for the buyer to take (`LINES`), the buyer offers a price or leaves, and
the seller agrees, asks a price or leaves. It begins by asking `top`; its task holds the lowest price at which it may
agree. With a deal at price p

    adviser, buyer    (top - p) / (top - 1)
    seller            (p - reserve) / (top - 1)

and without one all score 0, also where a seat breaks the rules, which ends the match. With `listed` the buyer chooses
among sentences; else it says what it likes, and the last number from 1 to `top` in it is its offer: its last one again
where there is none. Without `remember` a seat is shown only the standing offer and the standing price.

With `both` the seller is advised too, before each of its turns: its adviser knows the reserve and scores as the seller
does. With `words` above 0 advice is free text of at most that many words, and a longer one breaks the rules.

The adviser is the planner of PPDPP (arXiv:2311.00262) and the strategist of EPO (arXiv:2502.12486).
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from redqueen.games.talk import GAME, Answer, ask_together, offence, titled, unsaid
from redqueen.protocols import Play
from redqueen.types import Ask, Message, Outcome, RedQueenError, Reply, Seat, Task, Turn

ADVISER, BUYER, SELLER = Seat("adviser"), Seat("buyer"), Seat("seller")
SELLER_ADVISER = Seat("seller_adviser")
ADVISERS = ADVISER, SELLER_ADVISER
ADVISES = {ADVISER: BUYER, SELLER_ADVISER: SELLER}
LINES = ANCHOR, CONCEDE, FIRM, SPLIT, WALK = "anchor", "concede", "firm", "split", "walk"
DEAL, LEAVE = "Deal.", "I leave."
RESERVES = (3, 5, 7)


@dataclass(frozen=True)
class PriceTalk:
    turns: int = 8
    top: int = 10  # what the seller asks at first
    listed: bool = True
    remember: bool = True
    both: bool = False  # the seller has an adviser too
    words: int = 0  # the most of a piece of advice in free text; 0 where it is one of the lines
    retries: int = 0  # second chances after an illegal reply, before it ends the match
    zero_sum: bool = field(default=False, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.turns < 1 or self.top <= max(RESERVES):
            raise RedQueenError(
                f"price_talk needs at least 1 turn and a first price above {max(RESERVES)}, not {self.turns} and "
                f"{self.top}"
            )
        if self.words < 0:
            raise RedQueenError(f"words is the most that advice may have, or 0 for listed lines, not {self.words}")

    @property
    def name(self) -> str:
        return titled("price_talk", self)

    @property
    def heard_by(self) -> Mapping[str, tuple[str, ...]]:
        return {
            seat.role: (ADVISES[seat].role,) if seat in ADVISES else tuple(o.role for o in self._seats if o != seat)
            for seat in self._seats
        }

    @property
    def roles(self) -> tuple[str, ...]:
        return tuple(seat.role for seat in self._seats)

    @property
    def _seats(self) -> tuple[Seat, ...]:
        return (ADVISER, BUYER, SELLER, SELLER_ADVISER) if self.both else (ADVISER, BUYER, SELLER)

    def tasks(self) -> list[Task]:
        """One task for each of the seller's lowest prices, equally likely."""
        return [Task(f"reserve-{reserve}", "deal", facts={"reserve": reserve}) for reserve in RESERVES]

    def play(self, task: Task, rng: Random) -> Play:
        reserve = int(task.facts["reserve"])
        said: tuple[str, ...] = ()
        price, offer, agreed = self.top, 0, 0
        for turn in range(self.turns):
            standing = self.standing(turn, offer, price, heard(said, ADVISER))
            line = yield from self._advised(ADVISER, f"{self.rules(ADVISER)} {standing}")
            if not line.legal:
                return self._broken(ADVISER, line.text, said)
            said += (f"{ADVISER}: {line.text}",)
            told = f"{self.rules(BUYER)} {standing} What do you say? Strategy: {line.text}."
            asked = Ask(BUYER, (Message(GAME, told),), self.offers() if self.listed else (), stops=("\n",))
            (word,) = yield from ask_together([asked], self.retries, unsaid)
            if not word.legal:
                return self._broken(BUYER, word.text, said)
            said += (f"buyer: {word.text}",)
            if word.text == LEAVE:
                break
            before, offer = offer, self.offered(word.text, offer)
            moved = f" It offered {before} before." if before else ""
            now = self.standing(turn, offer, price, heard(said, SELLER_ADVISER)) + moved
            told = f"{self.rules(SELLER, reserve)} {now} What do you say?"
            if self.both:
                line = yield from self._advised(SELLER_ADVISER, f"{self.rules(SELLER_ADVISER, reserve)} {now}")
                if not line.legal:
                    return self._broken(SELLER_ADVISER, line.text, said)
                said += (f"{SELLER_ADVISER}: {line.text}",)
                told += f" Strategy: {line.text}."
            (answer,) = yield from ask_together([Ask(SELLER, (Message(GAME, told),), self.answers())], self.retries)
            if not answer.legal:
                return self._broken(SELLER, answer.text, said)
            said += (f"seller: {answer.text}",)
            if answer.text == DEAL and offer:
                agreed = offer
            if answer.text in (DEAL, LEAVE):
                break
            price = int(answer.text.split()[-1].rstrip("."))
        gained = (self.top - agreed) / (self.top - 1) if agreed else 0.0
        kept = (agreed - reserve) / (self.top - 1) if agreed else 0.0
        scores = {ADVISER: gained, BUYER: gained, SELLER: kept, SELLER_ADVISER: kept}
        return Outcome({seat: scores[seat] for seat in self._seats}, self._facts(said, agreed))

    def _advised(self, seat: Seat, shown: str) -> Generator[list[Ask], list[Reply], Answer]:
        """What an adviser says."""
        question = f"Which line should the {ADVISES[seat]} take?"
        if not self.words:
            asked = Ask(seat, (Message(GAME, f"{shown} {question}"),), LINES)
        else:
            question += f" Say it in at most {self.words} words, and name one of: {', '.join(LINES)}."
            asked = Ask(seat, (Message(GAME, f"{shown} {question}"),), stops=("\n",))
        (answer,) = yield from ask_together([asked], self.retries, self._wrong_advice)
        return answer

    def _wrong_advice(self, asked: Ask, text: str) -> str:
        count = len(text.split())
        long = f"A strategy has at most {self.words} words, not {count}."
        return long if not asked.choices and count > self.words else unsaid(asked, text)

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
        if seat == SELLER_ADVISER:
            own = f"a seller, who asked {self.top} at first, bargains with a buyer"
            return f"You advise: {own}. A price below {reserve} would be a loss."
        whole = f"a buyer bargains with a seller, who may take less than the {self.top} it asked at first"
        return f"You advise: {whole}." if seat == ADVISER else f"You buy: {whole}."

    def _broken(self, seat: Seat, text: str, said: tuple[str, ...]) -> Outcome:
        return Outcome(dict.fromkeys(self._seats, 0.0), {**offence(seat, text), **self._facts(said, 0)})

    def _facts(self, said: tuple[str, ...], agreed: int) -> dict[str, object]:
        facts = {"history": heard(said), "advice": advice_in(said, ADVISER), "price": agreed}
        return facts | ({"seller_advice": advice_in(said, SELLER_ADVISER)} if self.both else {})


def heard(said: tuple[str, ...], adviser: Seat | None = None) -> tuple[str, ...]:
    """What was said aloud, and with an `adviser` what that one said."""
    hidden = tuple(f"{seat}: " for seat in ADVISERS if seat != adviser)
    return tuple(line for line in said if not line.startswith(hidden))


def advice_in(said: tuple[str, ...], adviser: Seat) -> tuple[str, ...]:
    """The advice that one adviser gave."""
    start = f"{adviser}: "
    return tuple(line.removeprefix(start) for line in said if line.startswith(start))


def stood(turns: Sequence[Turn]) -> list[int]:
    """The places, from 0, of those of a seat's turns after which it was not asked again: an ask that gives a second
    chance shows what was wrong as well."""
    return [place for place in range(len(turns)) if place + 1 == len(turns) or len(turns[place + 1].ask.messages) == 1]
