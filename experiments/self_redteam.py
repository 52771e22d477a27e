"""Self-RedTeam on the listed game, where the best defence is known, and with tiny models against a static attacker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from rich.console import Console

from redqueen.games.red_team import HARMFUL
from redqueen.protocols import Policy
from redqueen.questions.small.red_styles import RedStyles
from redqueen.recipes.adversaries.self_redteam import recipe as self_redteam
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.paired import difference, table, trained, warm, warmed
from redqueen.trials.sheets import Bench, Result
from redqueen.types import Metrics

TOGETHER, STATIC = "co-trained", "attacker static"
LISTED = self_redteam.Config(
    Learner(learning_rate=2.0), world="red_styles", steps=300, vanilla=0.0, kl=0.0, imitation=0.0
)
PARTS = ("written", "success", "over_refusal")  # of harm: the way it is written in; of a way: what is done there


def red_styles(options: Bench, console: Console) -> Result:
    """Who visits which way, and how a table defends it, beside the least error of each way."""
    base = replace(LISTED, steps=options.steps or LISTED.steps)
    variants = {
        "half benign, co-trained": base,
        "no benign seeds": replace(base, benign=0.0),
        "static prompts alone": replace(base, vanilla=1.0),
        "judge misses 27 %": replace(base, judge_misses=0.27),
        "judge misses 60 %": replace(base, judge_misses=0.6),
    }
    trials = trained("self_redteam", variants, options.seeds, console, read=read_from_table)
    ways = range(len(RedStyles().least_errors()))
    rows = [
        (name, *(_several([np.mean([t.final[f"{part} {way}"] for t in group]) for way in ways]) for part in PARTS))
        for name, group in trials.items()
    ]
    headings = ("setting", "harm written in way 1 to 4", "attack success", "over-refusal")
    note = (
        f"{base.steps} steps of {base.matches_per_step} matches, mean of {options.seeds} seeds, read from the table. "
        f"The least errors are {_several(RedStyles().least_errors().tolist())}."
    )
    return "Self-RedTeam on a listed game, tabular", headings, rows, note


def read_from_table(learner: Policy) -> Metrics:
    """How often harm is written in each way, and a way's exact errors: "written 0" and so on."""
    world = RedStyles()
    table = np.column_stack([world.attacks(learner, HARMFUL), world.errors(learner)])
    return {
        f"{part} {way}": float(value) for way, row in enumerate(table) for part, value in zip(PARTS, row, strict=True)
    }


def _several(values: Sequence[float]) -> str:
    return " ".join(f"{value:.2f}" for value in values)


WORDS = cold_start.Config(
    learner=Learner(model="tiny:hidden=64,layers=2", max_completion_length=32),
    questions="redqueen.questions.small.red_team:RedTeamWords",
    steps=600,
    rest=250,
    demonstrations_per_step=64,
    problems=4,
)
PLAIN = replace(
    WORDS,
    learner=replace(WORDS.learner, max_completion_length=16),
    questions="redqueen.questions.small.red_team:RedTeamWords:thoughts=false",
)


def variants(base: self_redteam.Config) -> Mapping[str, self_redteam.Config]:
    return {
        TOGETHER: base,
        STATIC: replace(base, attacker="frozen"),
        "static prompts alone": replace(base, vanilla=1.0),
        "no benign seeds": replace(base, benign=0.0),
        "defender frozen": replace(base, defender="frozen", imitation=0.0),
    }


def red_team(options: Bench, console: Console) -> Result:
    """Held-out attacks on a defender that was trained with its attacker, and on its controls; with hidden thoughts."""
    return _words(options, console, WORDS, "red_team", "with hidden thoughts")


def red_team_without_thoughts(options: Bench, console: Console) -> Result:
    """The same without thoughts, which is four times as fast."""
    return _words(options, console, PLAIN, "red_team:thoughts=false", "without thoughts")


def _words(options: Bench, console: Console, school: cold_start.Config, world: str, how: str) -> Result:
    longest = school.learner.max_completion_length
    base = self_redteam.Config(
        warmed(warm(school), learning_rate=3e-4, max_completion_length=longest),
        world=world,
        steps=options.steps or 150,
        matches_per_step=64,
        problems=12,
    )
    trials = trained("self_redteam", variants(base), options.seeds, console)
    figures = (
        "first attack_success",
        "attack_success",
        "benign_compliance",
        "attack_success/way_1",
        "attack_success/way_5",
        "late game/attack_diversity",
    )
    note = (
        f"{options.seeds} paired seeds, {base.steps} steps of {base.matches_per_step} matches from one warm start. "
        f"Held-out attacks are of all ways alike. {difference(trials, TOGETHER, STATIC, 'attack_success')}; "
        f"{difference(trials, TOGETHER, 'defender frozen', 'late game/attack_diversity')}."
    )
    return f"Self-RedTeam on a game of signs, {how}", ("variant", *figures), table(trials, figures), note
