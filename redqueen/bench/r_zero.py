"""R-Zero on sums: what the majority's labels teach, beside a challenger that does not learn, and how right they are."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from redqueen.bench.self_play import difference, surplus, table, trained, warm, warmed
from redqueen.bench.sheets import Bench, Result
from redqueen.config import Learner
from redqueen.domains.sums import Sums
from redqueen.recipes import cold_start
from redqueen.recipes.r_zero import Config


def mostly_right() -> Sums:
    """Sums whose demonstrations carry more often than they forget to: majorities are right where single answers
    are not."""
    return Sums(digits=3, lengths=(0.3, 0.5, 0.2), slips=(0.2, 0.3, 0.35))


WARM = cold_start.Config(
    learner=Learner(model="tiny:hidden=96,layers=3", max_completion_length=12, learning_rate=2e-3),
    domain="redqueen.bench.r_zero:mostly_right",
    steps=1500,
)
STEPS = 100  # of both


def majorities(options: Bench, console: Console) -> Result:
    """R-Zero, its challenger frozen, and with the code's reward."""
    plain = Config(
        learner=warmed(warm(WARM), max_completion_length=12, learning_rate=3e-4),
        domain=WARM.domain,
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
        "accuracy/3_digits",
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
    return "R-Zero on sums, with its controls", ("variant", *figures), table(trials, figures), note
