"""Odd one out: players give clues about their cards, then vote for the one whose card differs.

The game of Vision-Zero (arXiv:2509.25541) on cards in place of pictures. `civilians` players hold the same card; the
spy's differs in `differ` of the `attributes`, and only the spy is told that it is the spy. In each of the `rounds`
every player in turn names one thing of its card, heard by all. Then each civilian, asked as the `voter` of its number,
names the player that it takes for the spy, or N/A. With v_s votes for the spy, v_j for civilian j, v the mean of the
v_j and n civilians

    spy           -beta (v_s - v)
    civilian j     beta / n (v_s - v) - lam (v_j - v)          the sum over the table is 0
    voter          1 if it names the spy, -0.5 for N/A, -1 for another

With `alike` the spy's card is no other one, so that whoever finds the spy was told by something else. A clue that
breaks the rules ends the match and costs its player `beta` times `civilians`; such a vote ends it too and scores as
N/A.

A task whose facts hold all `clues` begins with the vote, one whose facts name a `voter` asks this one alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from random import Random
from types import MappingProxyType

from redqueen.chance import derive
from redqueen.games.talk import ask, offence, titled, told
from redqueen.protocols import Play
from redqueen.types import Outcome, RedQueenError, Seat, Task

THINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "colour": ("red", "green", "blue", "yellow"),
        "shape": ("circle", "square", "star", "cross"),
        "size": ("tiny", "small", "large", "huge"),
        "number": ("one", "two", "three", "four"),
    }
)
CIVILIAN, SPY, VOTER = "civilian", "spy", "voter"
UNSURE = "N/A"
RIGHT, NO_VOTE, WRONG = 1.0, -0.5, -1.0  # what a vote scores
MOST = 256  # deals in the sample where there are more
HELD_OUT = 64


@dataclass(frozen=True)
class OddOneOut:
    civilians: int = 2
    rounds: int = 1
    attributes: int = 2  # of a card
    values: int = 2  # of an attribute
    differ: int = 1  # attributes in which the spy's card is another
    alike: bool = False
    beta: float = 0.1
    lam: float = 0.1
    retries: int = 0  # second chances after an illegal reply, before it ends the match
    roles: tuple[str, ...] = field(default=(CIVILIAN, SPY, VOTER), init=False)
    zero_sum: bool = field(default=False, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.civilians < 2 or self.rounds < 1:
            raise RedQueenError(
                f"odd_one_out needs at least 2 civilians and 1 round, not {self.civilians} and {self.rounds}"
            )
        if not (1 <= self.attributes <= len(THINGS) and 2 <= self.values <= min(map(len, THINGS.values()))):
            raise RedQueenError(
                f"a card has 1 to 4 attributes of 2 to 4 values, not {self.attributes} of {self.values}"
            )
        if not 1 <= self.differ <= self.attributes:
            raise RedQueenError(f"cards of {self.attributes} attributes differ in 1 to all of them, not {self.differ}")
        if min(self.beta, self.lam) < 0:
            raise RedQueenError(f"beta and lam are at least 0, not {self.beta:g} and {self.lam:g}")

    @property
    def heard_by(self) -> Mapping[str, tuple[str, ...]]:
        return {SPY: (SPY, CIVILIAN, VOTER), CIVILIAN: (SPY, CIVILIAN, VOTER), VOTER: ()}

    @property
    def name(self) -> str:
        return titled("odd_one_out", self)

    def tasks(self) -> list[Task]:
        """All deals, equally likely, or a fixed sample of 256 where there are more."""
        return self._deals()[:MOST]

    def held_out(self) -> list[Task]:
        """Up to 64 deals that are not among the tasks; none where these are all."""
        return self._deals()[MOST : MOST + HELD_OUT]

    def _deals(self) -> list[Task]:
        cards = list(product(*self._things().values()))
        pairs = [(card, other) for card in cards for other in self._others(card)]
        deals = [(pair, spy) for pair in pairs for spy in range(self.civilians + 1)]
        chosen = deals if len(deals) <= MOST else Random(derive(0, "odd_one_out")).sample(deals, MOST + HELD_OUT)
        return [
            Task(
                f"{'-'.join((*card, *other))}-{spy + 1}",
                "deal",
                facts={"card": card, "odd": card if self.alike else other, "spy": spy},
            )
            for (card, other), spy in chosen
        ]

    def play(self, task: Task, rng: Random) -> Play:
        spy, clues = task.facts["spy"], tuple(task.facts.get("clues", ()))
        players = [Seat(SPY if number == spy else CIVILIAN, number) for number in range(self.civilians + 1)]
        voters = [Seat(VOTER, seat.number) for seat in players if seat.role == CIVILIAN]
        nothing = dict.fromkeys((*players, *voters), 0.0)
        while len(clues) < self.rounds * len(players):
            seat = players[len(clues) % len(players)]
            card = task.facts["odd" if seat.role == SPY else "card"]
            choices = self.clues(card)
            text = yield from ask(seat, told(self.invitation(seat, card, clues)), choices, self.retries)
            if text not in choices:
                cost = -self.beta * self.civilians
                return Outcome(nothing | {seat: cost}, {**offence(seat, text), "history": clues})
            clues += (text,)
        votes: dict[str, str] = {}
        scores = dict(nothing)
        choices = self.ballot()
        for seat in voters:
            if seat.number != task.facts.get("voter", seat.number):
                continue
            question = self.question(seat, task.facts["card"], clues)
            text = yield from ask(seat, told(question), choices, self.retries)
            votes[str(seat)] = text if text in choices else UNSURE
            scores[seat] = worth(votes[str(seat)], called(spy))
            if text not in choices:
                return Outcome(nothing | {seat: NO_VOTE}, {**offence(seat, text), "history": clues, "votes": votes})
        if "voter" not in task.facts:
            counted = [list(votes.values()).count(called(seat.number)) for seat in players]
            scores |= zip(players, clue_scores(counted, spy, self.beta, self.lam), strict=True)
        return Outcome(scores, {"history": clues, "votes": votes})

    def clues(self, card: Sequence[str]) -> tuple[str, ...]:
        """What may be said of a card: "colour red"."""
        return tuple(f"{thing} {value}" for thing, value in zip(self._things(), card, strict=True))

    def ballot(self) -> tuple[str, ...]:
        return (*map(called, range(self.civilians + 1)), UNSURE)

    def invitation(self, seat: Seat, card: Sequence[str], clues: Sequence[str]) -> str:
        """What a player is told before its clue."""
        odd = " You are the odd one out: keep it hidden." if seat.role == SPY else ""
        return f"{self._told(seat, card, clues)}{odd} Name one thing of your card."

    def question(self, seat: Seat, card: Sequence[str], clues: Sequence[str]) -> str:
        """What a voter is told."""
        return f"{self._told(seat, card, clues)} Who is the odd one out? If you cannot tell, say {UNSURE}."

    def _told(self, seat: Seat, card: Sequence[str], clues: Sequence[str]) -> str:
        count = self.civilians + 1
        said = "; ".join(f"{called(number % count)}: {clue}" for number, clue in enumerate(clues))
        return (
            f"{count} players hold a card each. {self.civilians} cards are the same, and one player is the odd one "
            f"out: its card differs in {self.differ} of {self.attributes} things. Each in turn names one thing of its "
            f"card{f', {self.rounds} times' if self.rounds > 1 else ''}; then all vote. You are {called(seat.number)}. "
            f"Your card: {', '.join(self.clues(card))}. {f'Said so far: {said}.' if said else 'Nothing was said yet.'}"
        )

    def _things(self) -> dict[str, tuple[str, ...]]:
        return {thing: values[: self.values] for thing, values in list(THINGS.items())[: self.attributes]}

    def _others(self, card: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """The cards that differ from `card` in as many things as the spy's does."""
        things = list(self._things().values())
        for places in combinations(range(len(card)), self.differ):
            yield from product(
                *(
                    [value for value in values if value != own] if place in places else [own]
                    for place, (own, values) in enumerate(zip(card, things, strict=True))
                )
            )


def called(number: int) -> str:
    """How the game calls a player: "player 1" is number 0."""
    return f"player {number + 1}"


def worth(vote: str, spy: str) -> float:
    """What a vote scores where `spy` is the right one."""
    return NO_VOTE if vote == UNSURE else RIGHT if vote == spy else WRONG


def clue_scores(votes: Sequence[int], spy: int, beta: float, lam: float) -> list[float]:
    """The score of each player's clues from the `votes` for each of them; 0 in sum (arXiv:2509.25541)."""
    civilians = len(votes) - 1
    mean = (sum(votes) - votes[spy]) / civilians
    lead = votes[spy] - mean
    return [
        -beta * lead if number == spy else beta / civilians * lead - lam * (count - mean)
        for number, count in enumerate(votes)
    ]
