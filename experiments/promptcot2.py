"""PromptCoT 2.0: what the E-step is worth to the prompter, and what its problems are worth to the solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from rich.console import Console

from redqueen.measures.intervals import bootstrap_interval, paired_difference
from redqueen.questions.small.templates import TEMPLATES
from redqueen.recipes.proposers import promptcot2
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.paired import Trial, trained, warm, warm_further, warmed
from redqueen.trials.sheets import Bench, Result, Rows
from redqueen.types import RedQueenError

ABLE = cold_start.Config(
    Learner(model="tiny:hidden=64,layers=2", learning_rate=2e-3),
    questions="templates:skill=1,skill_hard=1",
    steps=2400,
    rest=800,
    demonstrations_per_step=96,
    problems=32,
)
HARD = tuple(template.rationale for template in TEMPLATES if template.hard)
PHASE, ROUNDS, SELF_PLAY = 6, 3, 160


def rationales(options: Bench, console: Console) -> Result:
    """Three rounds of expectation maximisation, then self-play, from a model that can solve the problems and was
    taught to say something else more often than not: where it cannot, most of the labels are wrong."""
    steps = options.steps or 2 * PHASE * ROUNDS + SELF_PLAY
    if steps <= 2 * PHASE * ROUNDS:
        raise RedQueenError(f"rationales needs --steps of at least {2 * PHASE * ROUNDS + 1}: its rounds, and self-play")
    config = promptcot2.Config(
        warmed(warm_further(warm(ABLE), "templates", steps=150, rest=50), max_completion_length=24),
        questions="templates",
        steps=steps,
        rounds=ROUNDS,
        phase=PHASE,
        corpus=64,
        problems=16,  # more would hold out most easy problems, of which there are 36 of a kind
    )
    variants = {
        "PromptCoT 2.0": config,
        "without the E-step": replace(config, candidates=1),
        "self-play on the seeds": replace(config, from_seeds=True),
    }
    trials = trained("promptcot2", variants, options.seeds, console, evaluate_every=2 * PHASE)
    rows: Rows = [_row(name, group) for name, group in trials.items()]
    ours, seeds = (list(map(hard_accuracy, trials[name])) for name in ("PromptCoT 2.0", "self-play on the seeds"))
    first = trials["PromptCoT 2.0"][0].lines[0]
    labels = fmean(trial.late("label_accuracy", 1.0) for trial in trials["PromptCoT 2.0"])
    note = (
        f"{options.seeds} paired seeds, {ROUNDS} rounds of {PHASE} + {PHASE} updates, then "
        f"{steps - 2 * PHASE * ROUNDS} of self-play. {labels:.2f} of its labels are right. Hard problems at the start "
        f"{fmean(first[f'accuracy/{kind}'] for kind in HARD):.2f}; PromptCoT 2.0 minus the seeds: "
        f"{paired_difference(ours, seeds, seed=0)}. Figures of the prompter are at the start and after each round."
    )
    headings = (
        *("method", "hard accuracy", "bound", "log p(x|c), nats", "generating rationale chosen"),
        *("valid share", "base solve rate", "spread"),
    )
    return "Rationales for problems", headings, rows, note


def hard_accuracy(trial: Trial) -> float:
    return fmean(trial.final[f"accuracy/{kind}"] for kind in HARD)


def by_round(trials: Sequence[Trial], name: str) -> list[float]:
    """The mean of a figure at the start and after each round."""
    places = [2 * PHASE * number for number in range(ROUNDS + 1)]
    return [fmean(trial.lines[place][name] for trial in trials) for place in places]


def _row(name: str, trials: Sequence[Trial]) -> tuple[str, ...]:
    figures = ("bound", "problem_logprob", "generated/valid_share", "generated/solve_rate", "generated/spread")
    shown = [", ".join(f"{value:.2f}" for value in by_round(trials, figure)) for figure in figures]
    agreed = fmean(fmean(line["em/agreement"] for line in trial.lines[: 2 * PHASE * ROUNDS]) for trial in trials)
    hard = str(bootstrap_interval(list(map(hard_accuracy, trials)), seed=0))
    return (name, hard, *shown[:2], f"{agreed:.2f}", *shown[2:])
