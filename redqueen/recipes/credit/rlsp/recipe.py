"""RLSP: searching is paid apart from being right, within a bound (Ye et al. 2025, arXiv:2502.06773).

Who says what is right: the check of the question set.

Reinforcement by the outcome alone makes longer what already works, and a model that rarely looks for another way finds
few. RLSP pays the search too: a long reply costs less than a short one, so that trying costs nothing while nothing is
found, and the outcome decides once something is:

    R = c - price / max(l, least)        c = 1 right, 0 wrong, -1/2 without an answer; l the tokens of the reply
    A = R - V, whitened over the tokens of the batch (PPO with a critic), R less beta KL(policy || start)

The second part is bounded, so that search is never worth an answer: with price <= least (right minus wrong) no wrong
answer, however long, is paid more than a right one, however short. What goes beyond that is refused.

Both parts are figures of their own (`reward/correctness` and `reward/Exploration`): where the second
rises for long and the first does not, the length is farmed.

Differences: `least` is ours. The released code has none, so that a right answer of 400 characters is paid -9 and a
wrong one of 16,000 is paid -0.25; there l is characters over four, and of the reasoning alone. Its judge of how
inventive a reply is (a fifth of the reward) is left out, and so are the demonstrations it begins with: `cold_start`
makes them. The price is for replies of some dozen tokens (1000 for 4096 in the paper). An error of a check ends the
run (there it pays 0). `--price 0` is reinforcement by the outcome alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.group_rewards import Correctness
from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly, graded
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated, check_known
from redqueen.recipes.credit.rlsp.steps import Exploration
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Amount, Count, Several
from redqueen.settings.update import Update
from redqueen.types import Group


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=128)
    questions: str = "sums"
    steps: Count = 200
    tasks: Count = 16  # a step (128 in the paper)
    attempts: Several = 8  # (4 in the paper)
    no_answer: float = -0.5  # c without one
    price: Amount = 16.0  # lambda (1000 in the paper)
    least: Count = 16  # tokens that a reply counts as at least
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(  # kl is beta
        estimator="gae",
        scale="batch",
        loss="ppo",
        clip_low=0.2,
        clip_high=0.2,
        aggregate="token",
        kl=0.05,
        kl_in="reward",
    )
    draws_anew = True  # tasks, where `step.rounds` says so
    batch = (("tasks", "attempts"),)
    pays_in_parts = True


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    outcome = Correctness(right=1.0, wrong=0.0, malformed=config.no_answer)
    search = Exploration(config.price, config.least, gap=outcome.right - outcome.wrong)
    learner = config.learner.build_model(run.derived("learner"))
    step = LearningStep(config, [learner])
    measure = HeldOut(questions, learner, config.problems, seed=run.tests, truncated=config.truncated_score)
    check_known(questions, measure.tests)

    for _ in run.steps(config.steps, [learner], step.parts, [measure]):
        groups: list[Group] = []
        for missing in step.rounds(groups, config.tasks):
            tasks = evenly(questions, missing, run.rng, measure.tests)
            tries = attempts(SOLVE, tasks, learner, config.attempts, run.rng)
            groups += graded(questions, tries, config.truncated_score)
        trajectories = step.shaped(score(groups, outcome, search))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
    return learner
