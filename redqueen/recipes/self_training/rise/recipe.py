"""RISE: a model learns to solve and to verify its own solutions in one process (Liu et al. 2025, arXiv:2505.13445).

Who says what is right: the check of the question set, for solutions and for verdicts on them.

Reinforcement with verifiable rewards teaches a model to answer, not to know whether it is right. In each step of
RISE the solutions that the policy has just written become questions: the problem, the solution, is it right? The
outcome verifier that paid the solution also pays the verdict, and one PPO update takes both:

    R = 1 if right, -0.5 if wrong, -1 if it cannot be read        for solutions and for verdicts
    A = R - V(prompt), whitened over the batch's words            GAE with gamma = lambda = 1; V is a critic
    L = - mean over own words of  min(r A, clip(r, 0.8, 1.2) A)  +  k KL_k3(pi || initial policy)

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
from typing import Annotated

from redqueen.credit.advantages.statistics import GeneralizedAdvantage, Whitened
from redqueen.credit.group_rewards import Correctness
from redqueen.credit.rewards import score
from redqueen.measures.accuracy import held_out
from redqueen.objectives.additive import Sum
from redqueen.objectives.batch import beside, pack
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.objectives.regularizers import KLPenalty, k3
from redqueen.play.groups import attempts
from redqueen.players.language.writing import on_this_machine
from redqueen.players.transformer.critic import ValueHead
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly, graded
from redqueen.questions.catalogue import find_questions
from redqueen.recipes.self_training.rise.measures import SelfVerification
from redqueen.recipes.self_training.rise.steps import VERIFY, asked_about, earned, judged, skill
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.limits import Amount, Count, Positive, Within
from redqueen.types import RedQueenError


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner(model="smollm2-135m")
    questions: str = "sums"
    steps: Count = 200
    tasks: Count = 16  # a step (128 in the paper)
    attempts: Count = 8  # solutions to each
    verifications: Annotated[int, Within(0)] = 16  # solutions to be verified (128 in the paper)
    kl: Amount = 0.01  # k
    critic_learning_rate: Positive = 1e-2  # of a linear head (9e-6 for a whole model in the paper)
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    if config.verifications == 1:
        raise RedQueenError("--verifications come in twos, a right and a wrong solution: say 0, or 2 or more")
    questions = find_questions(config.questions)
    learner = config.learner.build_model(run.derived("learner"))
    initial = learner.freeze()
    head = on_this_machine(learner, "the critic reads its hidden states")
    critic = ValueHead(head, config.critic_learning_rate)
    credit = GeneralizedAdvantage(critic)
    objective = Sum(ClippedRatio(), KLPenalty(config.kl, k3))
    tests = held_out(questions, config.problems, seed=run.tests)
    measures = [SelfVerification(questions, learner, tests)]

    for _ in run.steps(config.steps, [learner], [critic], measures):
        tasks = evenly(questions, config.tasks, run.rng, tests)
        solutions = graded(questions, attempts(SOLVE, tasks, learner, config.attempts, run.rng))
        asked = asked_about(solutions, config.verifications, run.rng)
        verdicts = judged(attempts(VERIFY, asked, learner, 1, run.rng))

        trajectories = score(solutions, Correctness()) + score(verdicts, earned)
        expected, targets = credit.with_targets(trajectories)
        estimate = Whitened(lambda _, expected=expected: expected)
        advantages = estimate(trajectories)
        batch = pack(trajectories, advantages)
        metrics = learner.update(beside(batch, initial.likelihoods(batch)), objective)
        run.report(learner, trajectories, advantages, metrics | critic.update(trajectories, targets))
        run.note({f"train/{name}": value for name, value in skill(verdicts).items()})
    return learner
