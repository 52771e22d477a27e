"""How well a critic tells wrong steps from right ones, what a generator gets past it, and what its word is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from random import Random

from redqueen.curricula.held_out import held_out
from redqueen.measures.accuracy import spread, within_limit
from redqueen.opponents.pools import Snapshots
from redqueen.play.lockstep import play, seeded
from redqueen.play.seating import alone
from redqueen.protocols import Player, State
from redqueen.questions.small.step_traces import Criticised
from redqueen.recipes.adversaries.spc.steps import CRITICISE, Side, chosen, deception, verdicts
from redqueen.types import Basis, Mean, Metrics, Task, mean_of

RIGHT = "right"  # the level of a question set whose steps have no error


class ErrorSet:
    """A critic on a frozen set of steps, on the same seeds at every measurement: `accuracy/LEVEL`; `false_alarm`, the
    share of right steps called wrong; `balanced_accuracy`, the mean of the accuracy on right steps and of that on wrong
    ones (the mean over the kinds of errors); `unread`. With `problems` also `guided`, `majority` and `first_attempt`
    (`recipes.adversaries.spc.steps.chosen`) over `problems` problems with `attempts` each."""

    def __init__(
        self, questions: Criticised, critic: Player, count: int, problems: int = 0, attempts: int = 8, seed: int = 0
    ) -> None:
        self._critic = critic
        self._groups: Mapping[str, Sequence[Task]] = held_out(questions, count, seed=seed)
        assert RIGHT in self._groups, "a set of errors needs right steps beside them"
        self._solved = questions.solutions(problems, attempts, Random(seed)) if problems else []
        self._seed = seed

    def limit(self, replies: int) -> None:
        """Half of them to steps, half to attempts."""
        self._groups, _ = within_limit(self._groups, 1, replies // 2)
        of_one = len([step for attempt in self._solved[0].attempts for step in attempt.steps]) if self._solved else 0
        self._solved = self._solved[: max(replies // (2 * of_one), 1)] if replies and of_one else self._solved

    @property
    def tasks(self) -> list[Task]:
        """All steps that the critic is measured on."""
        attempts = (attempt for solved in self._solved for attempt in solved.attempts)
        return [*chain(*self._groups.values()), *(step for attempt in attempts for step in attempt.steps)]

    def __call__(self) -> Metrics:
        found, unread = {}, list[bool]()
        matches = [seeded(alone(CRITICISE, tasks, self._critic), self._seed) for tasks in self._groups.values()]
        all_called = iter(verdicts(play([*chain(*matches)], Random(self._seed))))
        for level, tasks in self._groups.items():
            called = [*islice(all_called, len(tasks))]
            found[level] = mean_of(verdict == task.answer for verdict, task in zip(called, tasks, strict=True))
            unread += [verdict is None for verdict in called]
        wrong = mean_of(share for level, share in found.items() if level != RIGHT)
        metrics = {f"accuracy/{level}": share for level, share in found.items()} | {
            "balanced_accuracy": Mean((found[RIGHT] + wrong) / 2, len(unread)),
            "false_alarm": Mean(1.0 - found[RIGHT], found[RIGHT].count),
            "unread": mean_of(unread),
        }
        return metrics | (chosen(self._solved, self._critic, Random(self._seed)) if self._solved else {})

    def basis(self) -> dict[str, Basis]:
        steps = {level: Basis(count=len(tasks), of="held-out steps") for level, tasks in self._groups.items()}
        bases = {f"accuracy/{level}": found for level, found in steps.items()}
        return bases | {"balanced_accuracy": Basis(of="held-out steps", references={"guesses": 0.5})}

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


class Deception:
    """The generator as it is now and as it was when the round began, both against the critic of that time:
    `deceived/now` and `deceived/before`, `valid/now` and `valid/before`."""

    def __init__(
        self,
        questions: Criticised,
        generator: Player,
        generators: Snapshots,
        critics: Snapshots,
        count: int,
        seed: int = 0,
    ) -> None:
        self._questions = questions
        self._generator = generator
        self._generators = generators
        self._critics = critics
        self.tasks = questions.invitations(count, Random(seed))
        self._seed = seed

    def limit(self, replies: int) -> None:
        self.tasks = spread(self.tasks, replies and max(replies // 4, 1))  # of two generators, each judged

    def __call__(self) -> Metrics:
        critic = self._critics.players[-1]
        metrics: Metrics = {}
        for when, generator in (("now", self._generator), ("before", self._generators.players[-1])):
            found = deception(self._questions, generator, critic, self.tasks, self._seed)
            metrics |= {f"{name}/{when}": value for name, value in found.items()}
        return metrics

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


class Measured:
    """Both measures of a run: the critic's errors, and what the generator gets past it. `held` are the ids of the tasks
    that they measure on, from which nobody learns."""

    def __init__(self, questions: Criticised, critic: Side, generator: Side, problems: int, seed: int) -> None:
        self._errors = ErrorSet(questions, critic.policy, problems, problems=problems, seed=seed)
        self._duel = Deception(questions, generator.policy, generator.pool, critic.pool, 4 * problems, seed=seed)
        self.held = {task.id for task in [*self._errors.tasks, *self._duel.tasks]}

    def __call__(self) -> Metrics:
        return {**self._errors(), **self._duel()}

    def basis(self) -> dict[str, Basis]:
        return self._errors.basis()

    def limit(self, replies: int) -> None:
        """Half of them to each measure."""
        for measure in (self._errors, self._duel):
            measure.limit(replies and max(replies // 2, 2))

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None
