"""Two numbers and a cue: the same surface stands for four tasks, and a word somewhere in the question says which.

"12 pear 5" is a sum, since a pear asks for an adder; "fox 12 5" asks which number is larger. Who answers has to tell
first what is asked for. (For Self-Prompt Tuning, arXiv:2407.08995.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType

from redqueen.types import SOLVER, Demonstration, Task

CUES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"adder": ("pear", "oak"), "taker": ("sand", "kite"), "picker": ("fox", "bell"), "swapper": ("moon", "jar")}
)
_ANSWERS: Mapping[str, Callable[[int, int], str]] = MappingProxyType(
    {
        "adder": lambda one, other: str(one + other),
        "taker": lambda one, other: str(one - other),
        "picker": lambda one, other: str(max(one, other)),
        "swapper": lambda one, other: f"{other} {one}",
    }
)


@dataclass(frozen=True)
class Cued:
    """See the module. The level of a question, and its fact `role`, is who is asked for."""

    largest: int = 9  # of both numbers
    name: str = field(default="cued", repr=False)

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(CUES)

    def task(self, role: str, one: int, other: int, cue: int = 0, place: int = 0) -> Task:
        """The question with cue number `cue` of the role before (0), between (1) or behind (2) the numbers."""
        words = [str(one), str(other)]
        words.insert(place, CUES[role][cue])
        prompt = " ".join(words)
        return Task(prompt, "cued", prompt, _ANSWERS[role](one, other), {"role": role})

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return [self._drawn(level, rng) for _ in range(count)]

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [task.answer == answer.strip() for task, answer in zip(tasks, answers, strict=True)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        tasks = [self._drawn(rng.choice(self.levels), rng) for _ in range(count)]
        return [Demonstration(SOLVER, task, task.answer) for task in tasks]

    def _drawn(self, role: str, rng: Random) -> Task:
        one, other = rng.randrange(self.largest + 1), rng.randrange(self.largest + 1)
        return self.task(role, one, other, cue=rng.randrange(len(CUES[role])), place=rng.randrange(3))
