"""Absolute Zero from one seed: what the solver gains, and what the proposer has to do with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from rich.console import Console

from experiments import sec
from experiments.variants import Variants, dealt_store, of_variants
from redqueen.credit.learnability import FailureShare, HardButSolved
from redqueen.measures.intervals import bootstrap_interval
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE, read, tasks_among
from redqueen.questions.small.sums import Sums
from redqueen.questions.triplets import ABDUCTION, DEDUCTION, INDUCTION
from redqueen.recipes.proposers.absolute_zero import recipe as absolute_zero
from redqueen.recipes.proposers.absolute_zero.steps import Rewards
from redqueen.recipes.self_training import cold_start
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.trials.paired import Trial, difference, moved, table, warm, warm_further, warmed
from redqueen.trials.sheets import Bench, Result, Rows
from redqueen.types import Metrics

SUMS = cold_start.Config(learner=Learner(model="tiny:hidden=96,layers=3", max_completion_length=12))
EXPRESSIONS = "expressions:largest=3"
METHOD = absolute_zero.train
NOVELTY = 0.5
ENDS = -0.5  # what a sum pays that no try, or every try, solves, as in the published code
ABLE = cold_start.Config(
    learner=Learner(model="tiny:hidden=96,layers=3", max_completion_length=20, learning_rate=2e-3),
    questions=f"{EXPRESSIONS},skill=1",
    steps=1500,
)
HABITS = cold_start.Config(questions=f"{EXPRESSIONS},skill=0.01", steps=80, rest=40)
"""A short second stage in which nearly every answer shown is wrong: the ability stays and is hardly ever used, as in
a pretrained model whose habits are bad."""


FROZEN = Role("frozen")


# --- variants --------------------------------------------------------------------------------


def paid_by_chance(config: absolute_zero.Config, run: Run) -> Policy:
    return absolute_zero.train(config, run, Rewards(lambda scores: run.rng.random()))


def paid_for_unsolved(config: absolute_zero.Config, run: Run) -> Policy:
    """1 - r, also where r = 0."""
    return absolute_zero.train(config, run, Rewards(FailureShare(pay_unsolved=True)))


def fined_at_the_ends(config: absolute_zero.Config, run: Run) -> Policy:
    """As in the published code."""
    return absolute_zero.train(config, run, Rewards(HardButSolved(ENDS)))


def paid_for_novelty(config: absolute_zero.Config, run: Run) -> Policy:
    return absolute_zero.train(config, run, Rewards(novelty=NOVELTY))


def fined_and_paid_for_novelty(config: absolute_zero.Config, run: Run) -> Policy:
    return absolute_zero.train(config, run, Rewards(HardButSolved(ENDS), NOVELTY))


def dealt_evenly(config: absolute_zero.Config, run: Run) -> Policy:
    """The solver learns from the question set's own problems, all levels alike."""
    return absolute_zero.train(config, run, store=dealt_store(config, run))


# --- what is asked ---------------------------------------------------------------------------


def self_taught(options: Bench, console: Console) -> Result:
    """Expressions of x from the identity, with every control."""
    plain = from_one_seed(options)
    variants = {
        "Absolute Zero": (METHOD, plain),
        "proposer frozen": (METHOD, replace(plain, proposer=FROZEN)),
        "random reward": (paid_by_chance, plain),
        "problems dealt evenly": (dealt_evenly, replace(plain, proposer=FROZEN)),
    }
    return "Absolute Zero on expressions, from one seed", *_taught(options, console, variants)


def novel_proposals(options: Bench, console: Console) -> Result:
    """The same with a reward for tasks unlike those before, beside a proposer that does not learn."""
    plain = from_one_seed(options)
    variants = {
        "with novelty": (paid_for_novelty, plain),
        "proposer frozen": (METHOD, replace(plain, proposer=FROZEN)),
    }
    return "Absolute Zero on expressions, from one seed, with novelty", *_taught(options, console, variants)


def from_one_seed(options: Bench) -> absolute_zero.Config:
    return absolute_zero.Config(
        learner=warmed(spoilt(), max_completion_length=20, learning_rate=5e-4),
        questions=EXPRESSIONS,
        steps=options.steps or 160,
        proposals=16,
        tasks=64,
    )


def _taught(options: Bench, console: Console, variants: Variants) -> tuple[tuple[str, ...], Rows, str]:
    """Headings, a row for each variant, and how the first one compares with the others."""
    trials = of_variants(variants, options, console)
    rows: Rows = [(name, *learned(group)) for name, group in trials.items()]
    first, *others = variants
    compared = [difference(trials, first, other, key) for other in others for key in ("accuracy", "pass@8")]
    headings = (
        "variant",
        *(f"{kind}, start to end" for kind in (DEDUCTION, ABDUCTION, INDUCTION)),
        *(f"pass@8, {kind}" for kind in (DEDUCTION, ABDUCTION, INDUCTION)),
        *(
            "valid share of proposals",
            "distinct share",
            "entropy, nats",
            "solve rate of proposals",
            "valid triplets held",
        ),
    )
    note = (
        f"{options.seeds} paired seeds, {variants[first][1].steps} steps from one warm start, as many rollouts each. "
        "No task from outside but the identity, save where problems are dealt; the warm start saw demonstrations, at "
        f"its end nearly all of them wrong. Of proposals: first step to last fifth of the steps. {'. '.join(compared)}."
    )
    return headings, rows, note


