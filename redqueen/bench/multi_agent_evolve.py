"""Multi-Agent Evolve on sums: what it gains without any answer, and what its judge and its difficulty term add."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from redqueen.bench.self_play import difference, surplus, table, trained, warm, warmed
from redqueen.bench.sheets import Bench, Result
from redqueen.config import Learner
from redqueen.recipes import cold_start
from redqueen.recipes.multi_agent_evolve import Config

WARM = cold_start.Config(
    learner=Learner(model="tiny:hidden=96,layers=3", max_completion_length=16, learning_rate=2e-3),
    domain="judged:sums",
    steps=1500,
)
DISTINCT = "proposals/distinct_share"


def unlabelled(options: Bench, console: Console) -> Result:
    """Three roles of one model, the same with a judge that does not learn, and without the difficulty term."""
    plain = Config(
        learner=warmed(warm(WARM), learning_rate=LEARNING_RATE),
        domain=WARM.domain,
        steps=options.steps or STEPS,
        attempts=64,
    )
    variants = {
        "MAE": plain,
        "judge frozen": replace(plain, judge="frozen"),
        "no difficulty term": replace(plain, difficulty=False),
        "proposer frozen": replace(plain, proposer="frozen"),
    }
    trials = trained("multi_agent_evolve", variants, options.seeds, console)
    figures = (
        "first accuracy",
        "accuracy",
        "pass@8",
        "first judge_accuracy",
        "late judge_accuracy",
        "late judge_right",
        f"first {DISTINCT}",
        f"late {DISTINCT}",
        "late proposals/solve_rate",
    )
    compared = [difference(trials, "MAE", other, "accuracy") for other in list(variants)[1:]]
    gained = surplus(trials["MAE"], "accuracy", "first accuracy")
    note = (
        f"{options.seeds} paired seeds, {plain.steps} steps from one warm start; no answer reaches a reward. "
        f"accuracy, end minus start, MAE: {gained}. {'. '.join(compared)}."
    )
    return "Multi-Agent Evolve on sums, with its controls", ("variant", *figures), table(trials, figures), note


STEPS = 150
LEARNING_RATE = 3e-4
