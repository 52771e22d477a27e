"""SPC on steps of arithmetic: a critic whose opponent learns beside one that meets the errors of round 0 alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from redqueen.measures.intervals import bootstrap_interval
from redqueen.recipes.adversaries.spc import recipe as spc
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.paired import Trial, difference, surplus, table, trained, warm, warmed
from redqueen.trials.sheets import Bench, Result

ROUNDS, FIRST = "two rounds", "errors of round 0 alone"
SCHOOL = cold_start.Config(
    learner=Learner(model="tiny:hidden=96,layers=3", max_completion_length=16, learning_rate=2e-3),
    questions="redqueen.questions.small.step_traces:StepTraces:length=2,largest=20,looks=0.5",
    steps=1600,
    rest=533,
    demonstrations_per_step=96,
    problems=8,
)


def critic(options: Bench, console: Console) -> Result:
    """The critic on a frozen set of errors, what each round's generator gets past it, and what its word is worth."""
    steps = options.steps or 160
    base = spc.Config(
        warmed(warm(SCHOOL), max_completion_length=16, learning_rate=5e-4),
        domain=SCHOOL.questions,
        steps=steps,
        round=steps // 2,
        planted=48,
        natural=48,
        problems=48,
        clip=1.0,  # a verdict is one word in nine: its ratio counts for a ninth
    )
    variants = {ROUNDS: base, FIRST: replace(base, generator="frozen"), "no natural steps": replace(base, natural=0)}
    trials = trained("spc", variants, options.seeds, console, evaluate_every=steps // 2)
    figures = (
        "first balanced_accuracy",
        "balanced_accuracy",
        "false_alarm",
        "majority",
        "guided",
        "late planted/valid_share",
    )
    guided = surplus(trials[ROUNDS], "guided", "majority")
    note = (
        f"{options.seeds} paired seeds, {steps} steps of {base.planted} planted and {base.natural} natural steps, two "
        f"rounds, from one warm start. {difference(trials, ROUNDS, FIRST, 'balanced_accuracy')}; guided minus "
        f"majority, {ROUNDS}: {guided}. The generator at the end of a round gets more of its errors past the critic "
        f"of its beginning than that of its beginning does: {_gain(trials[ROUNDS], 0)} in the first round, "
        f"{_gain(trials[ROUNDS], 1)} in the second."
    )
    return "SPC on steps of arithmetic", ("variant", *figures), table(trials, figures), note


def _gain(trials: Sequence[Trial], number: int) -> str:
    """By how much, over the seeds; rounds count from 0. The first measurement is of the start."""
    gains = []
    for trial in trials:
        measured = [line for line in trial.lines if "deceived/now" in line]
        end = [*measured[1:], trial.final][number]
        gains.append(float(end["deceived/now"] - end["deceived/before"]))
    return str(bootstrap_interval(gains, seed=0))
