"""MR-RLVR: worked solutions become fill-in and reorder tasks, before answers are rewarded (2025, arXiv:2511.17473).

Who says what is right: a worked solution, whose parts are hidden; afterwards the check of the question set.

A worked solution, also one whose end nobody can check, has much in it that can be. In the first stage (`first_steps`
steps) the tasks are made of solutions, and an attempt is paid for the share of it that is right:

    fill     last numbers of steps are hidden wherever they stand     R = sum over the gaps of 1[said = hidden] / gaps
    order    steps that build on each other are shuffled              R = sum over the steps of 1[at its place] / steps

and in the second the answers are: R = 1 right, 0 wrong. A = (R - mean) / deviation over the attempts at one task.

A number that stands in the question is not hidden, and steps are shuffled only along a chain in which each takes up the
last number of the one before: independent steps have no one order. `--order-by pairs` pays the share of pairs in the
right order, (1 + Kendall's tau) / 2: a rotation of the steps has no step at its place, and half of the pairs.

Solutions are those of the question set (of a file `--columns completion=COL`); they need no answers where
`--first-steps` is `--steps`. What is equal to one solution is not all that is right: other right numbers count as
wrong. Measured: `masked/fill` or `masked/order`, `masked/read`, pass@8, and the accuracy. Controls
(`experiments/mr_rlvr.py`): `--first none` with as many rollouts, and fractions dealt anew.

Differences: numbers are hidden by a rule (the paper: what a teacher model marks, in solutions that it cleaned). The
share of what is hidden, the number of steps shuffled, how values are compared, G and the learning rate are not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from redqueen.credit.group_rewards import correct
from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly, graded
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated, check_known
from redqueen.recipes.labels.mr_rlvr.steps import First, Masked, OrderBy
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Count, NotWith, OnlyWith, Several, Share
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=128)
    questions: str = "worked"  # or a file with solutions
    first: First = "fill"
    """what the first stage trains on: numbers to fill in, steps to put in order, or none"""
    first_steps: Annotated[Count, NotWith("first", "none")] = 80  # of the first stage
    masked: Annotated[Share, OnlyWith("first", "fill")] = 0.5  # of the steps, whose last number is hidden; one at least
    order_by: Annotated[OrderBy, OnlyWith("first", "order")] = "positions"
    """steps at their place, or pairs of steps in the right order"""
    steps: Count = 200
    tasks: Count = 16  # a step
    attempts: Several = 8  # G
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token")
    batch = (("tasks", "attempts"),)


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    learner = config.learner.build_model(run.derived("learner"))
    measure = HeldOut(questions, learner, config.problems, seed=run.tests, truncated=config.truncated_score)
    masked = Masked(questions, config.first, config.masked, config.order_by, config.truncated_score)
    first = 0 if config.first == "none" else config.first_steps
    if first < config.steps:
        check_known(questions, measure.tests, f"--first-steps {config.steps} trains on solutions alone, ")
    step = LearningStep(config, [learner])

    for number in run.steps(config.steps, [learner], [masked, *step.parts], [measure]):
        if number < first:
            tasks = masked.drawn(config.tasks, run.rng, measure.tests)
            groups = masked.marked(attempts(SOLVE, tasks, learner, config.attempts, run.rng))
            trajectories = score(groups, masked.reward)
        else:
            tasks = evenly(questions, config.tasks, run.rng, measure.tests)
            tries = attempts(SOLVE, tasks, learner, config.attempts, run.rng)
            trajectories = score(graded(questions, tries, config.truncated_score), correct)
        trajectories = step.shaped(trajectories)
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
        run.note(masked.metrics())
    return learner
