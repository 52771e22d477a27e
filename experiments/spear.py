"""SPEAR: whether imitating good attempts teaches a table sooner to walk to a door that it seldom reaches at first."""

from __future__ import annotations

import numpy as np

from redqueen.recipes.credit.spear.recipe import Config, train
from redqueen.settings.learner import Learner
from redqueen.settings.update import Update
from redqueen.trials.experiment import Experiment, Training, Trial, versus


def over_the_run(trial: Trial) -> float:
    """The mean share of walks that reached the door, over all steps."""
    return float(np.mean([line["reward/walker"] for line in trial.lines]))


def until_half(trial: Trial) -> float:
    """The first step in whose ten steps half of the walks reach the door; the number of steps if none does."""
    reached = [line["reward/walker"] for line in trial.lines]
    means = (float(np.mean(reached[at : at + 10])) for at in range(len(reached) - 9))
    return float(next((at for at, mean in enumerate(means) if mean >= 0.5), len(reached)))


SPEAR = "SPEAR"
WALKS = Experiment(
    title="SPEAR on a walk of five steps, tabular",
    asked="Does imitating its own good attempts teach sooner what is rarely reached, at equal attempts?",
    trial=Training(train),
    config=Config(
        Learner(learning_rate=1.0),
        game="corridor:nearest=5,farthest=5,turns=10,clock=false",
        steps=200,
        tasks=4,
        attempts=8,
        capacity=8,
    ),
    variants={
        SPEAR: {},
        "no replay": {"capacity": 0},
        "no replay, two updates a step": {"capacity": 0, "update": Update(updates_per_batch=2)},
        "clipped to the writer": {"ratio": "writer"},
        "in full from the start": {"rise": 1},
    },
    figures=("reached over the run", "steps until half", "late buffer/replayed"),
    compared=versus(
        SPEAR,
        ("no replay", "no replay, two updates a step", "clipped to the writer", "in full from the start"),
        ("reached over the run", "steps until half"),
    ),
    controls=("no replay", "no replay, two updates a step"),
    derived={"reached over the run": over_the_run, "steps until half": until_half},
    seeds=5,
    notes=(
        "32 walks in each step. The replay is a second update, on earlier walks, in those steps that have enough of "
        "them; the second control takes two updates in every step.",
        "Seed 100 alone was looked at while the length was chosen: on a walk of nine steps nothing is ever replayed.",
    ),
)
