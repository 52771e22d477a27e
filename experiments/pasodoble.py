"""PasoDoble on facts and sums: without labels, without its gate, and in turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from rich.console import Console

from redqueen.measures.intervals import bootstrap_interval, paired_difference
from redqueen.recipes.proposers.pasodoble import recipe as pasodoble
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.trials.paired import Trial, difference, table, trained, warm, warmed
from redqueen.trials.sheets import Bench, Result

FACTS = cold_start.Config(
    learner=Learner(model="tiny:hidden=64,layers=3", max_completion_length=20),
    questions="facts",
    steps=1200,
    rest=400,
    demonstrations_per_step=96,
    problems=24,
)
REWARD = "proposer/reward/proposer"
ONLINE, UNGATED, TURNS = "online", "online, no gate", "offline, 10 steps each"


def dual_play(options: Bench, console: Console) -> Result:
    """Online, offline, without the gate, and with a proposer that does not learn."""
    online = pasodoble.Config(
        learner=warmed(warm(FACTS), max_completion_length=20, learning_rate=3e-4),
        steps=options.steps or 150,
        passages=6,
    )
    variants = {
        ONLINE: online,
        UNGATED: replace(online, gate=False),
        TURNS: replace(online, phase=10),
        "proposer frozen": replace(online, proposer=Role("frozen")),
    }
    trials = trained("pasodoble", variants, options.seeds, console, evaluate_every=online.steps)
    figures = (
        "first accuracy",
        "accuracy",
        "first valid_share",
        "late valid_share",
        "late label_accuracy",
        "late proposals/solve_rate",
        "late diversity",
    )
    alternating, joint = ([unsteady(trial) for trial in trials[name]] for name in (TURNS, ONLINE))
    steady = paired_difference(alternating, joint, seed=0)
    note = (
        f"{options.seeds} paired seeds, {online.steps} steps of {online.passages * online.proposals} proposals with "
        f"{online.attempts} attempts each, from one warm start; no label is used. "
        f"{difference(trials, ONLINE, UNGATED, 'late valid_share')}. "
        f"Rise of the proposer's reward without the gate, first to last fifth of the steps: {_rise(trials[UNGATED])}. "
        f"Deviation of that reward from step to step, offline minus online: {steady}."
    )
    return "PasoDoble on facts and sums, with its controls", ("variant", *figures), table(trials, figures), note


def unsteady(trial: Trial) -> float:
    """The deviation of the change of the proposer's mean reward from one step in which it learned to the next, over
    the square root of two: what is left of its variance when the trend is taken out."""
    rewards = [line[REWARD] for line in trial.lines if REWARD in line]
    return float(np.diff(rewards).std() / np.sqrt(2.0)) if len(rewards) > 1 else float("nan")


def _rise(trials: Sequence[Trial]) -> str:
    rises = []
    for trial in trials:
        rewards = [line[REWARD] for line in trial.lines if REWARD in line]
        fifth = max(1, len(rewards) // 5)
        rises.append(float(np.mean(rewards[-fifth:]) - np.mean(rewards[:fifth])))
    return str(bootstrap_interval(rises, seed=0))
