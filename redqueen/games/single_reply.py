"""One seat, one task, one reply: a question answered, a task proposed, an answer judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from redqueen.games.talk import ask, posed
from redqueen.protocols import Play
from redqueen.types import Outcome, Seat, Task


@dataclass(frozen=True)
class SingleReply:
    """The seat of this role is shown the task's prompt or conversation (`talk.posed`) and answers once.

    What the reply is worth is for whoever can check it to say: a verdict is a further fact, its score stays
    0. `facts["reply"]` is what was said, "" where no reply in the stated format was found.
    """

    role: str = "solver"
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
