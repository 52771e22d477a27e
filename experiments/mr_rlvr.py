"""MR-RLVR on problems worked out in steps: what masked and shuffled solutions add before answers are rewarded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from redqueen.credit.rewards import score
from redqueen.recipes.labels.mr_rlvr import recipe
from redqueen.recipes.labels.mr_rlvr.steps import FRACTION
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.controls import swapped
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import Start, warmed
from redqueen.types import Trajectory

WORKED = "worked"
WARM = cold_start.Config(
    learner=Learner(model="tiny:hidden=96,layers=3", max_completion_length=32, learning_rate=2e-3),
    questions=WORKED,
    steps=500,  # so few that a third of the problems are right
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
    config=Method(recipe.Config(learner=warmed(3e-4, max_completion_length=32), questions=WORKED)),
    starts={"method.learner.model": Start(WARM)},
    variants={
        "fill first": {},
        "order first": {"method.first": "order"},
        PLAIN: {"method.first": "none"},
        DEALT: {"dealt": True},
    },
    figures=("first accuracy", "accuracy", "first pass@8", "pass@8", "first masked/fill", "late masked/fill"),
    compared=(
        *versus("fill first", ("order first", PLAIN, DEALT), ("accuracy", "pass@8")),
        Difference("fill first", "fill first", "late masked/fill", "first masked/fill"),
    ),
    controls=(PLAIN, DEALT),
)
