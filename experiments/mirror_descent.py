"""Mirror descent by its closed form: beside a gradient step in a table, and with a language model fitted to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from redqueen.protocols import Policy
from redqueen.recipes.games import magnetic
from redqueen.recipes.games.mirror_descent import recipe
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.settings.optimization import Optimization
from redqueen.trials.experiment import Experiment, Training, Trial, versus

LAST, AVERAGE, LATE = "exploitability", "average_exploitability", "late_average_exploitability"
HIGHEST = "highest in the last third"


@dataclass(frozen=True)
class Method:
    """One of two recipes with its own settings, at 61,440 games."""

    recipe: str = "mirror_descent"


def train(config: Method, run: Run) -> Policy:
    """Trains a table by the recipe that is named."""
    if config.recipe == "magnetic":
        return magnetic.train(magnetic.Config(steps=480, matches_per_step=128), run)
    return recipe.train(recipe.Config(steps=60, matches_per_step=1024), run)


def highest(trial: Trial) -> float:
    """Returns the highest exploitability measured in the last third of the steps."""
    values = [line[LAST] for line in trial.lines if LAST in line]
    return float(max(values[-max(1, len(values) // 3) :]))


KUHN = Experiment(
    title="Kuhn poker, tabular",
    asked="Is the last iterate less exploitable by the closed form than by a gradient step, at equal games?",
    trial=Training(train, evaluate_every=2),
    config=Method(),
    variants={name: {"recipe": name} for name in ("magnetic", "mirror_descent")},
    figures=(LAST, HIGHEST, AVERAGE, LATE),
    compared=versus("magnetic", ("mirror_descent",), (LAST, HIGHEST, AVERAGE, LATE)),
    controls=("magnetic",),
    derived={HIGHEST: highest},
    notes=("magnetic: 480 updates of 128 games; mirror_descent: 60 of 1,024.",),
    seeds=10,
)


def adapted(optimizer: Literal["adamw", "natural"], learning_rate: float | None = None) -> Learner:
    """SmolLM2 with an adapter in its last eight layers."""
    tuned = Optimization(optimizer=optimizer, lora_layers=8)
    return Learner(model="smollm2-135m", learning_rate=learning_rate, optimization=tuned)


LANGUAGE = Experiment(
    title="SmolLM2-135M-Instruct in Kuhn poker",
    asked="Does a language model follow the closed form by AdamW as it does by the natural gradient?",
    trial=Training(recipe.train, evaluate_every=2),
    config=recipe.Config(steps=60, matches_per_step=4096),
    variants={
        "adamw": {"learner": adapted("adamw", 1e-4), "updates": 4},
        "natural": {"learner": adapted("natural")},
    },
    figures=(LAST, HIGHEST, AVERAGE, LATE),
    compared=versus("adamw", ("natural",), (LAST, HIGHEST, LATE)),
    controls=("adamw",),
    derived={HIGHEST: highest},
    notes=("Four updates of AdamW (learning rate 1e-4) cost about as much as one natural update.",),
)
