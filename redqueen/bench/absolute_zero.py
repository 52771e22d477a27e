"""Absolute Zero from one seed: what the solver gains, and what the proposer has to do with it."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from redqueen.bench.self_play import difference, table, trained, warm, warmed
from redqueen.bench.sheets import Bench, Result
from redqueen.config import Learner
from redqueen.recipes import absolute_zero, cold_start

SUMS = cold_start.Config(learner=Learner(model="tiny:hidden=96,layers=3", max_completion_length=12))
EXPRESSIONS = replace(SUMS, domain="expressions", steps=1500, learner=replace(SUMS.learner, max_completion_length=20))


def digit_play(options: Bench, console: Console) -> Result:
    """Sums, with every control: a solver gains whoever proposes, so the proposer is known by what it proposes."""
    plain = absolute_zero.Config(
        learner=warmed(warm(SUMS), max_completion_length=12),
        domain="sums",
        steps=options.steps or 200,
        proposals=32,
        attempts=64,
        at_the_ends=-0.5,
    )
    variants = {
        "Absolute Zero": plain,
        "proposer frozen": replace(plain, proposer="frozen"),
        "random reward": replace(plain, random_reward=True),
        "problems dealt evenly": replace(plain, proposer="frozen", dealt=1.0),
        "1 - r, unsolved tasks paid": replace(plain, pay_unsolved=True),
        "with novelty": replace(plain, novelty=0.5),
    }
    trials = trained("absolute_zero", variants, options.seeds, console)
    figures = (
        "accuracy/2_digits",
        "pass@8/2_digits",
        "accuracy/3_digits",
        "late proposals/solve_rate",
        "late proposals/entropy",
        "late proposals/valid_share",
    )
    note = (
        f"{options.seeds} paired seeds, {plain.steps} steps from one warm start. "
        f"{difference(trials, 'Absolute Zero', 'proposer frozen', 'accuracy/2_digits')}. "
        f"{difference(trials, '1 - r, unsolved tasks paid', 'Absolute Zero', 'late proposals/solve_rate')}."
    )
    return "Absolute Zero on sums, with its controls", ("variant", *figures), table(trials, figures), note
