"""B-STaR on problems with two ways: what choosing temperature and threshold anew is worth at equal rollouts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from unittest.mock import patch

from experiments.svs import WARM as OF_SVS
from redqueen.players.language.writing import Writer
from redqueen.recipes.self_training.b_star import recipe
from redqueen.recipes.self_training.b_star.steps import Choice, Knobs, Rated, best_choice, tempered
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import Start, warmed

WARM = replace(OF_SVS, questions="variants:skill=0.7,faithful=1", steps=800)
TUNED, MORE, AT_RANDOM = "B-STaR", "B-STaR, 120 tasks too", "knobs at random"
FIXED = {f"fixed at {each:g}": each for each in (0.5, 0.8, 1.1)}


class RandomKnobs(Knobs):
    """The same grid, of which a temperature and a threshold are drawn instead of chosen."""

    def sampler(self, learner: Writer, rng: Random) -> Writer:
        warmth = rng.choice(self._settings.temperatures)
        self._threshold = rng.choice(self._settings.thresholds)
        self._figures = {"knobs/temperature": warmth}
        return tempered(learner, warmth)

    def _choice(self, tasks: list[list[Rated]]) -> Choice:  # type: ignore[override]
        return best_choice(tasks, (self._threshold,), self._settings.kept, self._settings.wanted)


@dataclass(frozen=True)
class Method:
    """B-STaR, or the same with knobs at random."""

    b_star: recipe.Config
    at_random: bool = False


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        with patch.object(recipe, "Knobs", RandomKnobs if config.at_random else Knobs):
            return Training(recipe.train, evaluate_every=20)(config.b_star, seed, folder)


BALANCED = Experiment(
    title="B-STaR on problems with two ways",
    asked="At equal rollouts, do knobs that are chosen anew keep pass@8 and reach further than fixed ones?",
    trial=OneSeed(),
    config=Method(
        recipe.Config(
            learner=warmed(3e-4, max_completion_length=24),
            questions="variants",
            steps=100,
            updates=20,
            tasks=60,
            development=15,
            truncated_score="graded",
        )
    ),
    starts={"b_star.learner.model": Start(WARM)},
    variants={
        TUNED: {},
        MORE: {"b_star.tasks": 120},
        **{
            name: {"b_star.temperatures": (each,), "b_star.thresholds": (1.0,), "b_star.tasks": 120}
            for name, each in FIXED.items()
        },
        "fixed at 1.1, from the start each time": {
            "b_star.temperatures": (1.1,),
            "b_star.thresholds": (1.0,),
            "b_star.tasks": 120,
            "b_star.start": "initial",
        },
        AT_RANDOM: {"at_random": True, "b_star.tasks": 120},
    },
    figures=(
        *("first accuracy", "late accuracy", "first pass@8", "late pass@8"),
        *("late balance", "late knobs/temperature", "late knobs/threshold", "late selected_right", "late one_way"),
    ),
    compared=(
        *versus(TUNED, (*FIXED, AT_RANDOM), ("late accuracy", "late pass@8")),
        *versus(MORE, tuple(FIXED), ("late accuracy", "late pass@8")),
        *(Difference(name, name, "late pass@8", "first pass@8") for name in (TUNED, *FIXED)),
    ),
    controls=(*FIXED, AT_RANDOM),
    seeds=5,
    notes=(
        "Five iterations. Rollouts of an iteration: 60 tasks and 4 times 15 development tasks of 16 attempts, or 120 "
        "tasks of 16. Of 60 tasks fewer replies are selected, and they are learned from in fewer updates; with 120 "
        "tasks too B-STaR samples more than the others (the attempts at development tasks) and makes as many updates.",
        "Late: the mean of the last fifth of the steps, or of the measurements.",
    ),
)
