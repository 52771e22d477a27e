"""STARLING: whether practice on quests that an engine proved teaches a harder game."""

from __future__ import annotations

from dataclasses import replace

from redqueen.protocols import Policy
from redqueen.recipes.curricula.starling.recipe import Config, train
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Experiment, Training, versus

PRACTICE = "practice on proved quests"
UNPROVED, NONE = "practice on any quests", "no practice"
TARGET = "quests:steps=1,fewest=4,spare=3"


def train_on_own(config: Config, run: Run) -> Policy:
    """Trains on quests, and measures on others, that are dealt by the seed of the run's tests."""
    return train(replace(config, game=f"{config.game},seed={run.tests}"), run)


QUESTS = Experiment(
    title="Longer quests, a tiny transformer",
    asked=(
        "Does practice on quests of two moves or more, each proved by search, teach those of four or more, at equal "
        "turns?"
    ),
    trial=Training(train_on_own),
    config=Config(
        Learner(model="tiny:hidden=96,layers=3,initializer_range=0.1", learning_rate=1e-3),
        game=TARGET,
        steps=200,
        tasks=8,
        attempts=8,
    ),
    variants={PRACTICE: {}, UNPROVED: {"proof": False}, NONE: {"practice": 0}},
    figures=("first held_out_score", "held_out_score", "late practice_won", "late proved"),
    compared=versus(PRACTICE, (UNPROVED, NONE), ("held_out_score",)),
    controls=(NONE,),
    seeds=5,
    notes=(
        "The names of things and places are dealt anew in each quest: what carries over is how a quest is read.",
        "The 64 quests to train on and the 32 held out are dealt anew for each seed, of the 141 that are found.",
    ),
)
