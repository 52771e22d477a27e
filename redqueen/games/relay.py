"""Relay: two agents who speak in order about one sum, of which each sees a part.

The planner sees a number x and says one of the numbers; the solver hears it, sees a number y, and answers with x + y,
counted round from 0 to `numbers` - 1. Both score 1 if that is right, else 0, so that neither gains alone: without a
word that tells x the solver is right one time in `numbers`, and a word is worth nothing to a solver that does not
listen. A seat that breaks the rules ends the match, which then scores 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from random import Random

from redqueen.games.talk import ask, offence, titled, told
from redqueen.protocols import Play
from redqueen.types import SOLVER, Outcome, RedQueenError, Seat, Task

SEATS = PLANNER, LAST = Seat("planner"), Seat(SOLVER)
MOST = 100


@dataclass(frozen=True)
class Relay:
    numbers: int = 4
    retries: int = 0  # second chances after an illegal reply, before it ends the match
    roles: tuple[str, ...] = field(default=("planner", SOLVER), init=False)
    zero_sum: bool = field(default=False, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not 2 <= self.numbers <= MOST:
            raise RedQueenError(f"relay is played with 2 to {MOST} numbers, not {self.numbers}")

    @property
    def heard_by(self) -> Mapping[str, tuple[str, ...]]:
        return {"planner": (SOLVER,)}

    @property
    def name(self) -> str:
        return titled("relay", self)

    def tasks(self) -> list[Task]:
        pairs = product(range(self.numbers), repeat=2)
        return [Task(f"{x}+{y}", "sum", answer=str((x + y) % self.numbers), facts={"parts": (x, y)}) for x, y in pairs]

    def play(self, task: Task, rng: Random) -> Play:
        x, y = task.facts["parts"]
        words, said = tuple(map(str, range(self.numbers))), list[str]()
        rules = f"Wanted: x + y, counted round from 0 to {self.numbers - 1}."
        shown = {
            PLANNER: f"{rules} Another finds it, who sees y and hears one number from you. x is {x}. Your number?",
            LAST: f"{rules} Another, who sees x, says {{}}. y is {y}. The sum?",
        }
        for seat, text in shown.items():
            reply = yield from ask(seat, told(text.format(*said)), words, self.retries)
            if reply not in words:
                return Outcome(dict.fromkeys(SEATS, 0.0), {**offence(seat, reply), "history": tuple(said)})
            said.append(reply)
        right = said[-1] == task.answer
        return Outcome(dict.fromkeys(SEATS, float(right)), {"history": tuple(said), "right": right})
