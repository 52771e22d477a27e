"""The iterated prisoner's dilemma: both seats choose at the same time, round after round.

A conversation: each round a seat is told what both chose and what it gained, after its own reply.
A seat that breaks the rules ends the match: it gains the sucker's payoff in this and every remaining
round, and the other the punishment payoff, so that no seat gains from the other's illegal reply.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from redqueen.games.talk import GAME, ask_together, offence, titled, told
from redqueen.protocols import Play
from redqueen.types import Ask, Message, Outcome, RedQueenError, Seat, Task

SEATS = FIRST, SECOND = Seat("first"), Seat("second")
COOPERATE, DEFECT = "cooperate", "defect"
MOST_ROUNDS = 2_000  # each of which repeats all those before it to who is asked


@dataclass(frozen=True)
class IteratedDilemma:
    rounds: int = 5
    temptation: float = 5.0  # for defecting against one who cooperates
    reward: float = 3.0  # for each when both cooperate
    punishment: float = 1.0  # for each when both defect
    sucker: float = 0.0  # for cooperating with one who defects
    retries: int = 0  # second chances after an illegal reply, before it ends the match
    roles: tuple[str, ...] = field(default=("first", "second"), init=False)
    zero_sum: bool = field(default=False, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise RedQueenError(f"iterated_dilemma has 1 to {MOST_ROUNDS} rounds, not {self.rounds}")
        if not self.temptation > self.reward > self.punishment > self.sucker:
            raise RedQueenError("a dilemma needs temptation > reward > punishment > sucker")

    @property
    def name(self) -> str:
        return titled("iterated_dilemma", self)

    def tasks(self) -> list[Task]:
        """The only task, since nothing is random."""
        return [Task("dilemma", "dilemma")]

    def play(self, task: Task, rng: Random) -> Play:
        messages = {seat: told(f"{self.rules()}\n\n{self.question(1)}") for seat in SEATS}
        scores = {FIRST: 0.0, SECOND: 0.0}
        gains: tuple[tuple[int, dict[str, float]], ...] = ()
        history: tuple[tuple[str, str], ...] = ()
        spoken = 0
        for number in range(1, self.rounds + 1):
            questions = [Ask(seat, messages[seat], (COOPERATE, DEFECT)) for seat in SEATS]
            answers = yield from ask_together(questions, self.retries)
            spoken += sum(answer.attempts for answer in answers)
            offenders = [seat for seat, answer in zip(SEATS, answers, strict=True) if not answer.legal]
            if offenders:
                remaining = self.rounds - number + 1
                won = {seat: remaining * (self.sucker if seat in offenders else self.punishment) for seat in SEATS}
            else:
                chosen = (answers[0].text, answers[1].text)
                history += (chosen,)
                won = {FIRST: self.payoff(*chosen), SECOND: self.payoff(*chosen[::-1])}
            scores = {seat: scores[seat] + won[seat] for seat in SEATS}
            gains += ((spoken - 1, {str(seat): won[seat] for seat in SEATS}),)
            if offenders:
                text = answers[SEATS.index(offenders[0])].text
                return Outcome(scores, {**offence(offenders[0], text), "history": history, "gains": gains})
            for seat, answer, other in zip(SEATS, answers, answers[::-1], strict=True):
                news = f"You chose {answer.text}, the other player chose {other.text}. You gained {won[seat]:g}."
                messages[seat] = (*answer.messages, Message(GAME, f"{news} {self.question(number + 1)}"))
        return Outcome(scores, {"history": history, "gains": gains})

    def payoff(self, mine: str, other: str) -> float:
        """The points of a seat that chose `mine`."""
        if mine == COOPERATE:
            return self.reward if other == COOPERATE else self.sucker
        return self.temptation if other == COOPERATE else self.punishment

    def rules(self) -> str:
        return (
            f"You are playing a game of {self.rounds} rounds with one other player. In each round both of you choose, "
            "at the same moment and without seeing the other's choice, to cooperate or to defect. "
            f"If both cooperate, each gains {self.reward:g} points. If both defect, each gains {self.punishment:g}. "
            f"If one defects and the other cooperates, the defector gains {self.temptation:g} "
            f"and the cooperator {self.sucker:g}."
        )

    def question(self, number: int) -> str:
        return f"Round {number} of {self.rounds}: cooperate or defect?"
