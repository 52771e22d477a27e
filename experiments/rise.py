"""RISE on sums: what verifying one's own solutions teaches beside solving alone."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from experiments.absolute_zero import SUMS
from redqueen.questions.small.sums import Sums
from redqueen.questions.taught import Taught
from redqueen.questions.verifying import Verifying
from redqueen.recipes.self_training.rise import recipe as rise
from redqueen.trials.paired import difference, often, surplus, table, trained, warm, warm_further, warmed
from redqueen.trials.sheets import Bench, Result

DOMAIN = "experiments.rise:sums"


def sums() -> Taught:
    """Sums of one and two digits, and demonstrated verdicts on them that are hardly better than chance."""
    inner = Sums(digits=2, lengths=(0.3, 0.7), slips=(0.3, 0.6), name="slipping_sums")
    return Taught(inner, Verifying(0.6), "verified_sums")


def verified_sums(options: Bench, console: Console) -> Result:
    """Solving and verifying beside solving alone, at equal updates."""
    shown_verdicts = warm_further(warm(SUMS), DOMAIN, steps=300, rest=100, demonstrations=64)
    plain = rise.Config(
        warmed(shown_verdicts, learning_rate=3e-4),
        questions=DOMAIN,
        steps=options.steps or 250,
        tasks=8,
        verifications=64,
    )
    variants = {"RISE": plain, "solving alone": replace(plain, verifications=0)}
    trials = trained("rise", variants, options.seeds, console, evaluate_every=often(plain.steps))
    names = (
        "verification/balanced_accuracy",
        "verification/accepted_right",
        "verification/refused_wrong",
        "accuracy",
        "majority",
        "weighted_vote",
    )
    figures = tuple(f"late {name}" for name in names)
    voted = surplus(trials["RISE"], "late weighted_vote", "late majority")
    first = ", ".join(f"{trials['RISE'][0].first(name):.3f}" for name in names)
    note = (
        f"{options.seeds} paired seeds, {plain.steps} updates of {plain.tasks} x {plain.attempts} solutions from one "
        f"warm start ({first}). "
        f"{difference(trials, 'RISE', 'solving alone', figures[0])}. "
        f"{difference(trials, 'RISE', 'solving alone', 'late accuracy')}. Weighted vote minus majority, RISE: {voted}."
    )
    return "RISE on sums", ("variant", *figures), table(trials, figures), note
