"""Stag hunt: a stag takes two hunters, a hare one; with `talk` both first say together what they will hunt.

Two who hunt the stag get `stag` each; who hunts it alone gets nothing. A hare is worth `alone` to who hunts it alone
and `both` to each of two. Both stag and both hare are equilibria, the first better and the second safer, and a third
hunts the stag with chance both / (stag - alone + both). What is said binds nobody. A seat that breaks the rules ends
the match: both score 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from redqueen.games.talk import GAME, ask_together, offence, titled
from redqueen.protocols import Play
from redqueen.types import Ask, Message, Outcome, RedQueenError, Seat, Task

SEATS = FIRST, SECOND = Seat("first"), Seat("second")
CHOICES = STAG, HARE = "stag", "hare"


@dataclass(frozen=True)
class StagHunt:
    stag: float = 4.0
    alone: float = 3.0
    both: float = 2.0
    talk: bool = False
    retries: int = 0  # second chances after an illegal reply, before it ends the match
    roles: tuple[str, ...] = field(default=("first", "second"), init=False)
    zero_sum: bool = field(default=False, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not self.stag > self.alone >= self.both > 0:
            raise RedQueenError(
                "a stag is worth more than a hare, and a hare alone no less than one of two, which is above 0: not "
                f"stag={self.stag:g}, alone={self.alone:g}, both={self.both:g}"
            )

    @property
    def name(self) -> str:
        return titled("stag_hunt", self)

    def tasks(self) -> list[Task]:
        return [Task("hunt")]

    def play(self, task: Task, rng: Random) -> Play:
        rules = (
            f"You hunt with one other. Two who hunt the stag get {self.stag:g} each, one alone gets 0. A hare is worth "
            f"{self.alone:g} to one who hunts it alone and {self.both:g} to each of two."
        )
        talk: dict[Seat, tuple[Message, ...]] = {FIRST: (), SECOND: ()}
        history: tuple[tuple[str, ...], ...] = ()
        if self.talk:
            first = f"{rules} First both say what they will hunt, which binds nobody. What do you say?"
            answers = yield from ask_together(
                [Ask(seat, (Message(GAME, first),), CHOICES) for seat in SEATS], self.retries
            )
            for seat, answer in zip(SEATS, answers, strict=True):
                if not answer.legal:
                    return Outcome(dict.fromkeys(SEATS, 0.0), {**offence(seat, answer.text), "history": history})
            history += (tuple(answer.text for answer in answers),)
            talk = {seat: answer.messages for seat, answer in zip(SEATS, answers, strict=True)}
            heard = dict(zip(SEATS, history[0][::-1], strict=True))
            questions = {seat: f"The other says: {heard[seat]}. What do you hunt?" for seat in SEATS}
        else:
            questions = dict.fromkeys(SEATS, f"{rules} What do you hunt?")
        answers = yield from ask_together(
            [Ask(seat, (*talk[seat], Message(GAME, questions[seat])), CHOICES) for seat in SEATS], self.retries
        )
        for seat, answer in zip(SEATS, answers, strict=True):
            if not answer.legal:
                return Outcome(dict.fromkeys(SEATS, 0.0), {**offence(seat, answer.text), "history": history})
        mine, theirs = (answer.text for answer in answers)
        scores = {FIRST: self.payoff(mine, theirs), SECOND: self.payoff(theirs, mine)}
        return Outcome(scores, {"history": (*history, (mine, theirs))})

    def payoff(self, mine: str, theirs: str) -> float:
        """What a hunter gets."""
        if mine == STAG:
            return self.stag if theirs == STAG else 0.0
        return self.alone if theirs == STAG else self.both
