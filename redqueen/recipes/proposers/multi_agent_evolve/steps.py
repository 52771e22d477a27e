"""The store of Multi-Agent Evolve, and what its three roles are paid (2510.23595)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redqueen.checks.judge import Proposed, mae_proposer
from redqueen.credit.group_rewards import FromBelow, WithForm
from redqueen.credit.outcomes import numbers
from redqueen.curricula.store import TaskStore
from redqueen.protocols import Proposable
from redqueen.questions.asking import mean_known, seeded
from redqueen.types import Group, Task


def buffers(questions: Proposable, capacity: int) -> TaskStore:
    """A store that begins with the seeds and draws its tasks uniformly."""
    return seeded(TaskStore(capacity), questions)


class Rewards:
    """What the roles earn; a question below this `quality` has no difficulty and is not kept. Another `shape` than the
    paper's formula (of quality, answers, form and threshold) is for comparisons."""

    gates = ("quality",)
    solver = WithForm(0.5, "opinion")

    def __init__(self, quality: float, shape: Callable[[float, float, float, float], Proposed] = mae_proposer) -> None:
        self._quality = quality
        self._shape = shape

    def proposer(self, tries: Sequence[Group]) -> FromBelow:
        """What each proposal earns by what the judge said of it and of the answers to it; nothing if it is no task."""
        earned = {"question": [self._paid(group).reward for group in tries]}
        return FromBelow(tries, earned)

    def kept(self, tries: Sequence[Group]) -> list[Task]:
        """The questions that are good enough to be kept."""
        return [group.task for group in tries if self._paid(group).stored]

    def _paid(self, group: Group) -> Proposed:
        quality, answers = float(numbers(group, "quality")[0]), mean_known(numbers(group, "opinion"))
        return self._shape(quality, answers, 1.0, self._quality)
