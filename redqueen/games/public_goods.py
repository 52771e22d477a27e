"""Public goods: each of several players keeps a coin or gives it to all, who share what it grows to.

All decide at the same moment. What is given is multiplied by `growth`, above 1 and below the number of `players`, and
shared evenly, so that a coin kept is worth 1 to its owner and a coin given growth / players to each: to give nothing is
best for each whatever the others do, and to give everything best for all. A seat that breaks the rules ends the match:
nobody gains anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from redqueen.games.talk import ORDINALS, ask_together, offence, titled, told
from redqueen.protocols import Play
from redqueen.types import Ask, Outcome, RedQueenError, Seat, Task

CHOICES = GIVE, KEEP = "give", "keep"


@dataclass(frozen=True)
class PublicGoods:
    players: int = 3
    growth: float = 1.5
    retries: int = 0  # second chances after an illegal reply, before it ends the match

    def __post_init__(self) -> None:
        if not 2 <= self.players <= len(ORDINALS):
            raise RedQueenError(f"public_goods is for 2 to {len(ORDINALS)} players, not {self.players}")
        if not 1.0 < self.growth < self.players:
            raise RedQueenError(
                f"what is given to {self.players} players must grow by more than 1 and less than {self.players}, not "
                f"{self.growth:g}: else there is no dilemma"
            )

    @property
    def name(self) -> str:
        return titled("public_goods", self)

    @property
    def roles(self) -> tuple[str, ...]:
        return ORDINALS[: self.players]

    @property
    def zero_sum(self) -> bool:
        return False

    @property
    def perfect_information(self) -> bool:
        return False

    def tasks(self) -> list[Task]:
        return [Task("coins")]

    def play(self, task: Task, rng: Random) -> Play:
        seats = [Seat(role) for role in self.roles]
        question = (
            f"You and {self.players - 1} others have a coin each. What is given to all grows by a factor of "
            f"{self.growth:g} and is shared evenly, also with those who keep theirs. Give or keep?"
        )
        asks = [Ask(seat, told(question), CHOICES) for seat in seats]
        answers = yield from ask_together(asks, self.retries)
        for seat, answer in zip(seats, answers, strict=True):
            if not answer.legal:
                return Outcome(dict.fromkeys(seats, 0.0), {**offence(seat, answer.text), "history": ()})
        said = tuple(answer.text for answer in answers)
        shared = self.growth * said.count(GIVE) / self.players
        return Outcome(
            {seat: shared + (text == KEEP) for seat, text in zip(seats, said, strict=True)}, {"history": said}
        )
