"""The levels of a question set as curricula, one each: the arms of a bandit, or the sets of a data set."""

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
    """New problems of one level at every draw but for those held out, each marked with its level."""

    questions: Questions
    name: str
    apart: Apart = field(default_factory=dict, repr=False)

    def draw(self, count: int, rng: Random) -> list[Task]:
        return [
            replace(task, facts={**task.facts, LEVEL: self.name})
            for task in problems_apart(self.apart, self.questions, self.name, count, rng)
        ]

    def observe(self, episodes: Sequence[Episode]) -> None:
        """Nothing: what is dealt does not depend on what became of it."""


def levels_of(questions: Questions, apart: Apart = MappingProxyType({})) -> dict[str, Level]:
    """A curriculum for every level that is for training, in the question set's order."""
    return {name: Level(questions, name, apart) for name in training_levels(questions)}


def level_of(task: Task) -> str:
    """The level that a task was dealt from. Raises RedQueenError for one that no `Level` dealt."""
    if LEVEL not in task.facts:
        raise RedQueenError(f"task {task.id!r} was dealt from no level: draw it from levels_of(questions)")
    return str(task.facts[LEVEL])
