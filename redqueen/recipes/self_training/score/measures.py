"""How well a player corrects itself on tasks that it was not trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from random import Random

from redqueen.curricula.held_out import held_out
from redqueen.games.second_try import SecondTry
from redqueen.measures.accuracy import on_problems, within_limit
from redqueen.play.groups import attempts
from redqueen.protocols import Player, Questions, State
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.self_training.score.steps import changes, twice_graded
from redqueen.types import Basis, Metrics, Task


class SelfCorrection:
    """Two attempts at each held-out task (`tasks` by level, or how many of each), `times` times, on the same seeds at
    every measurement: what `steps.changes` counts, and of each level the accuracies (`accuracy_1/LEVEL`,
    `accuracy_2/LEVEL`)."""

    def __init__(
        self,
        questions: Questions,
        solver: Player,
        tasks: Mapping[str, Sequence[Task]] | int,
        times: int = 4,
        seed: int = 0,
        truncated: Truncated = "wrong",
    ) -> None:
        self.tests = held_out(questions, tasks, seed=seed) if isinstance(tasks, int) else tasks
        assert all(self.tests.values()), "every level needs a task"
        self._questions = questions
        self._solver = solver
        self._tasks: Mapping[str, Sequence[Task]] = self.tests
        self._times = times
        self._seed = seed
        self._truncated = truncated

    def __call__(self) -> Metrics:
        tasks = [task for group in self._tasks.values() for task in group]
        pairs = twice_graded(
            self._questions,
            attempts(SecondTry(), tasks, self._solver, self._times, Random(self._seed)),
            self._truncated,
        )
        metrics, left = changes(pairs), iter(pairs)
        for level, of_level in self._tasks.items():
            found = changes(list(islice(left, len(of_level))))
            metrics |= {f"{name}/{level}": found[name] for name in ("accuracy_1", "accuracy_2") if name in found}
        return metrics

    def basis(self) -> dict[str, Basis]:
        found = on_problems([task for tasks in self._tasks.values() for task in tasks], self._times)
        return {"accuracy_1": found, "accuracy_2": found}

    def limit(self, replies: int) -> None:
        self._tasks, self._times = within_limit(self.tests, self._times, replies, 2)

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None
