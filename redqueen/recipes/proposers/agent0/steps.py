"""The pool of Agent0, its executor's tool, and what its two roles are paid (2511.16043)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from redqueen.credit.group_rewards import FromBelow, correct
from redqueen.credit.learnability import Tent
from redqueen.credit.novelty import Repetition
from redqueen.credit.outcomes import calls, doubt
from redqueen.curricula.draws import Distinct, Uniform
from redqueen.curricula.store import TaskStore
from redqueen.demonstrations.rehearsal import Equipped, with_tool
from redqueen.protocols import Player
from redqueen.questions.labels import held_to_label, labelled
from redqueen.settings.limits import refuse_unused
from redqueen.types import Group, Refusal, Task, Truncated


def pool() -> TaskStore:
    """A store from which no task is drawn twice at a step."""
    return TaskStore(sampling=Distinct(Uniform()))


def equipped(config: Any, solver: Player) -> Equipped:
    """The solver with the tool of `config`, which it may call as often as is paid."""
    if config.tool == "none":
        refuse_unused(config, ["per_call", "most_calls"], "--tool none")
    return with_tool(solver, config.tool, config.most_calls)


class Rewards:
    """What the roles earn. Tasks whose majority has a share within `band` are kept; of the calls of a tool `most_calls`
    are paid `per_call` each. Another `repetition` is for comparisons. `truncated` says what an answer that was
    cut off counts as."""

    solver = correct

    def __init__(
        self,
        band: tuple[float, float],
        per_call: float,
        most_calls: int,
        repetition: Repetition = Repetition(),
        truncated: Truncated = "wrong",
    ) -> None:
        self._truncated = truncated
        self._band = band
        self._per_call = per_call
        self._most_calls = most_calls
        self._unsure = Tent()
        self._repetition = repetition

    def proposer(self, written: Sequence[Task | Refusal], answers: Sequence[Group]) -> FromBelow:
        """What each proposal earns by the votes of the answers to its task and by the calls of a tool in them, less its
        cluster's share of all proposals; nothing if it is no task."""
        repeated = self._repetition.of_tasks(written)
        unsure = doubt(self._unsure.at, answers, self._truncated)
        called = np.array([self._per_call * min(calls(group), self._most_calls) for group in answers])
        earned = {"uncertainty": unsure, "calls": called}
        return FromBelow(answers, earned | {"repetition": -np.minimum(repeated, unsure + called)})

    def kept(self, answers: Sequence[Group]) -> list[Task]:
        """The tasks to learn from, labelled."""
        return labelled(answers, self._band, self._truncated)

    def graded(self, solutions: Sequence[Group]) -> list[Group]:
        """The groups with a verdict on each solution, by the label of its task."""
        return held_to_label(solutions, self._truncated)
