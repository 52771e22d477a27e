"""The iterated prisoner's dilemma for seats that remember only the last round: memory-one play.

Five information states per seat: the start, and the four outcomes of the last round. So a table holds whole strategies
(tit for tat, win-stay lose-shift), and a seat cannot count the rounds, so that the last is played like the others.
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
    """`IteratedDilemma` with the same rules, payoffs and outcome, whose seats are shown only the last round."""

    rounds: int = 10
    temptation: float = 5.0
    reward: float = 3.0
    punishment: float = 1.0
    sucker: float = 0.0
    roles: tuple[str, ...] = field(default=("first", "second"), init=False)
    zero_sum: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        _ = self.remembered  # which refuses what is no dilemma

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
        """The ask reduced to the rules, without the number of rounds, and the result of the last round."""
        (first, *later) = ask.messages
        news = later[-1].text.rpartition(" Round ")[0] if later else "This is the first round."
        rules = first.text.partition("\n\n")[0].replace(f" of {self.rounds} rounds", " of many rounds")
        return replace(ask, messages=(Message(GAME, f"{rules}\n\n{news} Cooperate or defect?"),))
