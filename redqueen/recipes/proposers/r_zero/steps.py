"""The pool of R-Zero, and what its two roles are paid (2508.05004)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from redqueen.credit.group_rewards import FromBelow, WithForm
from redqueen.credit.learnability import Tent
from redqueen.credit.novelty import Repetition
from redqueen.credit.outcomes import doubt
from redqueen.curricula.draws import Distinct, Uniform
from redqueen.curricula.store import TaskStore
from redqueen.questions.labels import held_to_label, labelled
from redqueen.types import Group, Refusal, Task, Truncated


def pool() -> TaskStore:
    """A store from which no task is drawn twice at a step."""
    return TaskStore(sampling=Distinct(Uniform()))


class Rewards:
    """What the roles earn. Tasks whose majority has a share within `band` are kept; `as_coded` is the released code's
    reward of the proposer. `truncated` says what an answer that was cut off counts as."""

    solver = WithForm(0.1)

    def __init__(self, band: tuple[float, float], as_coded: bool = False, truncated: Truncated = "wrong") -> None:
        self._truncated = truncated
        self._band = band
        self._as_coded = as_coded
        self._unsure = Tent(0.5 if as_coded else 1.0)
        self._repetition = Repetition()

    def proposer(self, written: Sequence[Task | Refusal], answers: Sequence[Group]) -> FromBelow:
        """What each proposal earns by the votes of the answers to its task, less its cluster's share of all proposals;
        nothing if it is no task."""
        repeated = self._repetition.of_tasks(written)
        unsure = doubt(self._unsure.at, answers, self._truncated)
        if self._as_coded:  # -1 for a proposal that is no task, which is a cluster of its own
            return FromBelow(answers, {"uncertainty": unsure, "repetition": -repeated}, -1.0 - 1.0 / len(written))
        earned = {"uncertainty": unsure}
        return FromBelow(answers, earned | {"repetition": -np.minimum(repeated, unsure)})

    def kept(self, answers: Sequence[Group]) -> list[Task]:
        """The tasks to learn from, labelled."""
        return labelled(answers, self._band, self._truncated)

    def graded(self, solutions: Sequence[Group]) -> list[Group]:
        """The groups with a verdict on each solution, by the label of its task."""
        return held_to_label(solutions, self._truncated)
