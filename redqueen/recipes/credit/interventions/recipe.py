"""InT: one step proposed at the first error of a failed attempt, then reinforcement (2026, arXiv:2601.14209).

Who says what is right: the check of the question set.

A problem that no attempt solves gives reinforcement nothing. With a reference solution in view the model reads its own
failed attempt, names the first error, and writes one step in its place that would have led on, in the attempt's own
manner. It imitates the attempt up to there and that step, and nothing after it; then ordinary reinforcement goes on
from a model that now comes past the error:

    steps below `supervised`   of each group that nobody solved, an attempt y is cut before its step l and a step s put
                               there;  L = - mean log policy(y[1..l-1], s | problem), no end of text
    after them                 A = (R - mean) / deviation over the attempts at one problem, and the clipped ratio's loss

A step is dropped if it cannot be read, if it gives the answer away, or if none of `continuations` replies that go on
from it comes to the answer. An update waits for `interventions` of them: one on two or three moves the policy as far as
one on many. `--learn step` leaves what stays of the attempt out of the loss, where the place of the error is in doubt;
on chains of sums it undid the model. Steps are the lines of what was said aloud.

Controls: `--supervised 0` is reinforcement alone; `experiments/interventions.py` has another place at random, the step
of the solution, and whole solutions.

Differences: attempts, interventions and imitation take turns (the paper: interventions in one go, from problems with no
success in 64, four passes of SFT on them). A step gives the answer away if it comes to it as a whole number or word
(released code: any part of its text). The continuation is asked for in a new prompt (there: in the same reply).
Each intervention counts alike, however long it is (there: each token), and is learned once.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.group_rewards import correct
from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly, graded
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.credit.interventions.steps import INTERVENE, Interventions, Learned, Waiting
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, Several, Whole
from redqueen.settings.roles import without_format


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=128)
    questions: str = "sums"
    learn: Learned = "prefix"  # what stays of the attempt and the step, or the step alone
    steps: Count = 160
    supervised: Whole = 60  # of them that imitate interventions; the others reinforce
    tasks: Count = 16  # a step
    attempts: Several = 8
    proposals: Count = 4  # interventions in each failed attempt
    interventions: Count = 32  # of an update, which waits for so many (64 in the paper)
    continuations: Count = 8  # of each (32 in the paper), one of which has to be right
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    learner = without_format(config.learner.build_model(run.derived("learner")), [INTERVENE.role])
    measure = HeldOut(questions, learner, config.problems, seed=run.tests, truncated=config.truncated_score)
    intervene = Interventions(questions, measure.tests, config.proposals, config.continuations, config.truncated_score)
    waiting = Waiting(config.learn, config.interventions)
    estimate = GroupRelative()

    for step in run.steps(config.steps, [learner], [intervene, waiting], [measure]):
        tasks = evenly(questions, config.tasks, run.rng, measure.tests)
        tries = attempts(SOLVE, tasks, learner, config.attempts, run.rng)
        groups = graded(questions, tries, config.truncated_score)
        trajectories = score(groups, correct)
        advantages = estimate(trajectories)
        if step < config.supervised:
            shown = intervene(groups, learner, run.rng)
            metrics = waiting.update(shown, learner, run.rng, last=step + 1 == config.supervised)
            run.note(intervene.metrics() | waiting.metrics())
        else:
            metrics = learner.update(pack(trajectories, advantages), ClippedRatio())
        run.report(learner, trajectories, advantages, metrics)
    return learner
