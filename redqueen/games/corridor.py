"""A walk of some steps to a door, within so many turns: a small world for one seat, whose reward comes at its end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from redqueen.games.talk import ask, told
from redqueen.protocols import Play
from redqueen.types import Outcome, RedQueenError, Seat, Task

WALKER = Seat("walker")
CHOICES = ("go", "stay", "back")


@dataclass(frozen=True)
class Corridor:
    """The door is `nearest`, 2, ... up to `farthest` steps away, a task for every second distance. "go" and "back" are
    a step, "back" at the start stays there. Who reaches the door scores 1; whose turns are used up scores 0, with the
    fact `cut`. The seat is shown how far the door is and how many turns are left; without a `clock` the distance alone,
    so that a table shares what it learns at one distance with all turns.

    "stay" pays `farm` at once, for experiments with rewards that can be farmed.
    """

    nearest: int = 2
    farthest: int = 10
    turns: int = 20
    farm: float = 0.0
    clock: bool = True
    retries: int = 0  # second chances after an illegal reply, before it is a forfeit
    name: str = field(default="corridor", init=False)
    roles: tuple[str, ...] = field(default=("walker",), init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.nearest <= self.farthest or self.turns < 1:
            raise RedQueenError(
                f"a corridor has doors 1 step away or more, the nearest first, and 1 turn or more, not "
                f"{self.nearest} to {self.farthest} and {self.turns} turns"
            )

    @property
    def perfect_information(self) -> bool:
        """Whether the seat sees all that counts."""
        return self.clock

    def tasks(self) -> list[Task]:
        """A walk for every second distance."""
        distances = range(self.nearest, self.farthest + 1, 2)
        return [Task(f"{steps} steps", "corridor", facts={"steps": steps}) for steps in distances]

    def within(self, turns: int) -> Corridor:
        """The same walks with at most so many turns."""
        return replace(self, turns=turns)

    def play(self, task: Task, rng: Random) -> Play:
        left, paid = task.facts["steps"], 0.0
        for turn in range(self.turns):
            shown = f"Steps to the door: {left}." + (f" Turns left: {self.turns - turn}." if self.clock else "")
            text = yield from ask(WALKER, told(shown), CHOICES, self.retries)
            if text not in CHOICES:
                return Outcome({WALKER: paid}, {"forfeit": str(WALKER), "reason": "illegal" if text else "malformed"})
            paid += self.farm * (text == "stay")
            left = min(left + {"go": -1, "stay": 0, "back": 1}[text], task.facts["steps"])
            if not left:
                return Outcome({WALKER: 1.0 + paid}, {"cut": False})
        return Outcome({WALKER: paid}, {"cut": True})
