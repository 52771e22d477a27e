"""Data sets of reasoning-gym as a question set: problems without end, made by programs, scored by the library's rules.

    --questions reasoning_gym:dataset=chain_sum+countdown
    --questions "reasoning_gym:dataset=chain_sum(max_terms=2)+chain_sum(min_terms=5,max_terms=6)"

Each data set is a level, under the name it is given here; settings in brackets are the fields of its config. Problems
are made from seeds that are drawn, those for tests as those for training, which is why recipes keep the prompts of the
tests from training. Nobody proposes tasks to it. Needs the extra `gym`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

from redqueen.adapters.reasoning_gym_checks import ReasoningGym
from redqueen.types import RedQueenError, Task

Source = tuple[str, Mapping[str, Any]]  # the name of a data set, and its settings


@dataclass(frozen=True)
class Reasoning:
    """See the module. Raises RedQueenError for a data set or a setting that the library does not have."""

    dataset: str = "basic_arithmetic"  # several as in chain_sum+countdown
    threshold: float = 1.0  # what a right answer scores at least
    seconds: float = 10.0  # of processor time for the problems of one draw, or for one answer
    name: str = field(default="reasoning_gym", repr=False)

    def __post_init__(self) -> None:
        for level in self.levels:
            self._made(level, 1, 0)  # what is wrong is said before a model is loaded

    @cached_property
    def _sources(self) -> dict[str, Source]:
        try:
            return _sources(ast.parse(self.dataset.strip(), mode="eval").body)
        except (SyntaxError, ValueError):
            raise RedQueenError(
                f"{self.dataset!r} names no data sets of reasoning-gym: write dataset=chain_sum+countdown, with "
                "settings dataset=chain_sum(max_terms=3)"
            ) from None

    @cached_property
    def _gym(self) -> ReasoningGym:
        return ReasoningGym(self.threshold, self.seconds)

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(self._sources)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        """Whether the library gives the answer `threshold` or more; one on which it comes to no verdict in its time is
        not right."""
        return [verdict is True for verdict in self._gym.verdicts(tasks, answers)]

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        """The first ones of a data set under a seed that is drawn; a small data set may repeat itself."""
        return self._made(level, count, rng.getrandbits(31)) if count else []

    def _made(self, level: str, count: int, seed: int) -> list[Task]:
        if level not in self._sources:
            raise RedQueenError(f"{self.name} has no level {level!r}: its levels are {', '.join(self.levels)}")
        dataset, settings = self._sources[level]
        return self._gym.tasks(dataset, count, seed, settings)


def _sources(node: ast.expr) -> dict[str, Source]:
    """The data sets that an expression adds up, by their names as they are given. Nothing is run."""
    match node:
        case ast.BinOp(left, ast.Add(), right):
            return _sources(left) | _sources(right)
        case ast.Name(name):
            return {name: (name, {})}
        case ast.Call(ast.Name(name), [], settings):
            return {ast.unparse(node): (name, {str(each.arg): ast.literal_eval(each.value) for each in settings})}
    raise ValueError(node)
