"""ExPO on stories of which half can be worked back only, by a model that works on: never right there, unless told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from unittest.mock import patch

from redqueen.questions.small.variants import Variants, worked
from redqueen.questions.taught import Taught, TaughtProposable, taught
from redqueen.recipes.credit.expo import recipe, steps
from redqueen.recipes.credit.expo.steps import with_answer
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import Start, warmed
from redqueen.types import SOLVER, Demonstration, Task

NAME = "experiments.expo:explained"
DPO, ALONE, ANOTHER = "ExPO with DPO", "GRPO alone", "another answer explained"


def explains(solved: Sequence[Demonstration], right: Sequence[bool], count: int, rng: Random) -> list[Demonstration]:
    """Told the answer, a solver takes the way that comes to it; without it, it always works on."""
    shown = rng.sample(list(solved), min(count, len(solved)))
    found = []
    for one in shown:
        events = one.task.facts["steps"]
        way = next((each for each in ("on", "back") if "stuck" not in worked(events, each)), "on")
        found.append(Demonstration(SOLVER, with_answer(one.task), worked(events, way)))
    return found


def explained() -> Taught | TaughtProposable:
    """Returns stories whose demonstrated solver works on, whatever they need, and explains an answer it is told."""
    return taught(Variants(works_on=1.0, turned=0.5, name="stories_worked_on"), explains, "explained")


def of_another(task: Task) -> Task:
    """The task with a wrong answer in view."""
    wrong = str(int(task.answer) + 1)
    return with_answer(Task(task.id, task.kind, task.prompt, wrong, task.facts))


@dataclass(frozen=True)
class Method:
    """ExPO, or the same with a wrong answer in view."""

    expo: recipe.Config
    another: bool = False


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        with patch.object(steps, "with_answer", of_another if config.another else with_answer):
            return Training(recipe.train, evaluate_every=12)(config.expo, seed, folder)


UNSOLVED = Experiment(
    title="ExPO where no attempt is right",
    asked="Does explaining known answers teach what no attempt finds, with either loss?",
    trial=OneSeed(),
    config=Method(
        recipe.Config(warmed(1e-4, max_completion_length=24), questions=NAME, steps=120, truncated_score="graded")
    ),
    starts={
        "expo.learner.model": Start(
            cold_start.Config(
                Learner(model="tiny:hidden=96,layers=3", max_completion_length=24, learning_rate=2e-3),
                questions=NAME,
                steps=1200,
                demonstrations_per_step=96,
                rest=400,
                problems=32,
            )
        )
    },
    variants={
        "ExPO": {},
        DPO: {"expo.inner": "dpo"},
        ALONE: {"expo.positive": "none", "expo.attempts": 10},
        ANOTHER: {"another": True},
    },
    figures=(
        *("first accuracy/turned", "late accuracy/turned", "first pass@8/turned", "late pass@8/turned"),
        *("late accuracy/plain", "first explanation_logprob", "first attempt_logprob", "late all_failed"),
        *("late explained", "first answer_after_explanation", "first answer_after_attempt"),
        *("late answer_after_explanation", "late answer_after_attempt"),
    ),
    compared=(
        *versus("ExPO", (ALONE, ANOTHER, DPO), ("late accuracy/turned", "late accuracy/plain")),
        *versus(DPO, (ALONE,), ("late accuracy/turned", "late accuracy/plain")),
        Difference("ExPO", "ExPO", "first answer_after_explanation", "first answer_after_attempt"),
    ),
    controls=(ALONE, ANOTHER),
    seeds=10,
    one_start=True,
    notes=("Late: the mean of the last fifth of the steps, or of the measurements.",),
)
