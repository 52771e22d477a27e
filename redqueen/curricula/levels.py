"""One curriculum for each level of a question set: the arms of a bandit, or the sets of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from types import MappingProxyType

from redqueen.curricula.held_out import Apart, problems_apart, training_levels
from redqueen.protocols import Questions
from redqueen.types import Episode, RedQueenError, Task

LEVEL = "level"  # the fact that says which level a task was dealt from


@dataclass(frozen=True)
class Level:
    """Draws new problems of one level, none held out, each marked with its level."""

    questions: Questions
    name: str
    apart: Apart = field(default_factory=dict, repr=False)

    def draw(self, count: int, rng: Random) -> list[Task]:
        return [
            replace(task, facts={**task.facts, LEVEL: self.name})
            for task in problems_apart(self.apart, self.questions, self.name, count, rng)
        ]

    def observe(self, episodes: Sequence[Episode]) -> None:
        """Does nothing: draws do not depend on results."""


def levels_of(questions: Questions, apart: Apart = MappingProxyType({})) -> dict[str, Level]:
    """One curriculum for every training level, in the question set's order."""
    return {name: Level(questions, name, apart) for name in training_levels(questions)}


def level_of(task: Task) -> str:
    """The level from which a task was drawn. Raises RedQueenError for a task not drawn from a `Level`."""
    if LEVEL not in task.facts:
        raise RedQueenError(f"task {task.id!r} was dealt from no level: draw it from levels_of(questions)")
    return str(task.facts[LEVEL])
