"""Data sets of reasoning-gym as a question set: unlimited problems made by programs, scored by the library's rules.

    --questions reasoning_gym:dataset=chain_sum+countdown
    --questions "reasoning_gym:dataset=chain_sum(max_terms=2)+chain_sum(min_terms=5,max_terms=6)"

Each data set is a level, named as written here; settings in brackets are the fields of its config. Problems for tests
and for training are both made from drawn seeds, so recipes keep the prompts of the tests out of training. It takes no
proposals. Needs the extra `gym`.
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
    """See the module. Raises RedQueenError for an unknown data set or setting."""

    dataset: str = "basic_arithmetic"  # several as in chain_sum+countdown
    threshold: float = 1.0  # what a right answer scores at least
    seconds: float = 10.0  # of processor time for the problems of one draw, or for one answer
    name: str = field(default="reasoning_gym", repr=False)

    def __post_init__(self) -> None:
        for level in self.levels:
            self._made(level, 1, 0)  # errors are raised before a model is loaded

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
        """For each answer whether the library scores it `threshold` or more; false if it gives no verdict within
        `seconds`."""
        return [verdict is True for verdict in self._gym.verdicts(tasks, answers)]

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        """The first `count` tasks of the data set `level` under a drawn seed; a small data set may repeat tasks."""
        return self._made(level, count, rng.getrandbits(31)) if count else []

    def _made(self, level: str, count: int, seed: int) -> list[Task]:
        if level not in self._sources:
            raise RedQueenError(f"{self.name} has no level {level!r}: its levels are {', '.join(self.levels)}")
        dataset, settings = self._sources[level]
        return self._gym.tasks(dataset, count, seed, settings)


def _sources(node: ast.expr) -> dict[str, Source]:
    """The data sets in an expression such as a + b(x=1), by their names as written. Nothing is evaluated."""
    match node:
        case ast.BinOp(left, ast.Add(), right):
            return _sources(left) | _sources(right)
        case ast.Name(name):
            return {name: (name, {})}
        case ast.Call(ast.Name(name), [], settings):
            return {ast.unparse(node): (name, {str(each.arg): ast.literal_eval(each.value) for each in settings})}
    raise ValueError(node)
