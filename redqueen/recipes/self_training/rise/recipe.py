"""RISE: a model learns to solve and to verify its own solutions in one process (Liu et al. 2025, arXiv:2505.13445).

Who says what is right: the check of the question set, for solutions and for verdicts on them.

Reinforcement with verifiable rewards teaches a model to answer, not to know whether it is right. In each step of
RISE the solutions that the policy has just written become questions: the problem, the solution, is it right? The
outcome verifier that paid the solution also pays the verdict, and one PPO update takes both:

    R = 1 if right, -0.5 if wrong, -1 if it cannot be read        for solutions and for verdicts
    A = R - V(prompt), whitened over the batch's tokens           GAE with gamma = lambda = 1; V is a critic
    L = - mean over own tokens of  min(r A, clip(r, 0.8, 1.2) A)  +  k KL_k3(pi || initial policy)

On-policy verification costs an eighth as many rollouts as solving, and follows the mistakes that the policy makes now.

Differences: as many right as wrong solutions are verified, as far as there are both, so that an odd `verifications`
counts as one less (the paper draws at random, and a verifier of a good solver learns to say "right"). The critic is a
linear head on the policy's last hidden state at the end of the prompt. One update a batch, so the ratio is 1. The KL
penalty stands in the loss.

Control: `--verifications 0` is the same reinforcement of solving alone. What is measured: accuracy, the balanced
accuracy of verdicts on the policy's own solutions, the majority vote and the vote weighted by verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.group_rewards import Correctness
from redqueen.credit.rewards import score
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly, graded
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.self_training.rise.measures import SelfVerification
from redqueen.recipes.self_training.rise.steps import (
    VERIFY,
    Drawn,
    compared,
    earned,
    judged,
    skill,
    whitened_critic,
)
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Amount, Count, Whole
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    questions: str = "sums"
    steps: Count = 200
    tasks: Count = 16  # a step (128 in the paper)
    attempts: Count = 8  # solutions to each
    verifications: Whole = 16  # solutions to be verified (128 in the paper)
    critic_learning_rate: Amount = 1e-2  # of a linear head (9e-6 for a whole model in the paper)
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token", kl=0.01)  # kl is k
    batch = (("tasks", "attempts"),)  # and as many verifications as there are solutions for
    of_its_estimator = ("critic_learning_rate",)


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    learner = config.learner.build_model(run.derived("learner"))
    critic, asked_about = whitened_critic(learner, config.critic_learning_rate), Drawn(config.verifications)
    step = LearningStep(config, [learner], key=compared, estimate=critic)
    measure = SelfVerification(questions, learner, config.problems, seed=run.tests, truncated=config.truncated_score)

    for _ in run.steps(config.steps, [learner], step.parts, [measure]):
        tasks = evenly(questions, config.tasks, run.rng, measure.tests)
        solutions = graded(questions, attempts(SOLVE, tasks, learner, config.attempts, run.rng), config.truncated_score)
        asked = asked_about(solutions, run.rng)
        verdicts = judged(attempts(VERIFY, asked, learner, 1, run.rng))

        trajectories = step.shaped(score(solutions, Correctness()) + score(verdicts, earned))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
        run.note({f"train/{name}": value for name, value in skill(verdicts).items()})
    return learner
