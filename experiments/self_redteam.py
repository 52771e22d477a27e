"""Self-RedTeam on the listed game, where the best defence is known, and with tiny models against a static attacker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from redqueen.curricula.held_out import Apart
from redqueen.games.red_team import HARMFUL
from redqueen.protocols import Policy
from redqueen.questions.small.red_styles import RedStyles
from redqueen.questions.small.red_words import find_world
from redqueen.recipes.adversaries.self_redteam.recipe import Config, train
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.settings.update import Update
from redqueen.trials.experiment import Changes, Experiment, Training, versus
from redqueen.trials.starts import Start, warmed
from redqueen.types import Metrics

TOGETHER, STATIC = "co-trained", "attacker static"
PARTS = ("written", "success", "over_refusal")  # of harm: the way it is written in; of a way: what is done there


def read_from_table(learner: Policy, seed: int) -> Metrics:
    """How often harm is written in each way, and a way's exact errors: "written 0" and so on."""
    world = RedStyles()
    table = np.column_stack([world.attacks(learner, HARMFUL), world.errors(learner)])
    return {
        f"{part} {way}": float(value) for way, row in enumerate(table) for part, value in zip(PARTS, row, strict=True)
    }


def measured(config: Any, seed: int) -> Apart:
    """The held-out requests."""
    return find_world(config.prompts).held_out(config.problems, seed)


WAYS = range(4)
RED_STYLES = Experiment(
    title="Self-RedTeam on a listed game, tabular",
    asked="Which way does the attacker come to take, and how near is the defender to the least error of each way?",
    trial=Training(train, read=read_from_table),
    config=Config(
        Learner(learning_rate=2.0), prompts="red_styles", steps=300, vanilla=0.0, imitation=0.0, update=Update(kl=0.0)
    ),
    variants={
        "half benign, co-trained": {},
        "no benign seeds": {"benign": 0.0},
        "static prompts alone": {"vanilla": 1.0},
        "judge misses 27 %": {"judge.who": "rule:misses=0.27"},
        "judge misses 60 %": {"judge.who": "rule:misses=0.6"},
    },
    figures=tuple(f"{part} {way}" for part in PARTS for way in WAYS),
    compared=versus(
        "half benign, co-trained",
        ("static prompts alone", "no benign seeds"),
        ("success 1", "success 2", "over_refusal 1", "over_refusal 2"),
    ),
    controls=("static prompts alone", "no benign seeds"),
    notes=("Read from the table. The least errors of the four ways are 0.02, 0.10, 0.20 and 0.30.",),
)

# --- in words --------------------------------------------------------------------------------

WORDS = cold_start.Config(
    learner=Learner(model="tiny:hidden=64,layers=2", max_completion_length=32),
    questions="redqueen.questions.small.red_words:RedTeamWords",
    steps=600,
    rest=250,
    demonstrations_per_step=64,
    problems=4,
)
PLAIN = replace(
    WORDS,
    learner=replace(WORDS.learner, max_completion_length=16),
    questions="redqueen.questions.small.red_words:RedTeamWords:thoughts=false",
)


OTHERS: dict[str, Changes] = {
    STATIC: {"attacker.player": "frozen"},
    "static prompts alone": {"vanilla": 1.0},
    "no benign seeds": {"benign": 0.0},
    "defender frozen": {"defender.player": "frozen", "imitation": 0.0},
}
RED_TEAM = Experiment(
    title="Self-RedTeam on a game of signs, with hidden thoughts",
    asked="Does a defender trained with its attacker withstand held-out attacks better than with a static one?",
    trial=Training(train),
    config=Config(
        warmed(3e-4, max_completion_length=32), prompts="red_team", steps=150, matches_per_step=64, problems=12
    ),
    starts={"learner.model": Start(WORDS)},
    measured=measured,
    variants={TOGETHER: {}, **OTHERS},
    figures=(
        *("first attack_success", "attack_success", "benign_compliance"),
        *("attack_success/way_1", "attack_success/way_5", "late game/attack_diversity"),
    ),
    compared=(
        *versus(TOGETHER, (STATIC, "static prompts alone"), ("attack_success",)),
        *versus(TOGETHER, ("defender frozen",), ("late game/attack_diversity",)),
    ),
    controls=(STATIC, "static prompts alone"),
    notes=(
        "Held-out attacks are of all ways alike, of the one plain request in five of which no seed prompt is made; an "
        "attacker in training may still come to write one. The warm start is shown signs of the same ways.",
    ),
)
RED_TEAM_WITHOUT_THOUGHTS = replace(
    RED_TEAM,
    title="Self-RedTeam on a game of signs, without thoughts",
    config=replace(RED_TEAM.config, learner=warmed(3e-4, max_completion_length=16), prompts="red_team:thoughts=false"),
    starts={"learner.model": Start(PLAIN)},
)
