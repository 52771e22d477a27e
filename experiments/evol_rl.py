"""EVOL-RL without labels: what novelty keeps alive where learning from the majority makes all replies alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

from experiments.svs import WARM as OF_SVS
from redqueen.chance import derive
from redqueen.credit.group_rewards import OfGroup
from redqueen.recipes.labels.evol_rl import recipe
from redqueen.recipes.labels.evol_rl.steps import Banded
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import Start, warmed
from redqueen.types import Group

WARM = replace(OF_SVS, questions="variants:skill=0.7,faithful=1", steps=800)
MAJORITY, DEALT = "majority alone (TTRL)", "novelty dealt anew"


@dataclass(frozen=True)
class DealtNovelty(Banded):
    """The rewards of the bands, those of each class dealt anew among its replies."""

    def of_group(self, group: Group) -> OfGroup:
        ((seat, rewards),) = super().of_group(group)["banded"].items()
        rng, dealt = np.random.default_rng(derive(group.number, "dealt")), rewards.copy()
        for own in (rewards > 0.0, (rewards > -1.0) & (rewards < 0.0)):
            dealt[own] = rng.permutation(rewards[own])
        return {"banded": {seat: dealt}}


@dataclass(frozen=True)
class Method:
    """EVOL-RL, or the same with the novelty of each class dealt anew."""

    evol_rl: recipe.Config
    dealt: bool = False


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        with patch.object(recipe, "Banded", DealtNovelty if config.dealt else Banded):
            return Training(recipe.train, evaluate_every=12)(config.evol_rl, seed, folder)


VARIETY = Experiment(
    title="EVOL-RL on problems with two ways",
    asked="Without labels, does novelty keep pass@8 and unlike replies where the majority alone loses them?",
    trial=OneSeed(),
    config=Method(
        recipe.Config(
            learner=warmed(3e-5, max_completion_length=24),
            questions="variants",
            steps=120,
            tasks=16,
            truncated_score="graded",
        )
    ),
    starts={"evol_rl.learner.model": Start(WARM)},
    variants={
        "EVOL-RL": {},
        MAJORITY: {"evol_rl.novelty": 0.0},
        DEALT: {"dealt": True},
        "known answers": {"evol_rl.labels": "known"},
        "rewards dealt anew": {"evol_rl.labels": "shuffled"},
    },
    figures=(
        *("first accuracy", "late accuracy", "first pass@8", "late pass@8", "first majority", "late majority"),
        *("first unlike", "late unlike", "first completion_length", "late completion_length", "late label_accuracy"),
    ),
    compared=(
        *versus("EVOL-RL", (MAJORITY, DEALT, "known answers", "rewards dealt anew"), ("late pass@8", "late accuracy")),
        *versus("EVOL-RL", (MAJORITY, DEALT), ("late unlike",)),
        *(Difference(name, name, "late pass@8", "first pass@8") for name in ("EVOL-RL", MAJORITY)),
    ),
    controls=(MAJORITY, DEALT, "rewards dealt anew"),
    notes=("Late: the mean of the last fifth of the steps, or of the measurements.",),
)