def spoilt() -> str:
    """The folder of a model that can work out expressions and hardly ever does."""
    able = warmed(warm(ABLE), max_completion_length=20, learning_rate=3e-4)
    return warm(replace(HABITS, learner=able))


def learned(trials: Sequence[Trial]) -> tuple[str, ...]:
    """The cells of a variant."""
    measured = [f"{figure}/{kind}" for figure in ("accuracy", "pass@8") for kind in (DEDUCTION, ABDUCTION, INDUCTION)]
    proposed = [f"proposals/{figure}" for figure in ("valid_share", "distinct_share", "entropy", "solve_rate")]
    held = bootstrap_interval([trial.late("tasks/held") for trial in trials], seed=0)
    return (
        *(moved(trials, f"first {key}", key) for key in measured),
        *(moved(trials, f"first {key}", f"late {key}") for key in proposed),
        f"{held.mean:.0f}",
    )


def digit_play(options: Bench, console: Console) -> Result:
    """Sums, with every control: a solver gains whoever proposes, so the proposer is known by what it proposes."""
    plain = absolute_zero.Config(
        learner=warmed(warm(SUMS), max_completion_length=12),
        questions="sums",
        steps=options.steps or 200,
        proposals=32,
        tasks=64,
    )
    variants = {
        "Absolute Zero": (fined_at_the_ends, plain),
        "proposer frozen": (METHOD, replace(plain, proposer=FROZEN)),
        "random reward": (paid_by_chance, plain),
        "problems dealt evenly": (dealt_evenly, replace(plain, proposer=FROZEN)),
        "1 - r, unsolved tasks paid": (paid_for_unsolved, plain),
        "with novelty": (fined_and_paid_for_novelty, plain),
    }
    trials = of_variants(variants, options, console)
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


# --- a proposer that asks what is easy -------------------------------------------------------

EASY = "experiments.absolute_zero:easy_asks"
HARDEST = "3_digits"
ASKED = f"asked/{HARDEST}"
WRITTEN = 512  # sums, to see what a proposer asks


def easy_asks() -> Sums:
    """The ladder's sums, of which 85 in 100 that are proposed have one digit, and two have three."""
    return replace(sec.ladder(), asked=(0.85, 0.13, 0.02), name="easy_asks")


def asked(proposer: Policy) -> Metrics:
    """The share of sums of three digits among all that it writes."""
    domain = easy_asks()
    invitations = [domain.invite("sum", (), number) for number in range(WRITTEN)]
    tasks = tasks_among(read(domain, play(alone(PROPOSE, invitations, proposer), Random(0))))
    return {ASKED: sum(task.facts["digits"] == domain.digits for task in tasks) / WRITTEN}


def frontier(options: Bench, console: Console) -> Result:
    """What it is worth that a proposer learns, where it asks what is easy at first and where it asks all alike."""
    easy, alike = (_from_asks(domain, options) for domain in (EASY, sec.LADDER))
    variants = {
        "asks what is easy, learns": (fined_at_the_ends, easy),
        "frozen": (METHOD, replace(easy, proposer=FROZEN)),
        "random reward": (paid_by_chance, easy),
        "problems dealt evenly": (dealt_evenly, replace(easy, proposer=FROZEN)),
        "asks all alike, learns": (fined_at_the_ends, alike),
        "asks all alike, frozen": (METHOD, replace(alike, proposer=FROZEN)),
    }
    trials = of_variants(variants, options, console, read=asked)
    figures = ("accuracy", "pass@8", *(f"{kind}/{HARDEST}" for kind in ("accuracy", "pass@8")))
    starts = {each.questions: each.learner.build_model(0) for each in (easy, alike)}
    shares = {domain: asked(start)[ASKED] for domain, start in starts.items()}
    rows: Rows = []
    for name, *cells in table(trials, figures):
        config, group = variants[name][1], trials[name]
        end = bootstrap_interval([trial.final[ASKED] for trial in group], seed=0)
        drift = "" if config.proposer == FROZEN else f" to {end}"
        solved = moved(group, "first proposals/solve_rate", "late proposals/solve_rate")
        rows.append((name, *cells, f"{shares[config.questions]:.3f}{drift}", solved))
    first, *controls, same, still = variants
    pairs = [*((first, control) for control in controls), (same, still)]
    compared = [difference(trials, *pair, key) for pair in pairs for key in figures[2:]]
    begun = "; ".join(f"{name}: {trials[name][0].first(figures[2]):.3f}" for name in (first, same))
    note = (
        f"{options.seeds} paired seeds, {easy.steps} steps, as many rollouts each, from one warm start that asks what "
        f"is easy and one that asks all alike ({figures[2]} at first: {begun}). {'. '.join(compared)}."
    )
    headings = ("variant", *figures, "of three digits among what is asked", "solve rate of proposals")
    return "Absolute Zero on sums, from a proposer that asks what is easy", headings, rows, note


def _from_asks(domain: str, options: Bench) -> absolute_zero.Config:
    """Both warm starts can carry and were taught to forget it, with proposals as the domain shows them."""
    start = warm_further(warm(sec.ABLE), domain, steps=100, rest=50)
    return absolute_zero.Config(
        learner=warmed(start, max_completion_length=12),
        questions=domain,
        steps=options.steps or 160,
        proposals=32,
        tasks=64,
    )
