"""Self-RedTeam on the listed game, where the best defence is known, and with tiny models against a static attacker."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path

import numpy as np
from rich.console import Console

from redqueen.bench.self_play import difference, table, trained, warm, warmed
from redqueen.bench.sheets import Bench, Result
from redqueen.config import Learner
from redqueen.domains.red_styles import RedStyles
from redqueen.games.red_team import HARMFUL
from redqueen.recipes import cold_start, self_redteam
from redqueen.run import Run, Schedule

TOGETHER, STATIC = "co-trained", "attacker static"
LISTED = self_redteam.Config(
    Learner(learning_rate=2.0), world="red_styles", steps=300, vanilla=0.0, kl=0.0, imitation=0.0
)
Exact = tuple[np.ndarray, np.ndarray, np.ndarray]  # [ways] each: how harm is written, where it succeeds, over-refusal


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
    jobs = [(config, seed) for config in variants.values() for seed in range(options.seeds)]
    with ProcessPoolExecutor(min(len(jobs), cpu_count() or 1), get_context("spawn")) as pool:
        done = list(pool.map(_exact, *zip(*jobs, strict=True)))
    rows = []
    for number, name in enumerate(variants):
        group = done[number * options.seeds : (number + 1) * options.seeds]
        rows.append((name, *(_several(np.mean([each[part] for each in group], axis=0)) for part in range(3))))
        console.print(f"  {name}: {rows[-1][1:]}", highlight=False)
    headings = ("setting", "harm written in way 1 to 4", "attack success", "over-refusal")
    note = (
        f"{base.steps} steps of {base.matches_per_step} matches, mean of {options.seeds} seeds, read from the table. "
        f"The least errors are {_several(RedStyles().least_errors())}."
    )
    return "Self-RedTeam on a listed game, tabular", headings, rows, note


def _exact(config: self_redteam.Config, seed: int) -> Exact:
    """In a process of its own."""
    world = RedStyles()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder), seed, Schedule(10**9, checkpoint_every=10**9, record_episodes=0))
        policy = self_redteam.train(config, run)
    errors = np.array(world.errors(policy))
    return world.attacks(policy, HARMFUL), errors[:, 0], errors[:, 1]


def _several(values: np.ndarray) -> str:
    return " ".join(f"{value:.2f}" for value in values)


WORDS = cold_start.Config(
    learner=Learner(model="tiny:hidden=64,layers=2", max_completion_length=32),
    domain="redqueen.domains.red_team:RedTeamWords",
    steps=600,
    rest=250,
    demonstrations_per_step=64,
    problems=4,
)
PLAIN = replace(
    WORDS,
    learner=replace(WORDS.learner, max_completion_length=16),
    domain="redqueen.domains.red_team:RedTeamWords:thoughts=false",
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
        steps=options.steps or 100,
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
