"""One seat, one task, one reply: a question answered, a task proposed, an answer judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from redqueen.games.talk import ask, posed
from redqueen.protocols import Play
from redqueen.types import SOLVER, Outcome, Seat, Task


@dataclass(frozen=True)
class SingleReply:
    """The seat of this role is shown the task's prompt or conversation (`talk.posed`) and answers once.

    The reply is checked later: the score is always 0, and a verdict is added as a further fact. `facts["reply"]` is
    the reply, "" where none in the stated format was found.
    """

    role: str = SOLVER
    dealt: tuple[Task, ...] = ()

    @property
    def name(self) -> str:
        return f"single_reply:{self.role}"

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    def tasks(self) -> Sequence[Task]:
        return self.dealt or (Task("empty", prompt="Say something."),)

    def play(self, task: Task, rng: Random) -> Play:
        seat = Seat(self.role)
        text = yield from ask(seat, posed(task, seat), task.choices)
        return Outcome({seat: 0.0}, {"reply": text})
