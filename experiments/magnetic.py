"""Magnetic mirror descent: its last iterate beside that of plain self-play, and what it reaches in two games."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from redqueen.protocols import Policy
from redqueen.recipes.games import fictitious_self_play, magnetic, spiral
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Experiment, Training, Trial, versus


@dataclass(frozen=True)
class Method:
    """One of three recipes with its own settings."""

    recipe: str = "magnetic"
    steps: int = 400


def train(config: Method, run: Run) -> Policy:
    """Trains by the recipe that is named, on a table."""
    if config.recipe == "spiral":
        return spiral.train(spiral.Config(steps=config.steps), run)
    if config.recipe == "fictitious_self_play":
        return fictitious_self_play.train(fictitious_self_play.Config(steps=config.steps), run)
    return magnetic.train(magnetic.Config(steps=config.steps), run)


def second_half(trial: Trial) -> float:
    """Returns the mean exploitability over the second half of the steps."""
    values = [line["exploitability"] for line in trial.lines]
    return fmean(values[len(values) // 2 :])


def highest(trial: Trial) -> float:
    """Returns the highest exploitability in the last quarter of the steps."""
    values = [line["exploitability"] for line in trial.lines]
    return float(max(values[-max(1, len(values) // 4) :]))


LAST, AVERAGE = "exploitability", "average_exploitability"
KUHN = Experiment(
    title="Kuhn poker, tabular",
    asked="Is the last iterate of magnetic mirror descent less exploitable than that of plain self-play?",
    trial=Training(train, evaluate_every=1),
    config=Method(),
    variants={name: {"recipe": name} for name in ("spiral", "fictitious_self_play", "magnetic")},
    figures=(LAST, "mean of the second half", "highest in the last quarter", AVERAGE, "late_average_exploitability"),
    compared=(
        *versus("spiral", ("magnetic",), (LAST, AVERAGE)),
        *versus("fictitious_self_play", ("magnetic",), (LAST, AVERAGE)),
        *versus("fictitious_self_play", ("spiral",), (LAST, AVERAGE)),
    ),
    controls=("spiral",),
    derived={"mean of the second half": second_half, "highest in the last quarter": highest},
    notes=("Each recipe has its own default settings, 128 games an update. Uniform play is exploitable by 0.458.",),
    seeds=10,
)
LEDUC = Experiment(
    title="Leduc poker, tabular magnetic",
    asked="Does the last iterate come as near to an equilibrium as the average, and is the pull what does it?",
    trial=Training(magnetic.train, evaluate_every=25),
    config=magnetic.Config(
        game="leduc_poker",
        steps=600,
        matches_per_step=1024,
        learner=Learner(learning_rate=60.0),  # the gradient is spread over 288 states
        last_learning_rate=0.05,
        pull=1.0,
        last_pull=0.2,
        magnet_every=0,
    ),
    variants={"magnetic": {}, "hardly any pull": {"pull": 0.01, "last_pull": 0.01}},
    figures=("first nash_conv", "nash_conv", "late_average_exploitability"),
    compared=versus("magnetic", ("hardly any pull",), ("nash_conv", "late_average_exploitability")),
    controls=("hardly any pull",),
    notes=("NashConv is twice the exploitability; uniform play has 4.7472.",),
)
