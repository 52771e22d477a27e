"""Methods of learning without labels and from oneself beside GRPO, with SmolLM2 on problems that nobody here wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from experiments import grpo as of_grpo
from redqueen.recipes.credit.expo import recipe as expo
from redqueen.recipes.credit.grpo import recipe as grpo
from redqueen.recipes.credit.sar import recipe as sar
from redqueen.recipes.labels.evol_rl import recipe as evol_rl
from redqueen.recipes.labels.ssr_zero import recipe as ssr_zero
from redqueen.recipes.self_training.b_star import recipe as b_star
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus

KNOWN, MAJORITY, SHUFFLED_ANSWERS = "grpo, known answers", "grpo, majority", "grpo, shuffled answers"
BASE = of_grpo.BESIDE_TRL.config.grpo
# a step of each samples 32 replies: 4 problems, 8 replies
ROLLOUTS: Mapping[str, Any] = MappingProxyType({"tasks": BASE.tasks, "attempts": BASE.attempts})
# an iteration of ten updates samples 320 replies to learn from, and 256 that choose one of four temperatures
OF_B_STAR: Mapping[str, Any] = MappingProxyType(
    {"updates": 10, "tasks": 40, "attempts": 8, "development": 8, "replies_per_update": 16}
)
RECIPES: Mapping[str, tuple[Any, Mapping[str, Any]]] = MappingProxyType(
    {
        KNOWN: (grpo, ROLLOUTS),
        MAJORITY: (grpo, {**ROLLOUTS, "answers": "majority"}),
        SHUFFLED_ANSWERS: (grpo, {**ROLLOUTS, "questions": of_grpo.SHUFFLED}),
        "evol_rl": (evol_rl, {**ROLLOUTS, "votes": 8}),
        "ssr_zero": (ssr_zero, ROLLOUTS),
        "sar": (sar, ROLLOUTS),
        "expo": (expo, ROLLOUTS),
        "b_star": (b_star, OF_B_STAR),
    }
)


@dataclass(frozen=True)
class Arm:
    """A method on the same problems, from the same start, with as many replies and updates."""

    method: str = KNOWN
    steps: int = BASE.steps

    def settings(self) -> Any:
        """The config of its recipe."""
        recipe, own = RECIPES[self.method]
        chosen = {
            "learner": BASE.learner,
            "questions": of_grpo.QUESTIONS,
            "steps": self.steps,
            **own,
        }
        return recipe.Config(**chosen)


@dataclass(frozen=True)
class OneSeed:
    """One training, and the majority vote of the start on the held-out problems: what a vote has to teach."""

    def __call__(self, config: Arm, seed: int, folder: Path) -> Trial:
        recipe, _ = RECIPES[config.method]
        voted = of_grpo.voted(of_grpo.BESIDE_TRL.config)
        training = Training(recipe.train, evaluate_every=config.steps, read=voted)
        return training(config.settings(), seed, folder)


SMOLLM2 = Experiment(
    title="SmolLM2-135M-Instruct on reasoning-gym's arithmetic",
    asked="Where do five methods end beside GRPO with the answers, by majority and with shuffled answers?",
    trial=OneSeed(),
    config=Arm(),
    variants={name: {"method": name} for name in RECIPES},
    figures=("first accuracy", "accuracy", "pass@8", "majority of the start"),
    compared=(
        *(Difference(name, name, "accuracy", "first accuracy") for name in list(RECIPES)[3:]),
        *versus(MAJORITY, ("evol_rl", "ssr_zero"), ("accuracy", "pass@8")),
        *versus(KNOWN, ("sar", "expo", "b_star"), ("accuracy", "pass@8")),
    ),
    controls=(KNOWN, MAJORITY, SHUFFLED_ANSWERS),
    seeds=3,
    first_seed=2,
    notes=(
        "Each takes 60 updates from 1,920 replies, as GRPO beside TRL does in [grpo](grpo.md); b_star samples 256 more "
        "in each of its six iterations, from which it learns nothing, and learns from those that are right alone. "
        "evol_rl and ssr_zero see no answers; sar, expo and b_star do.",
        *of_grpo.OWN_FILE.notes,
    ),
)
