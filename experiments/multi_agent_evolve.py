"""Multi-Agent Evolve on sums: what it gains without any answer, and what its judge and its difficulty term add."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from experiments.absolute_zero import SUMS
from experiments.variants import dealt_store, of_variants
from redqueen.checks.judge import Proposed, mae_proposer
from redqueen.protocols import Policy
from redqueen.questions.judging import Judging
from redqueen.questions.small.sums import Sums
from redqueen.questions.taught import Taught
from redqueen.recipes.proposers.multi_agent_evolve.recipe import Config, train
from redqueen.recipes.proposers.multi_agent_evolve.steps import Rewards
from redqueen.runs.run import Run
from redqueen.settings.roles import Role
from redqueen.trials.paired import difference, often, surplus, table, warm, warm_further, warmed
from redqueen.trials.sheets import Bench, Result

DOMAIN = "experiments.multi_agent_evolve:sums"
DISTINCT = "proposals/distinct_share"


def sums() -> Taught:
    """Sums of one and two digits that are often answered wrongly, and demonstrated judgements that hardly ever are."""
    inner = Sums(digits=2, lengths=(0.3, 0.7), slips=(0.75, 0.9), name="slipping_sums")
    return Taught(inner, Judging(0.97), "judged_sums")


def paid_by_chance(config: Config, run: Run) -> Policy:
    def by_chance(*judged: float) -> Proposed:
        return replace(mae_proposer(*judged), reward=run.rng.random())

    return train(config, run, Rewards(config.quality, by_chance))


def without_difficulty(config: Config, run: Run) -> Policy:
    """Any clear question is as good as another."""

    def clear(quality: float, answers: float, form: float, threshold: float) -> Proposed:
        return mae_proposer(quality, 1.0, form, threshold)

    return train(config, run, Rewards(config.quality, clear))


def dealt_evenly(config: Config, run: Run) -> Policy:
    """The solver learns from the question set's own problems, all levels alike."""
    return train(config, run, store=dealt_store(config, run))


def unlabelled(options: Bench, console: Console) -> Result:
    """Three roles of one model, beside a judge that does not learn, no difficulty term, and the proposer's controls."""
    shown_judgements = warm_further(warm(SUMS), DOMAIN, steps=2000, rest=600)
    plain = Config(
        learner=warmed(shown_judgements, learning_rate=LEARNING_RATE),
        questions=DOMAIN,
        steps=options.steps or STEPS,
        tasks=64,
    )
    variants = {
        "MAE": (train, plain),
        "judge frozen": (train, replace(plain, judge=Role("frozen"))),
        "no difficulty term": (without_difficulty, plain),
        "proposer frozen": (train, replace(plain, proposer=Role("frozen"))),
        "random reward": (paid_by_chance, plain),
        "problems dealt evenly": (dealt_evenly, replace(plain, proposer=Role("frozen"))),
    }
    trials = of_variants(variants, options, console, evaluate_every=often(plain.steps))
    figures = (
        "first accuracy",
        "late accuracy",
        "late pass@8",
        "first judge_accuracy",
        "late judge_accuracy",
        "late judge_right",
        f"first {DISTINCT}",
        f"late {DISTINCT}",
        "late proposals/solve_rate",
    )
    compared = [difference(trials, "MAE", other, "late accuracy") for other in list(variants)[1:]]
    gained = surplus(trials["MAE"], "late accuracy", "first accuracy")
    note = (
        f"{options.seeds} paired seeds, {plain.steps} steps from one warm start; no answer reaches a reward. "
        f"accuracy, late minus first, MAE: {gained}. {'. '.join(compared)}."
    )
    return "Multi-Agent Evolve on sums, with its controls", ("variant", *figures), table(trials, figures), note


STEPS = 60
LEARNING_RATE = 1e-4
