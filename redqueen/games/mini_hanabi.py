"""Mini Hanabi: two players build fireworks together, each seeing only the other's cards.

The defaults are the small game of MARS (arXiv 2510.15414): 2 colours, 2 ranks, 3 cards in hand,
3 information tokens, 3 lives; of each colour the deck has three cards of rank 1, one of the highest
rank, two of each rank between. The rules are those of OpenSpiel's hanabi, with which the tests
compare it. Both seats score the height of the fireworks, or 0 when the lives are gone.

A seat that breaks the rules ends the match and the fireworks are lost: both score 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from redqueen.chance import derive, uniform
from redqueen.games.talk import ask_together, offence, titled, told
from redqueen.protocols import Play
from redqueen.types import Ask, Message, Outcome, RedQueenError, Seat, Task

SEATS = FIRST, SECOND = Seat("first"), Seat("second")
COLOURS = ("red", "yellow", "green", "white", "blue")
DEALS = 64


@dataclass(frozen=True)
class Card:
    """A card in a hand, and the hints that its holder has received about it."""

    colour: str
    rank: int
    hints: tuple[str, ...] = ()  # "red", "not 2"

    def __str__(self) -> str:
        return f"{self.colour} {self.rank}"

    def told(self, hint: str) -> Card:
        """The card after a hint to its hand: the hint if it fits the card, else its negation."""
        fact = hint if hint in (self.colour, str(self.rank)) else f"not {hint}"
        return self if fact in self.hints else replace(self, hints=(*self.hints, fact))


@dataclass
class _Table:
    """A match in progress."""

    hands: dict[Seat, list[Card]]
    deck: list[Card]
    fireworks: dict[str, int]
    information: int
    lives: int
    discards: list[Card] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    turns_left: int = len(SEATS)  # counts down once the deck is empty

    @property
    def score(self) -> float:
        return float(sum(self.fireworks.values())) if self.lives else 0.0


@dataclass(frozen=True)
class MiniHanabi:
    colours: int = 2
    ranks: int = 2
    hand: int = 3
    information: int = 3
    lives: int = 3
    retries: int = 0  # second chances after an illegal reply, before it ends the match
    roles: tuple[str, ...] = field(default=("first", "second"), init=False)
    zero_sum: bool = field(default=False, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not (1 <= self.colours <= len(COLOURS) and 1 <= self.ranks <= 9):
            raise RedQueenError(
                f"mini_hanabi has 1 to {len(COLOURS)} colours and 1 to 9 ranks, not {self.colours} and {self.ranks}"
            )
        if min(self.hand, self.information, self.lives) < 1:
            raise RedQueenError("mini_hanabi needs hand, information and lives of at least 1")
        if 2 * self.hand > len(self.deck()):
            raise RedQueenError(f"two hands of {self.hand} need more than the {len(self.deck())} cards of this deck")

    @property
    def name(self) -> str:
        return titled("mini_hanabi", self)

    def copies(self, rank: int) -> int:
        """How many cards of a rank the deck has in each colour."""
        if rank == 1:
            return 3
        return 1 if rank == self.ranks else 2

    def deck(self) -> list[str]:
        return [
            f"{colour} {rank}"
            for colour in COLOURS[: self.colours]
            for rank in range(1, self.ranks + 1)
            for _ in range(self.copies(rank))
        ]

    def tasks(self) -> list[Task]:
        """A fixed sample of 64 shuffles, equally likely: not every order of the deck."""
        return [
            Task(f"deal-{number}", "deal", facts={"deck": tuple(shuffled(self.deck(), derive(number, "mini_hanabi")))})
            for number in range(DEALS)
        ]

    def play(self, task: Task, rng: Random) -> Play:
        table = self.dealt(task.facts["deck"])
        gains: tuple[tuple[int, dict[str, float]], ...] = ()
        spoken = 0
        while table.lives and table.turns_left and table.score < self.colours * self.ranks:
            seat, other = SEATS[:: 1 if len(table.history) % 2 == 0 else -1]
            before = table.score
            question = Ask(seat, self.describe(table, seat, other), self.legal(table, other))
            (answer,) = yield from ask_together([question], self.retries)
            spoken += answer.attempts
            table.turns_left -= not table.deck
            if not answer.legal:
                gains = with_gain(gains, spoken - 1, -before)
                facts = {"history": tuple(table.history), "gains": gains}
                return Outcome(dict.fromkeys(SEATS, 0.0), {**offence(seat, answer.text), **facts})
            self.move(table, seat, other, answer.text)
            gains = with_gain(gains, spoken - 1, table.score - before)
        return Outcome(dict.fromkeys(SEATS, table.score), {"history": tuple(table.history), "gains": gains})

    def dealt(self, names: Sequence[str]) -> _Table:
        """The table before the first move: the first cards go to the first seat."""
        deck = [Card(colour, int(rank)) for colour, rank in (name.split() for name in names)]
        hands = {FIRST: deck[: self.hand], SECOND: deck[self.hand : 2 * self.hand]}
        fireworks = dict.fromkeys(COLOURS[: self.colours], 0)
        return _Table(hands, deck[2 * self.hand :], fireworks, self.information, self.lives)

    def legal(self, table: _Table, other: Seat) -> tuple[str, ...]:
        """The legal moves: plays, discards unless no information token is spent, hints that fit a card of `other`."""
        mine = range(1, len(table.hands[SEATS[1 - SEATS.index(other)]]) + 1)
        theirs = table.hands[other]
        plays = [f"play {place}" for place in mine]
        discards = [f"discard {place}" for place in mine] if table.information < self.information else []
        hints = [colour for colour in COLOURS if any(card.colour == colour for card in theirs)]
        hints += [str(rank) for rank in range(1, self.ranks + 1) if any(card.rank == rank for card in theirs)]
        return (*plays, *discards, *(f"hint {hint}" for hint in hints if table.information))

    def move(self, table: _Table, seat: Seat, other: Seat, text: str) -> None:
        """Carries out a legal move."""
        verb, what = text.split()
        if verb == "hint":
            table.information -= 1
            table.hands[other] = [card.told(what) for card in table.hands[other]]
            named = [str(place) for place, card in enumerate(table.hands[other], 1) if what in card.hints]
            table.history.append(f"The {seat} player gave the hint {what}: card {' and '.join(named)}.")
            return
        card = table.hands[seat].pop(int(what) - 1)
        if verb == "discard":
            table.information += 1
            table.discards.append(card)
            ending = ""
        elif table.fireworks[card.colour] == card.rank - 1:
            table.fireworks[card.colour] = card.rank
            if card.rank == self.ranks:  # a finished firework gives a token back
                table.information = min(self.information, table.information + 1)
            ending = ", which fitted"
        else:
            table.lives -= 1
            table.discards.append(card)
            ending = ", which did not fit"
        table.history.append(f"The {seat} player {verb}ed card {what}, a {card}{ending}.")
        if table.deck:
            table.hands[seat].append(table.deck.pop(0))

    def rules(self) -> str:
        deck = ", ".join(f"{self.copies(rank)} of rank {rank}" for rank in range(1, self.ranks + 1))
        return (
            "You are playing Hanabi together with one other player: you share one score. Each of you holds "
            f"{self.hand} cards and sees only the other's cards, not their own. The colours are "
            f"{', '.join(COLOURS[: self.colours])}; the deck has in each colour {deck}. "
            "For each colour you build one firework, from rank 1 upwards. In turn a player makes one move. "
            "Play a card by its place: if it is the next rank of its colour it is added to the firework, "
            "otherwise it is thrown away and you lose a life. Discard a card by its place: it is thrown away "
            "and one spent information token comes back. Hint a colour or a rank: it costs one information token and "
            "tells the other player all places in their hand with that colour or rank. "
            "After a play or a discard the player draws a card, which takes the last place. "
            "A finished firework brings back one spent token. "
            "When the last card is drawn, each player has one more turn. The score is the sum of the heights of the "
            f"fireworks, at most {self.colours * self.ranks}, but 0 if no life is left."
        )

    def describe(self, table: _Table, seat: Seat, other: Seat) -> tuple[Message, ...]:
        """The messages with the rules and what the seat sees; nothing about how to play well."""
        theirs = ", ".join(f"{place}: {card}" for place, card in enumerate(table.hands[other], 1))
        own = ", ".join(
            f"{place}: {' and '.join(card.hints) or 'nothing'}" for place, card in enumerate(table.hands[seat], 1)
        )
        lines = [
            f"You are the {seat} player.",
            "Moves so far: " + (" ".join(table.history) or "none."),
            f"Fireworks: {', '.join(f'{colour} {height}' for colour, height in table.fireworks.items())}.",
            f"Thrown away: {', '.join(map(str, table.discards)) or 'nothing'}.",
            f"Information tokens: {table.information} of {self.information}. "
            f"Lives: {table.lives} of {self.lives}. Cards in the deck: {len(table.deck)}.",
            f"The other player's cards: {theirs}.",
            f"What you were told of your cards: {own}.",
            f"Your move: {', '.join(self.legal(table, other))}?",
        ]
        return told(f"{self.rules()}\n\n" + "\n".join(lines))


def with_gain(
    gains: tuple[tuple[int, dict[str, float]], ...], turn: int, gain: float
) -> tuple[tuple[int, dict[str, float]], ...]:
    """The gains and one more, the same for both seats; a gain of 0 is not recorded."""
    return (*gains, (turn, {str(seat): gain for seat in SEATS})) if gain else gains


def shuffled(cards: Sequence[str], seed: int) -> list[str]:
    """The cards in an order drawn from the seed (Fisher-Yates)."""
    order = list(cards)
    for last in range(len(order) - 1, 0, -1):
        other = int(uniform(seed, last) * (last + 1))
        order[last], order[other] = order[other], order[last]
    return order
