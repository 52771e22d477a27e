"""R-Zero on eight concepts: what labels by majority teach, how right they are, and what the challenger adds."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from experiments.sws import EXPERT
from redqueen.questions.small.concepts import Concepts
from redqueen.recipes.proposers.r_zero import Config
from redqueen.trials.paired import difference, surplus, table, trained, warm, warm_further, warmed
from redqueen.trials.sheets import Bench, Result

DOMAIN = "experiments.r_zero:unsteady"
STEPS = 100  # of both


def unsteady() -> Concepts:
    """Every other answer at random, on six of eight concepts: there majorities are right where single answers are
    not. The other two are mistaken for others, and most answers agree on it."""
    return Concepts(skill=0.5)


def majorities(options: Bench, console: Console) -> Result:
    """R-Zero, its challenger frozen, and with the code's reward."""
    shown_errors = warm_further(warm(EXPERT), DOMAIN, steps=150, rest=50, max_completion_length=12)
    plain = Config(
        learner=warmed(shown_errors, max_completion_length=12, learning_rate=3e-4),
        domain=DOMAIN,
        steps=options.steps or STEPS,
        attempts=32,
    )
    variants = {
        "R-Zero": plain,
        "challenger frozen": replace(plain, challenger="frozen"),
        "reward as coded": replace(plain, as_coded=True),
        "every question kept": replace(plain, band=(0.0, 1.0)),
    }
    trials = trained("r_zero", variants, options.seeds, console)
    figures = (
        "first accuracy",
        "accuracy",
        "pass@8",
        "first label_accuracy",
        "late label_accuracy",
        "late proposals/solve_rate",
    )
    compared = [difference(trials, "R-Zero", other, "accuracy") for other in list(variants)[1:]]
    gained = surplus(trials["R-Zero"], "accuracy", "first accuracy")
    note = (
        f"{options.seeds} paired seeds, {plain.steps} steps from one warm start; no answer reaches a reward. "
        f"accuracy, end minus start, R-Zero: {gained}. {'. '.join(compared)}."
    )
    return "R-Zero on eight concepts, with its controls", ("variant", *figures), table(trials, figures), note
