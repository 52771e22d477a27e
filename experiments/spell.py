"""SPELL on notes: texts that grow beside texts of one length, with and without its filter."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from rich.console import Console

from redqueen.checks.numeric import Covers
from redqueen.questions.small.documents import LOOKUP, Documents
from redqueen.recipes.proposers.spell import recipe as spell
from redqueen.recipes.proposers.spell.steps import grounded
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.paired import difference, table, trained, warm, warm_further, warmed
from redqueen.trials.sheets import Bench, Result
from redqueen.types import Refusal, Task

READING = cold_start.Config(
    learner=Learner(model="tiny:hidden=64,layers=3", max_completion_length=72),
    questions="experiments.spell:readings",
    steps=1200,
    demonstrations_per_step=32,
    rest=1,
    problems=8,
)
"""Who cannot read a line out cannot look one up; a tiny model learns to from nothing but notes read out."""


def readings() -> Documents:
    """Notes of up to 24 lines, read out."""
    return Documents(lengths=(0.4, 0.4, 0.2, 0.0), readings_only=True, name="readings")


def start() -> str:
    """The folder of a model that was taught to read notes out, then its three roles, then more of the verifier's."""
    reader = warm_further(warm(READING), READING.questions, 1500, 1, demonstrations=32, max_completion_length=72)
    roles = warm_further(reader, "documents", 1200, 500, max_completion_length=12)
    return warm_further(roles, "documents:judgements=14", 600, 300, max_completion_length=12)


def growing_texts(options: Bench, console: Console) -> Result:
    """SPELL, the shortest and the longest texts alone, no filter."""
    folder = start()
    plain = spell.Config(learner=warmed(folder, max_completion_length=12), steps=options.steps or 100, votes=4)
    variants = {
        "SPELL": plain,
        "shortest texts only": replace(plain, stages=(0, 0)),
        "longest texts only": replace(plain, stages=(3, 3)),
        "no grounding filter": replace(plain, grounding=False),
    }
    trials = trained("spell", variants, options.seeds, console, evaluate_every=plain.steps)
    longest = Documents().levels[-1]
    figures = (
        f"first pass@8/{longest}",
        f"pass@8/{longest}",
        f"accuracy/{longest}",
        f"accuracy/{Documents().levels[0]}",
        "first judge_accuracy",
        "late judge_accuracy",
        "first proposals/solve_rate",
        "late proposals/solve_rate",
        "late clusters/stage",
    )
    compared = [difference(trials, "SPELL", other, f"pass@8/{longest}") for other in list(variants)[1:]]
    closed, open_book = filtered(folder)
    note = (
        f"{options.seeds} paired seeds, {plain.steps} steps from one warm start. "
        f"{'. '.join(compared)}. "
        f"The filter of the warm start refuses {closed:.0%} of 200 sums and {open_book:.0%} of 200 lookups."
    )
    return "SPELL on growing notes, with its controls", ("variant", *figures), table(trials, figures), note


def filtered(folder: str) -> tuple[float, float]:
    """The share of questions refused as answered without their text: of sums, which need none, and of lookups."""
    domain, rng = Documents(), Random(0)
    responder = warmed(folder, max_completion_length=12).build_model(0)
    sums = [domain.task(n, 0, LOOKUP, f"{1 + n % 5}+{1 + n // 5 % 4}", str(2 + n % 5 + n // 5 % 4)) for n in range(200)]
    lookups = domain.problems(domain.levels[0], 200, rng)
    shares = []
    for questions in (sums, lookups):
        written: list[Task | Refusal] = list(questions)
        found = grounded(domain, written, responder, Covers(), rng)
        shares.append(sum(isinstance(each, Refusal) for each in found) / len(found))
    return shares[0], shares[1]
