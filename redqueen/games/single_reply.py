"""One seat, one task, one reply: a question answered, a task proposed, an answer judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from redqueen.games.talk import ask, conversation, told
from redqueen.protocols import Play
from redqueen.types import Outcome, Seat, Task


@dataclass(frozen=True)
class SingleReply:
    """The seat of this role is shown the task's prompt and answers once. Where the task has `facts["messages"]`,
    (role, text) each, it is shown that conversation instead, in which the assistant's words are its own.

    What the reply is worth is decided later, by whoever can check it (`rewards.marked`): until then its
    score is 0. `facts["reply"]` is what was said, "" where no reply in the stated format was found.
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
        said = task.facts.get("messages")
        shown = conversation(said, seat) if said else told(task.prompt)
        text = yield from ask(seat, shown, tuple(task.facts.get("choices", ())))
        return Outcome({seat: 0.0}, {"reply": text})
