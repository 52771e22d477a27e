"""One seat, one task, two answers: the second after a request to look at the first again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from redqueen.games.talk import GAME, ask_together, posed
from redqueen.protocols import Play
from redqueen.types import SOLVER, Ask, Message, Outcome, Seat, Task

AGAIN = "Look again. Correct the answer if it is wrong."


@dataclass(frozen=True)
class SecondTry:
    """One conversation that only grows: the task's prompt or conversation (`talk.posed`), an answer, `again`, the
    second answer.

    The request is the same whether or not the first answer is right, so that it gives nothing away. The answers are
    checked later: the score is 0. `facts["replies"]` are the two answers, "" where none in the stated format was found.
    """

    role: str = SOLVER
    again: str = AGAIN
    dealt: tuple[Task, ...] = ()

    @property
    def name(self) -> str:
        return f"second_try:{self.role}"

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    def tasks(self) -> Sequence[Task]:
        return self.dealt or (Task("empty", prompt="Say something."),)

    def play(self, task: Task, rng: Random) -> Play:
        seat = Seat(self.role)
        (first,) = yield from ask_together([Ask(seat, posed(task, seat))])
        (second,) = yield from ask_together([Ask(seat, (*first.messages, Message(GAME, self.again)))])
        return Outcome({seat: 0.0}, {"replies": (first.text, second.text)})
