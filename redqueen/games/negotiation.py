"""Negotiation: two players with private valuations trade two resources, in words.

SPIRAL's game (arXiv 2506.24119) with strict rules: exactly `moves` moves are played; an offer
is open for the next reply only; only the other seat can accept it; both seats must hold the goods
when it is offered and when it is accepted; and the other seat is shown a reply only if it was legal.

An action is `offer 3 wood for 2 gold`, `accept` or `deny`, bare or in square brackets with any text
around it. A reply without an action, with several, or with one that cannot be carried out is
illegal. As in SPIRAL the larger profit wins: 1, -1, or 0 each when equal; a forfeit costs 1. With
`compare=False` each seat scores its own profit; a forfeit then undoes every trade and costs the
offender all its goods, while the other scores 0. Profits then fall round by round, a round being a
move of each seat: what a trade brought is gained when its round ends.

With `listed` the replies are listed, the kindest first and the greediest last: accept, offers of 1
or 5 for 1 or 5 of the other resource, deny. Without `remember` a seat is shown what is held now and
the open offer, in place of the whole conversation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from random import Random

from redqueen.chance import derive, uniform
from redqueen.games.talk import GAME, ask_together, forfeit, not_understood, offence, titled
from redqueen.protocols import Play
from redqueen.types import Ask, Message, Outcome, RedQueenError, Seat, Task

SEATS = FIRST, SECOND = Seat("first"), Seat("second")
RESOURCES = ("wood", "gold")
ACCEPT, DENY = "accept", "deny"
OFFER = re.compile(r"offer:?\s+(\d{1,4})\s+(wood|gold)\s+for\s+(\d{1,4})\s+(wood|gold)\.?")
SIZES = (1, 5)  # of each side of an offer that is listed
HEARD = 500  # characters of a reply that the other seat hears
DEALS = 32  # each also with the seats exchanged

Goods = dict[str, int]  # resource -> quantity
Gains = tuple[tuple[int, dict[str, float]], ...]
SoFar = tuple[int, dict[Seat, int], Gains]  # the last turn, the worth of all goods when the last round ended, gains


@dataclass(frozen=True)
class Offer:
    """What the proposer gives and gets."""

    give: int
    resource: str
    get: int
    wanted: str

    def __str__(self) -> str:
        return f"{self.give} {self.resource} for {self.get} {self.wanted}"


@dataclass(frozen=True)
class Negotiation:
    moves: int = 10  # of both seats together
    compare: bool = True  # the larger profit wins; else each seat scores its own
    listed: bool = False
    remember: bool = True
    deals: int = DEALS  # each also with the seats exchanged
    retries: int = 0  # second chances after an illegal reply, before it is a forfeit
    roles: tuple[str, ...] = field(default=("first", "second"), init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.moves < 1:
            raise RedQueenError(f"negotiation needs at least 1 move, not {self.moves}")
        if self.deals < 1:
            raise RedQueenError(f"negotiation needs at least 1 deal, not {self.deals}")

    @property
    def name(self) -> str:
        return titled("negotiation", self)

    @property
    def zero_sum(self) -> bool:
        return self.compare

    def tasks(self) -> list[Task]:
        """A fixed sample of `deals` deals, each also with the seats exchanged: 5 to 25 of each resource,
        each unit worth 5 to 40 to its holder."""
        tasks = []
        for number in range(self.deals):
            draws = [uniform(derive(number, "negotiation"), counter) for counter in range(8)]
            goods = tuple(5 + int(draw * 21) for draw in draws[:4])
            worth = tuple(5 + int(draw * 36) for draw in draws[4:])
            pairs = {"goods": (goods[:2], goods[2:]), "values": (worth[:2], worth[2:])}
            tasks.append(Task(f"deal-{number}", "deal", facts=pairs))
            swapped = {name: pair[::-1] for name, pair in pairs.items()}
            tasks.append(Task(f"deal-{number}-exchanged", "deal", facts=swapped))
        return tasks

    def play(self, task: Task, rng: Random) -> Play:
        goods = {
            seat: dict(zip(RESOURCES, row, strict=True)) for seat, row in zip(SEATS, task.facts["goods"], strict=True)
        }
        values = {
            seat: dict(zip(RESOURCES, row, strict=True)) for seat, row in zip(SEATS, task.facts["values"], strict=True)
        }
        before = {seat: worth(goods[seat], values[seat]) for seat in SEATS}
        messages: dict[Seat, tuple[Message, ...]] = {FIRST: (), SECOND: ()}
        news = {seat: [self.rules(seat, goods, values[seat])] for seat in SEATS}
        gains: Gains = ()
        settled = dict(before)  # what each had when the last round ended
        history: tuple[str, ...] = ()
        pending: Offer | None = None
        spoken = 0
        for number in range(1, self.moves + 1):
            seat, other = SEATS[:: 1 if number % 2 else -1]
            if not self.remember:
                messages[seat], news[seat] = (), [self.rules(seat, goods, values[seat])]
            shown = "\n".join([*news[seat], question(number, self.moves, pending)])
            listed = choices(pending, goods[seat], goods[other]) if self.listed else ()
            asked = Ask(seat, (*messages[seat], Message(GAME, shown)), listed)

            judge = partial(complaint, pending=pending, mine=goods[seat], theirs=goods[other])
            (answer,) = yield from ask_together([asked], self.retries, judge)
            spoken += answer.attempts
            if not answer.legal:
                return self.forfeited(seat, answer.text, before, history, (spoken - 1, settled, gains))
            action = actions(answer.text)[0]
            history += (action,)
            messages[seat], news[seat] = answer.messages, []
            news[other].append(f"The {seat} player says: {heard(answer.text)!r}")
            if action == ACCEPT and pending is not None:
                trade(pending, goods[other], goods[seat])
                for s in SEATS:
                    news[s].append(f"The trade is made: the {other} player gave {pending}. {holdings(s, goods)}")
            pending = offer(action)
            if number % 2 == 0 or number == self.moves:
                now = {s: worth(goods[s], values[s]) for s in SEATS}
                gains += ((spoken - 1, {str(s): float(now[s] - settled[s]) for s in SEATS}),)
                settled = now
        profits = {seat: float(worth(goods[seat], values[seat]) - before[seat]) for seat in SEATS}
        facts = {"history": history, "profits": {str(seat): profits[seat] for seat in SEATS}}
        if not self.compare:
            return Outcome(profits, {**facts, "gains": gains})
        won = float((profits[FIRST] > profits[SECOND]) - (profits[FIRST] < profits[SECOND]))
        return Outcome({FIRST: won, SECOND: -won}, facts)

    def forfeited(
        self, seat: Seat, text: str, before: dict[Seat, int], history: tuple[str, ...], so_far: SoFar
    ) -> Outcome:
        if self.compare:
            outcome = forfeit(seat, SEATS, 1.0, text)
            return Outcome(outcome.scores, {**outcome.facts, "history": history})
        last, settled, gains = so_far
        scores = {other: -float(before[other]) if other == seat else 0.0 for other in SEATS}
        lost = {str(each): scores[each] - float(settled[each] - before[each]) for each in SEATS}
        return Outcome(scores, {**offence(seat, text), "history": history, "gains": (*gains, (last, lost))})

    def rules(self, seat: Seat, goods: dict[Seat, Goods], value: Goods) -> str:
        """The text of the rules and what the seat knows at the start; nothing about how to play well."""
        aim = (
            "At the end, the player whose goods have gained more value, each counted by their own values, wins."
            if self.compare
            else "At the end, each player scores the value that their goods have gained, by their own values."
        )
        return (
            "You are trading wood and gold with one other player. What a unit is worth differs between the players, "
            "and neither knows the other's values; what each holds is known to both. "
            f"In turn you speak, {self.moves} times in all. Every reply holds exactly one action in square brackets: "
            "[offer 3 wood for 2 gold] offers to give 3 wood and get 2 gold, [accept] makes the trade that the other "
            "player has just offered, and [deny] does neither. The other player hears your other words. "
            f"An offer that is not accepted at once is gone. {aim}\n\n"
            f"You are the {seat} player. To you one wood is worth {value['wood']} and one gold {value['gold']}. "
            f"{holdings(seat, goods)}"
        )


def actions(text: str) -> list[str]:
    """The actions of a reply in lower case: the texts in square brackets, or the whole reply if there are none."""
    found = re.findall(r"\[([^\[\]]*)\]", text) if "[" in text or "]" in text else [text]
    return [" ".join(action.lower().split()) for action in found]


def offer(action: str) -> Offer | None:
    match = OFFER.fullmatch(action)
    return Offer(int(match[1]), match[2], int(match[3]), match[4]) if match else None


def choices(pending: Offer | None, mine: Goods, theirs: Goods) -> tuple[str, ...]:
    """The listed actions of a seat, the kindest first."""
    offers = [
        Offer(give, one, get, other)
        for give, get in sorted(product(SIZES, SIZES), key=lambda sizes: sizes[1] - sizes[0])
        for one, other in (RESOURCES, RESOURCES[::-1])
    ]
    able = [each for each in offers if fits(each, mine, theirs)]
    fair = [f"[offer {each}]" for each in able if each.get <= each.give]
    greedy = [f"[offer {each}]" for each in able if each.get > each.give]
    accept = [f"[{ACCEPT}]"] if pending is not None and fits(pending, theirs, mine) else []
    return (*accept, *fair, f"[{DENY}]", *greedy)


def complaint(_: Ask, text: str, *, pending: Offer | None, mine: Goods, theirs: Goods) -> str:
    """What is wrong with a reply, or ""."""
    found = actions(text)
    if len(found) != 1:
        return f"A reply holds exactly one action in square brackets, not {len(found)}."
    proposed = offer(found[0])
    if proposed is None and found[0] not in (ACCEPT, DENY):
        return f"{not_understood(text)} Reply with [offer 3 wood for 2 gold], [accept] or [deny]."
    if found[0] == ACCEPT and pending is None:
        return "There is no offer of the other player to accept."
    if found[0] == ACCEPT and pending is not None:
        return "" if fits(pending, theirs, mine) else "The goods of that offer are no longer there."
    if proposed is None:
        return ""
    if proposed.resource == proposed.wanted or not (proposed.give and proposed.get):
        return "An offer exchanges some of one resource for some of the other."
    return "" if fits(proposed, mine, theirs) else "An offer cannot go beyond what the two players hold."


def fits(proposed: Offer, proposer: Goods, other: Goods) -> bool:
    return proposer[proposed.resource] >= proposed.give and other[proposed.wanted] >= proposed.get


def trade(proposed: Offer, proposer: Goods, other: Goods) -> None:
    """Moves the goods of an accepted offer."""
    assert fits(proposed, proposer, other), f"the goods of the offer {proposed} are not there"
    proposer[proposed.resource] -= proposed.give
    other[proposed.resource] += proposed.give
    proposer[proposed.wanted] += proposed.get
    other[proposed.wanted] -= proposed.get


def worth(goods: Goods, value: Goods) -> int:
    return sum(goods[resource] * value[resource] for resource in RESOURCES)


def heard(text: str) -> str:
    """A reply as the other seat hears it: on one line, cut to `HEARD` characters."""
    return " ".join(text.split())[:HEARD]


def holdings(seat: Seat, goods: dict[Seat, Goods]) -> str:
    other = SEATS[1 - SEATS.index(seat)]
    mine, theirs = (" and ".join(f"{goods[s][r]} {r}" for r in RESOURCES) for s in (seat, other))
    return f"You hold {mine}; the other player holds {theirs}."


def question(number: int, moves: int, pending: Offer | None) -> str:
    """The text that asks for a move; the open offer is always the other seat's."""
    standing = f"The other player offers {pending}. " if pending is not None else ""
    return f"{standing}Move {number} of {moves} is yours."
