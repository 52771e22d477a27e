"""MR-RLVR on problems worked out in steps: what masked and shuffled solutions add before answers are rewarded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from redqueen.credit.rewards import score
from redqueen.protocols import Questions
from redqueen.questions.small.worked import Worked
from redqueen.recipes.labels.mr_rlvr import recipe
from redqueen.recipes.labels.mr_rlvr.steps import FRACTION, LETTERS, WANTED, chained, filling, ordering
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.controls import swapped
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import Start, warmed
from redqueen.types import SOLVER, Demonstration, Task, Trajectory

WORKED, NAME = "worked", "experiments.mr_rlvr:practised"


@dataclass(frozen=True)
class Practised(Worked):
    """Problems of which a third is shown worked out, and of the solutions of others a third each with numbers to fill
    in and steps to put in order; a value or letter is wrong in `slip` of those."""

    slip: float = 0.4
    name: str = "practised"

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        shown = super().demonstrations(count, rng)
        return [self._as(number % 3, one, rng) for number, one in enumerate(shown)]

    def _as(self, kind: int, shown: Demonstration, rng: Random) -> Demonstration:
        steps = shown.text.split("\n")
        run = chained(steps)
        if kind == 1 and (task := filling(shown.task, steps, sorted(rng.sample(range(len(steps)), len(steps) // 2)))):
            return self._slipping(shown, task, lambda: str(rng.randrange(10, 80)), rng)
        if kind == 2 and len(run) > 1:
            task = ordering(shown.task, run, rng.sample(range(len(run)), len(run)))
            return self._slipping(shown, task, lambda: rng.choice(LETTERS[: len(run)]), rng)
        return shown

    def _slipping(self, shown: Demonstration, task: Task, other: Callable[[], str], rng: Random) -> Demonstration:
        """A masked task under the name of its problem, so that no start sees one that measures."""
        said = [other() if rng.random() < self.slip else each for each in task.facts[WANTED]]
        return Demonstration(SOLVER, replace(task, id=shown.task.id), " ".join(said))


def practised() -> Questions:
    """Returns the problems, as a question set that is found by name."""
    return Practised()


WARM = cold_start.Config(
    learner=Learner(model="tiny:hidden=96,layers=3", max_completion_length=32, learning_rate=2e-3),
    questions=NAME,
    steps=1000,
    demonstrations_per_step=96,
    rest=100,
    problems=32,
)
PLAIN, DEALT = "answers alone, equal rollouts", "fractions dealt anew"


@dataclass(frozen=True)
class Method:
    """MR-RLVR, or the same with the rewards of its first stage dealt anew."""

    method: recipe.Config
    dealt: bool = False


def dealt_first(played: Sequence[Any], *rewards: Any) -> list[Trajectory]:
    """`score`, with the fractions of a batch dealt anew among its attempts."""
    found = score(played, *rewards)
    if not all(FRACTION in each.episode.outcome.facts for each in found):
        return found
    given = [each.rewards for each in found]
    Random(played[0].number).shuffle(given)
    return [replace(each, rewards=own) for each, own in zip(found, given, strict=True)]


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        with swapped(recipe, {"score": dealt_first if config.dealt else score}):
            return Training(recipe.train, evaluate_every=20)(config.method, seed, folder)


STEPS = Experiment(
    title="MR-RLVR on problems worked out in steps",
    asked="At equal rollouts, do fill-in and reorder tasks first reach further than answers alone?",
    trial=OneSeed(),
    config=Method(recipe.Config(learner=warmed(1e-4, max_completion_length=32), questions=WORKED)),
    starts={"method.learner.model": Start(WARM)},
    variants={
        "fill first": {},
        "order first": {"method.first": "order"},
        PLAIN: {"method.first": "none"},
        DEALT: {"dealt": True},
    },
    figures=(
        *("first accuracy", "accuracy", "first pass@8", "pass@8"),
        *("first masked/fill", "late masked/fill", "first masked/order", "late masked/order"),
    ),
    compared=(
        *versus("fill first", ("order first", PLAIN, DEALT), ("accuracy", "pass@8")),
        Difference("fill first", "fill first", "late masked/fill", "first masked/fill"),
        Difference("order first", "order first", "late masked/order", "first masked/order"),
    ),
    controls=(PLAIN, DEALT),
    seeds=5,
    notes=(
        "The start was shown problems worked out and, a third each, solutions with numbers to fill in and with steps "
        "to put in order, with slips. First masked: of the first step; late masked: of the last fifth of the steps "
        "that have such tasks.",
    ),
)
