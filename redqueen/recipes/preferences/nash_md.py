"""Nash-MD: the policy plays a mixture of itself and its reference, and its last iterate settles (arXiv:2312.00886).

Who says what is right: an oracle that compares two replies (`oracle`).

Nash learning from human feedback (Munos et al. 2023) looks for the policy that is preferred to every other where both
sides pay tau KL(policy || mu) for leaving a reference mu: one equilibrium, whatever the preferences. Mirror descent
reaches it in its last iterate, without an average, if it plays not itself but a geometric mixture (section 6):

    pi_mix(y' | x)  in proportion to  pi(y' | x)^(1 - b)  mu(y' | x)^b
    gradient        log pi(y | x) ( P(y beats y') - 1/2 ),  y from pi, y' from pi_mix,   and   - tau KL(pi || mu)

mu is the initial policy. b = 0 is self-play, b = 1 is play against the reference. Only the learner's tokens are trained
on. Where replies are listed the mixture and the KL are exact; in free text the mixture chooses among a few replies of
the policy (`composed/mixture.py`), and the KL is estimated from the sampled tokens (k2, whose gradient is that of the
KL of each token given those before it; its effect on the KL of later tokens is left out).

Differences: b is fixed (in the paper's theory it is tau times the step, and vanishes with it), so the last iterate
settles where it answers the mixture and not itself: at b 0 that is the equilibrium, at b 1 the best reply to mu, and
between them the farther off the equilibrium the larger b. The win rate of a reply is over `rivals` draws of the
mixture (the paper: one). The paper's mixture is made token by token; this one is of whole replies, as in the theory.
Iterates are kept, to measure their average with the last one (`wins/average`).
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.composed.mixture import Mixture
from redqueen.credit.group_rewards import Stated
from redqueen.credit.rewards import score
from redqueen.measures.wins import wins_against_start
from redqueen.objectives.batch import beside, pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.objectives.regularizers import near_reference
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly
from redqueen.questions.catalogue import find_questions
from redqueen.questions.comparisons import against_rivals
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner, OneTurn
from redqueen.settings.limits import Count, Positive, Share
from redqueen.settings.oracles import JudgeSettings
from redqueen.settings.roles import Cast


@dataclass(frozen=True)
class Config:
    learner: OneTurn = Learner()
    questions: str = "matchups"
    oracle: str = "questions"
    """questions, judge:frozen, judge:FOLDER, judge:http://HOST/v1#MODEL, reward:MODEL, pairs:MODEL, or FILE.py:NAME"""
    judge: JudgeSettings = JudgeSettings()
    steps: Count = 3000
    tasks: Count = 64  # of a step
    rivals: Count = 1  # replies of the mixture to each
    mixture: Share = 0.125  # b
    candidates: Count = 8  # of the mixture, in free text
    kl: Positive = 0.1  # tau, 0.008 in the paper
    snapshot_every: Count = 100  # steps between the iterates that are kept
    pool_size: Count = 50
    problems: Count = 64  # held out, of each level
    table_learning_rate = 1.0  # of a table, unless --learning-rate sets it


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    cast = Cast(config, run, config.table_learning_rate)
    learner, initial = cast.policy, cast.policy.freeze()
    oracle = config.judge.oracle(config.oracle, questions, cast.judge)
    tests, iterates, watch = wins_against_start(
        questions, learner, oracle, config.problems, run.tests, config.pool_size
    )
    rival = Mixture(learner, initial, config.mixture, config.candidates)

    for step in run.steps(config.steps, [learner], [iterates, oracle], [watch]):
        tasks = evenly(questions, config.tasks, run.rng, tests)
        answers = attempts(SOLVE, tasks, learner, 1, run.rng)
        rivals = attempts(SOLVE, tasks, rival, config.rivals, run.rng)
        replies = score(against_rivals(oracle, answers, rivals, run.rng), Stated("win_rate"))
        advantages = [reply.rewards - 0.5 for reply in replies]
        batch = pack(replies, advantages)
        batch = beside(batch, initial.likelihoods(batch))
        metrics = learner.update(batch, near_reference(Reinforce(), config.kl, batch))
        if (step + 1) % config.snapshot_every == 0:
            iterates.add(learner.freeze())
        run.report(learner, replies, advantages, metrics)
        run.note(watch.observe(metrics) | oracle.metrics())
    return learner
