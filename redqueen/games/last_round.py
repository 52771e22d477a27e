"""The iterated prisoner's dilemma for seats that remember the last round alone: memory-one play.

Five information states a seat: the start, and what both chose last. So a table holds whole strategies (tit for tat,
win-stay lose-shift), and nobody can count the rounds, so that the last one is played like the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from redqueen.games.iterated_dilemma import IteratedDilemma
from redqueen.games.talk import GAME, titled
from redqueen.protocols import Play
from redqueen.types import Ask, Message, Task


@dataclass(frozen=True)
class LastRound:
    """The rules, the payoffs and the outcome of `IteratedDilemma`."""

    rounds: int = 10
    temptation: float = 5.0
    reward: float = 3.0
    punishment: float = 1.0
    sucker: float = 0.0
    roles: tuple[str, ...] = field(default=("first", "second"), init=False)
    zero_sum: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        return titled("last_round", self)

    @property
    def remembered(self) -> IteratedDilemma:
        """The same game for seats that remember all of it."""
        return IteratedDilemma(self.rounds, self.temptation, self.reward, self.punishment, self.sucker)

    def tasks(self) -> list[Task]:
        return self.remembered.tasks()

    def play(self, task: Task, rng: Random) -> Play:
        talk = self.remembered.play(task, rng)
        asks = next(talk)
        while True:
            replies = yield [self.forgetful(ask) for ask in asks]
            try:
                asks = talk.send(replies)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]

    def forgetful(self, ask: Ask) -> Ask:
        """What is left of the whole conversation: no count of rounds, and the last round's news, if any."""
        (first, *later) = ask.messages
        news = later[-1].text.rpartition(" Round ")[0] if later else "This is the first round."
        rules = first.text.partition("\n\n")[0].replace(f" of {self.rounds} rounds", " of many rounds")
        return replace(ask, messages=(Message(GAME, f"{rules}\n\n{news} Cooperate or defect?"),))
