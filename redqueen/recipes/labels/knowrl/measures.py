"""How well a model knows what it can do: its verdicts on held-out tasks against its solve rates."""

from __future__ import annotations

from random import Random

import numpy as np

from redqueen.credit.outcomes import verdicts
from redqueen.curricula.held_out import Apart
from redqueen.measures.accuracy import on_problems, within_limit
from redqueen.play.groups import attempts
from redqueen.protocols import Player, Questions, State
from redqueen.questions.asking import SOLVE, graded, mean_known
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.labels.knowrl.steps import ASSESS, FEASIBLE, INFEASIBLE, Said, about_reach, read_verdicts, verdict
from redqueen.types import Basis, Mean, Metrics

TRIES = 8  # solutions and verdicts of each task
_AS_NUMBER = {FEASIBLE: 1.0, INFEASIBLE: 0.0}
WITHIN = 0.5  # solve rate from which on a task is within reach


class Boundary:
    """What a model says of its reach on the held-out `tests`, against how often it solves them: `boundary_f1` of
    feasible and `boundary_accuracy`, the mean of the shares of tasks within and beyond reach whose commonest verdict is
    right; both left out where the set knows no answers, or holds one class alone. A tie is wrong."""

    def __init__(
        self, questions: Questions, learner: Player, tests: Apart, seed: int, truncated: Truncated, said: Said
    ) -> None:
        self._tests, self._tries = tests, TRIES
        self._tasks = [task for tasks in tests.values() for task in tasks]
        self._questions, self._learner, self._seed, self._said = questions, learner, seed, said
        self._truncated: Truncated = truncated

    def __call__(self) -> Metrics:
        tries = attempts(SOLVE, self._tasks, self._learner, self._tries, Random(self._seed))
        rates = np.array([mean_known(verdicts(group)) for group in graded(self._questions, tries, self._truncated)])
        shown = [about_reach(task, self._said) for task in self._tasks]
        groups = read_verdicts(attempts(ASSESS, shown, self._learner, self._tries, Random(self._seed)))
        told = np.array([_AS_NUMBER.get(verdict(group).answer, np.nan) for group in groups])
        known = ~np.isnan(rates)
        return boundary(told[known], rates[known] >= WITHIN)

    def basis(self) -> dict[str, Basis]:
        found = on_problems(self._tasks, self._tries, guesses=False)
        return dict.fromkeys(("boundary_f1", "boundary_accuracy"), found)

    def limit(self, replies: int) -> None:
        attempted, self._tries = within_limit(self._tests, self._tries, replies, 2)
        self._tasks = [task for tasks in attempted.values() for task in tasks]

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


def boundary(told: np.ndarray, within: np.ndarray) -> Metrics:
    """F1 of feasible, and the mean of the shares that are right of both classes; nothing where there is one class
    alone. [tasks] each: 1 for a task that was called feasible, 0 for infeasible, NaN for neither, which is wrong; and
    whether it is."""
    if not within.any() or within.all():
        return {}
    hits = float((told[within] == 1.0).sum())
    shares = (hits / within.sum(), float((told[~within] == 0.0).sum() / (~within).sum()))
    return {
        "boundary_f1": Mean(2.0 * hits / float((told == 1.0).sum() + within.sum()), len(told)),
        "boundary_accuracy": Mean(sum(shares) / 2.0, len(told)),
    }
