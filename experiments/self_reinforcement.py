"""Self-Reinforcement on sums: a tuned model is preferred to the one before it was tuned, with and without a filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from redqueen.protocols import Questions
from redqueen.questions.small.sums import Sums
from redqueen.recipes.self_training import cold_start
from redqueen.recipes.self_training.spin import recipe as spin
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Difference, Experiment, Training, versus
from redqueen.trials.starts import Start, warmed
from redqueen.types import Task

NAME = "experiments.self_reinforcement:sums"
KEPT, ALL, COIN, CHECK, ALWAYS = (
    *("filter right in .75", "no filter", "a coin filters", "the check filters"),
    "the weaker model all the time",
)


def sums() -> Questions:
    """Returns sums of up to two digits; of what is shown a third is answered as if nothing were carried."""
    return Sums(digits=2, lengths=(0.4, 0.6), slips=(0.3, 0.4))


@dataclass(frozen=True)
class Filter:
    """Prefers the right one of two sums with the chance `skill`, of two alike either one."""

    skill: float = 0.75

    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        set_ = sums()
        ends = zip(set_.right(tasks, first), set_.right(tasks, second), strict=True)
        chances = [0.5 if one == other else self.skill if one else 1.0 - self.skill for one, other in ends]
        return np.array([float(rng.random() < chance) for chance in chances])


def taught(steps: int, learning_rate: float = 2e-3, after: Start | None = None) -> Start:
    """A tiny model that imitates solutions for `steps` steps."""
    learner = Learner(model="tiny:hidden=96,layers=3", max_completion_length=8, learning_rate=learning_rate)
    if after is not None:
        learner = warmed(learning_rate, max_completion_length=8)
    return Start(
        cold_start.Config(learner, questions=NAME, steps=steps, demonstrations_per_step=96, rest=steps // 3),
        after=after,
    )


BEFORE = taught(500)
TUNED = taught(1000, 2e-3, BEFORE)

SELF_REINFORCEMENT = Experiment(
    title="Self-Reinforcement on sums",
    asked="Do a tuned model's replies, preferred to those of the one before, raise accuracy, and is it the filter?",
    trial=Training(spin.train, evaluate_every=40),
    config=spin.Config(
        warmed(2e-4, max_completion_length=8),
        questions=NAME,
        chosen="learner",
        oracle="experiments.self_reinforcement:Filter",
        steps=80,
        updates=40,
        tasks=512,
        remembered=1,
        chosen_weight=0.1,
        problems=128,
    ),
    starts={"learner.model": TUNED, "weaker": BEFORE},
    variants={
        KEPT: {},
        ALL: {"oracle": "none"},
        COIN: {"oracle": "experiments.self_reinforcement:Filter:skill=0.5"},
        CHECK: {"oracle": "questions"},
        ALWAYS: {"rejected": "start"},
    },
    figures=(
        *("first accuracy", "accuracy", "first decisive", "late decisive", "first pairs_kept", "late pairs_kept"),
        *("first drawn_right", "late drawn_right", "first pairs_right", "late pairs_right", "late chosen_ratio"),
    ),
    compared=(
        Difference(KEPT, KEPT, "accuracy", "first accuracy"),
        *versus(KEPT, (ALL, COIN, CHECK, ALWAYS), ("accuracy",)),
        Difference(KEPT, KEPT, "late pairs_right", "late drawn_right"),
    ),
    controls=(ALL, COIN),
    notes=(
        "Two iterations of 40 updates. The model before imitated for 500 steps, the tuned one for 1,000 more, for each "
        "seed. The check's filter is the upper line.",
    ),
)
