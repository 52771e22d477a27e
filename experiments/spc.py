"""SPC on steps of arithmetic: a critic whose opponent learns beside one that meets the errors of round 0 alone."""

from __future__ import annotations

from functools import partial
from math import nan
from random import Random
from typing import Any

from redqueen.curricula.held_out import Apart
from redqueen.players.scripted import Uniform
from redqueen.recipes.adversaries.spc.measures import ErrorSet
from redqueen.recipes.adversaries.spc.recipe import Config, train
from redqueen.recipes.adversaries.spc.steps import criticised
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.settings.update import Update
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import Start, warmed

ROUNDS, FIRST = "two rounds", "errors of round 0 alone"
STEPS = 160
SCHOOL = cold_start.Config(
    learner=Learner(model="tiny:hidden=96,layers=3", max_completion_length=16, learning_rate=2e-3),
    questions="redqueen.questions.small.step_traces:StepTraces:length=2,largest=20,looks=0.5",
    steps=1600,
    rest=533,
    demonstrations_per_step=96,
    problems=8,
)


def measured(config: Any, seed: int) -> Apart:
    """The steps of the error set and those of the problems that are searched, and what the generator is measured on."""
    questions, count = criticised(config.questions), config.problems
    judged = ErrorSet(questions, Uniform(), count, count, seed=seed)
    return {"judged": judged.tasks, "spoilt": questions.invitations(4 * count, Random(seed))}


def deceived(trial: Trial, number: int, who: str) -> float:
    """Returns the share of errors that get past the critic of the beginning of a round, counted from 0, by the
    generator of its end ("now") or of its beginning ("before"). The first measurement is of the start."""
    measured = [line for line in trial.lines if "deceived/now" in line]
    return float([*measured[1:], trial.final][number].get(f"deceived/{who}", nan))


CRITIC = Experiment(
    title="SPC on steps of arithmetic",
    asked="Does a critic whose opponent learns find more errors, and is its word worth more than a majority?",
    trial=Training(train, evaluate_every=STEPS // 2),
    config=Config(
        warmed(5e-4, max_completion_length=16),
        questions=SCHOOL.questions,
        steps=STEPS,
        round=STEPS // 2,
        planted=48,
        natural=48,
        problems=48,
        update=Update(clip_low=1.0, clip_high=1.0),  # a verdict is one token in nine: its ratio counts for a ninth
    ),
    starts={"learner.model": Start(SCHOOL)},
    measured=measured,
    one_start=True,
    variants={ROUNDS: {}, FIRST: {"generator.player": "frozen"}, "no natural steps": {"natural": 0}},
    figures=(
        *("first balanced_accuracy", "balanced_accuracy", "false_alarm", "majority", "guided"),
        "late planted/valid_share",
    ),
    compared=(
        *versus(ROUNDS, (FIRST, "no natural steps"), ("balanced_accuracy", "guided")),
        Difference(ROUNDS, ROUNDS, "guided", "majority"),
        *(Difference(ROUNDS, ROUNDS, f"deceived now, round {n}", f"deceived before, round {n}") for n in (1, 2)),
    ),
    controls=(FIRST,),
    derived={
        f"deceived {who}, round {n}": partial(deceived, number=n - 1, who=who)
        for n in (1, 2)
        for who in ("now", "before")
    },
)
