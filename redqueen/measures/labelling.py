"""Labels by vote on problems that were proposed, and figures of these labels.

votes  = attempts(SOLVE, written, labeller, 8, rng)
tasks  = labels.elected(votes)
tries  = labels.graded(attempts(SOLVE, tasks, solver, 8, rng))
run.note(labels.check(written, tasks))
"""

from __future__ import annotations

from collections.abc import Sequence

from redqueen.measures.health import ProposerHealth
from redqueen.measures.proposals import audited
from redqueen.protocols import Questions, State
from redqueen.questions.asking import tasks_among
from redqueen.questions.labels import held_to_label, label_accuracy
from redqueen.questions.synthesis import elected
from redqueen.types import Group, Metrics, Refusal, Task, Truncated


class MajorityLabels:
    """The most common answer as the label of a task, where more than the share `above` of its votes agree. `truncated`
    says what a reply that was cut off counts as, in votes and against labels."""

    def __init__(self, questions: Questions, above: float = 0.5, truncated: Truncated = "wrong") -> None:
        self._questions = questions
        self._above = above
        self._truncated = truncated
        self._health = ProposerHealth()

    def elected(self, votes: Sequence[Group]) -> list[Task]:
        """The tasks that get a label, with it as their answer."""
        return elected(votes, self._above, self._truncated)

    def graded(self, tries: Sequence[Group]) -> list[Group]:
        """The groups of attempts at labelled tasks, with a verdict on each by its label."""
        return held_to_label(tries, self._truncated)

    def check(self, written: Sequence[Task | Refusal], labelled: Sequence[Task]) -> Metrics:
        """The figures of `ProposerHealth` and of `label_accuracy` for the proposals of a step and those of them that
        are `labelled` and learned from. The question set is asked what is right, for these figures alone."""
        found = self._health.check(audited(self._questions, written, labelled))
        return found | label_accuracy(self._questions, tasks_among(written), labelled)

    def alarms(self) -> list[str]:
        return self._health.alarms()

    def state(self) -> State:
        return self._health.state()

    def restore(self, state: State) -> None:
        self._health.restore(state)
