"""Who bargains in `price_talk` by rules: actors that do as they are told, and a seller of its own mind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from redqueen.chance import one_of, pick, uniform
from redqueen.games.price_talk import (
    ANCHOR,
    BUYER,
    CONCEDE,
    DEAL,
    FIRM,
    LEAVE,
    LINES,
    SPLIT,
    WALK,
)
from redqueen.types import Ask, Reply

OPENING = 3  # what a buyer that is not told to anchor offers first


def next_offer(line: str, offer: int, price: int) -> int | None:
    """The price that a buyer offers who takes this line, after an `offer` of its own (0: none yet) and where the seller
    asks `price`; None where it leaves."""
    moves = {
        ANCHOR: offer or 1,
        CONCEDE: offer + 1 if offer else OPENING,
        FIRM: offer or OPENING,
        SPLIT: -(-(offer + price) // 2),
    }
    return None if line == WALK else min(moves[line], price)


def next_price(line: str, offer: int, price: int, reserve: int) -> int | None:
    """The price that a seller asks who takes this line, where it asked `price` and the buyer offers `offer`, at most
    that: never below `reserve` nor below the offer, with which it agrees. None where it leaves."""
    moves = {ANCHOR: price, CONCEDE: price - 1, FIRM: price, SPLIT: (offer + price) // 2}
    return None if line == WALK else max(moves[line], reserve, offer)


def heeded(line: str, obedience: float) -> list[float]:
    """[K] the chance of each line that an actor takes who is told this one. One that is told none of them takes each as
    often, but does not leave."""
    if line not in LINES:
        return [float(each != WALK) / (len(LINES) - 1) for each in LINES]
    others = (1.0 - obedience) / (len(LINES) - 1)
    return [obedience if each == line else others for each in LINES]


def answered(offer: int, raised: int, price: int, reserve: int) -> dict[str, float]:
    """The chance of each answer of the `Haggler` to an `offer` that was `raised` by so much. It agrees within 1
    of its price, goes down by 1 at times, less often for a buyer that jumps, and never below `reserve`; one that does
    not move may lose it."""
    if offer >= max(reserve, price - 1):
        return {DEAL: 1.0}
    leaves = 0.1 if raised <= 0 else 0.0
    down = (1.0 - leaves) * (0.6 if raised <= 0 else 0.9 if raised == 1 else 0.2)
    lower = max(price - 1, reserve)
    found = {LEAVE: leaves, f"I ask {lower}.": down}
    stays = f"I ask {price}."
    found[stays] = found.get(stays, 0.0) + 1.0 - leaves - down
    return found


@dataclass(frozen=True)
class Speaker:
    """A buyer or seller that does as it is told with the chance `obedience`, and takes another line at random else.
    Of advice in free text it hears the line that is named in it, if it is one alone."""

    obedience: float
    name: str = "speaker"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._said(ask), self.name) for ask in asks]

    def _said(self, ask: Ask) -> str:
        text = ask.messages[0].text
        told = line_in(text.rpartition("Strategy: ")[2])
        line = LINES[pick(heeded(told, self.obedience), uniform(ask.seed))]
        offer, price = standing(text)
        if ask.seat == BUYER:
            now = next_offer(line, offer, price)
            return LEAVE if now is None else f"I offer {now}."
        now = next_price(line, offer, price, reserve_in(text))
        return LEAVE if now is None else DEAL if now <= offer else f"I ask {now}."


@dataclass(frozen=True)
class Undecided:
    """An adviser that names one of the lines at random, but never to leave. In free text it names none, in one word."""

    name: str = "undecided"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._said(ask), self.name) for ask in asks]

    def _said(self, ask: Ask) -> str:
        staying = [line for line in ask.choices if line != WALK]
        return one_of(staying, uniform(ask.seed)) if staying else "Anything"


@dataclass(frozen=True)
class Haggler:
    """A seller that answers as `answered` says."""

    name: str = "haggler"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._said(ask), self.name) for ask in asks]

    def _said(self, ask: Ask) -> str:
        text = ask.messages[0].text
        offer, price = standing(text)
        before = int(_last(r"It offered (\d+) before", text))
        chances = answered(offer, offer - before if before else 0, price, reserve_in(text))
        return list(chances)[pick(list(chances.values()), uniform(ask.seed))]


def line_in(text: str) -> str:
    """The line that is named in a text; "" where none is, or several are."""
    named = {line for line in LINES if re.search(rf"\b{line}\b", text.lower())}
    return named.pop() if len(named) == 1 else ""


def standing(text: str) -> tuple[int, int]:
    """The buyer's offer, 0 for none, and the seller's price, as an ask of price_talk tells them."""
    return int(_last(r"The buyer offers (\d+)", text)), int(_last(r"The seller asks (\d+)", text))


def reserve_in(text: str) -> int:
    """The seller's lowest price, as it is told."""
    return int(_last(r"below (\d+)", text))


def _last(pattern: str, text: str) -> str:
    return str((re.findall(pattern, text) or ["0"])[-1])
