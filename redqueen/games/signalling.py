"""Signalling: a sender who knows a number and a receiver who has to guess it, after one message that costs nothing.

Cheap talk (Crawford and Sobel 1982) in numbers from 1 to `states`. The task holds the number s, all equally likely; the
sender names any of them, the receiver answers with its guess a. The sender would have it guess `bias` too high:

    receiver  1 - (a - s)^2 / D,     sender  1 - (a - s - bias)^2 / D,     D = (states - 1 + bias)^2

so that both score from 0 to 1. Without bias telling the truth and believing it is an equilibrium with a score of 1 for
both; above a bias of 1/2 it is none, since the next higher number pays more. Saying the same whatever the number, and
guessing best without it, is an equilibrium at any bias. A seat that breaks the rules ends the match: both score 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from redqueen.games.talk import ask, offence, titled, told
from redqueen.protocols import Play
from redqueen.types import Outcome, RedQueenError, Seat, Task

SEATS = SENDER, RECEIVER = Seat("sender"), Seat("receiver")


@dataclass(frozen=True)
class Signalling:
    states: int = 3
    bias: float = 0.0
    retries: int = 0  # second chances after an illegal reply, before it ends the match
    roles: tuple[str, ...] = field(default=("sender", "receiver"), init=False)
    zero_sum: bool = field(default=False, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.states < 2 or self.bias < 0:
            raise RedQueenError(
                f"signalling needs 2 numbers or more and a bias of at least 0, not {self.states} and {self.bias:g}"
            )

    @property
    def heard_by(self) -> Mapping[str, tuple[str, ...]]:
        return {"sender": ("receiver",)}

    @property
    def name(self) -> str:
        return titled("signalling", self)

    def tasks(self) -> list[Task]:
        return [Task(f"number-{state}", facts={"state": state}) for state in range(1, self.states + 1)]

    def play(self, task: Task, rng: Random) -> Play:
        state = int(task.facts["state"])
        numbers = tuple(str(number) for number in range(1, self.states + 1))
        rules = f"A number from 1 to {self.states} was drawn. The sender sees it and names a number, true or not."
        aim = f"{self.bias:g} above it" if self.bias else "it"
        sends = f"{rules} The receiver then guesses it; you gain the more, the nearer the guess is to {aim}."
        said = yield from ask(
            SENDER, told(f"{sends} You are the sender. It is {state}. What do you say?"), numbers, self.retries
        )
        if said not in numbers:
            return Outcome(dict.fromkeys(SEATS, 0.0), {**offence(SENDER, said), "history": ()})
        guesses = f"{rules} You guess it; you gain the more, the nearer you are. The sender wants {aim} guessed."
        guess = yield from ask(
            RECEIVER, told(f"{guesses} The sender says {said}. What is your guess?"), numbers, self.retries
        )
        if guess not in numbers:
            return Outcome(dict.fromkeys(SEATS, 0.0), {**offence(RECEIVER, guess), "history": (said,)})
        return Outcome(dict(zip(SEATS, self.payoffs(state, int(guess)), strict=True)), {"history": (said, guess)})

    def payoffs(self, state: int, guess: int) -> tuple[float, float]:
        """What the sender and the receiver gain."""
        most = (self.states - 1 + self.bias) ** 2
        return 1.0 - (guess - state - self.bias) ** 2 / most, 1.0 - (guess - state) ** 2 / most
