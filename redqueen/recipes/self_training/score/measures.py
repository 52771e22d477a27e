"""How well a player corrects itself on tasks that it was not trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from redqueen.games.second_try import SecondTry
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.protocols import Domain, Player, State
from redqueen.recipes.self_training.score.steps import changes, twice_graded
from redqueen.types import Metrics, Task


class SelfCorrection:
    """Two attempts at each held-out task, `times` times, on the same seeds at every measurement: what
    `steps.changes` counts, and of each level the accuracies (`accuracy_1/LEVEL`, `accuracy_2/LEVEL`)."""

    def __init__(
        self, domain: Domain, solver: Player, tasks: Mapping[str, Sequence[Task]], times: int = 4, seed: int = 0
    ) -> None:
        assert all(tasks.values()), "every level needs a task"
        self._domain = domain
        self._solver = solver
        self._tasks = tasks
        self._times = times
        self._seed = seed

    def __call__(self) -> Metrics:
        tasks = [task for group in self._tasks.values() for task in group]
        episodes = twice_graded(
            self._domain, play(alone(SecondTry(), tasks, self._solver, self._times), Random(self._seed))
        )
        metrics, start = changes(episodes), 0
        for level, group in self._tasks.items():
            found = changes(episodes[start : start + len(group) * self._times])
            metrics |= {f"{name}/{level}": found[name] for name in ("accuracy_1", "accuracy_2")}
            start += len(group) * self._times
        return metrics

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None
