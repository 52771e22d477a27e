"""SEC, the self-evolving curriculum: a bandit chooses what to train on (Chen et al. 2025, arXiv:2505.14970).

Who says what is right: the check of the question set.

The problems fall into categories, here the levels of a question set, and each is an arm. A slot of the batch draws an
arm c with chance softmax(Q(c) / tau) and then a problem of that arm, which the model tries G times. The policy takes
one step of GRPO, and afterwards every arm that was drawn learns what its problems were worth to this step:

    A    = (R - mean) / deviation     over the G attempts at one problem, R = 1 where right and 0 where wrong
    r(c) = mean of |A| over the attempts at problems of the arm c
    Q(c) <- (1 - alpha) Q(c) + alpha r(c)       (TD(0)); arms that were not drawn stay

With G = 8, r is .87 where half of the attempts are right and .22 where one in twenty is: an arm rises as it comes
within reach and falls as it is mastered, so that training moves from easy to hard without being told the order.

Differences: problems are made anew at every draw, where the paper draws from a data set. No KL penalty. A wrong
and a malformed answer earn the same, 0. `--tau 1e9` draws all arms alike, the paper's random curriculum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from redqueen.credit.group_rewards import correct
from redqueen.credit.rewards import score
from redqueen.curricula.bandit import SelfEvolving
from redqueen.curricula.levels import level_of, levels_of
from redqueen.measures.accuracy import HeldOut
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, graded
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Count, Positive, Several, Within
from redqueen.settings.update import Update
from redqueen.types import Group


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    questions: str = "sums"
    steps: Count = 200
    tasks: Count = 16  # slots of a batch
    attempts: Several = 8  # G
    step_size: Annotated[float, Within(0.0, 1.0, above=True)] = 0.5  # alpha
    tau: Positive = 0.4  # of the draws; the learner has a temperature of its own
    start: float = 0.0  # Q of an arm that was never drawn
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token")
    draws_anew = True  # tasks, where `step.rounds` says so
    batch = (("tasks", "attempts"),)


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    learner = config.learner.build_model(run.derived("learner"))
    measure = HeldOut(questions, learner, config.problems, seed=run.tests, truncated=config.truncated_score)
    curriculum = SelfEvolving(levels_of(questions, measure.tests), level_of, config.step_size, config.tau, config.start)
    step = LearningStep(config, [learner])

    for _ in run.steps(config.steps, [learner], [curriculum, *step.parts], [measure]):
        groups: list[Group] = []
        for missing in step.rounds(groups, config.tasks):
            tasks = curriculum.draw(missing, run.rng)
            tries = attempts(SOLVE, tasks, learner, config.attempts, run.rng)
            groups += graded(questions, tries, config.truncated_score)
        trajectories = step.shaped(score(groups, correct))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        curriculum.observe_advantages(trajectories, advantages)
        run.report(learner, trajectories, advantages, metrics)
        run.note(curriculum.metrics())
    return learner
