"""SPO: a policy's own samples are its opponents, and wins among them its reward (Swamy et al. 2024, arXiv:2401.04056).

Who says what is right: an oracle that compares two replies (`oracle`).

What beats every other policy at least half of the time (the minimax winner) is an equilibrium of a symmetric game, so
one learner against itself finds it: no reward model, no second player. In every step, with K replies to each prompt,

    r(y)  =  mean over the other K - 1 replies y' of  P(y beats y')          a win rate; its mean is 1/2
    A(y)  =  r(y) - mean of r over the replies to the prompt                 no division: r is a rank already

and any policy gradient takes its step; here L = -A log pi, and a pull to the start where it is wanted:

    L = - E[A log pi]  +  kl KL(pi || initial policy)

The oracle may be intransitive and noisy: a label that is a coin's, one in five, only shrinks r towards one half. It is
the average policy that nears the minimax winner; the last one circles where preferences do.

Differences: the replies of a group are compared with one another (the paper's control tasks: with a queue of recent
ones). No critic.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.group_rewards import WinRate
from redqueen.credit.rewards import score
from redqueen.measures.wins import wins_against_start
from redqueen.objectives.batch import beside, pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.objectives.regularizers import near_reference
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly
from redqueen.questions.catalogue import find_questions
from redqueen.questions.comparisons import compared
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner, OneTurn
from redqueen.settings.limits import Amount, Count, Several
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
    tasks: Count = 8  # of a step
    attempts: Several = 8  # K
    kl: Amount = 0.0
    snapshot_every: Count = 100  # steps between the iterates that are kept
    pool_size: Count = 50
    problems: Count = 64  # held out, of each level
    table_learning_rate = 0.3  # of a table, unless --learning-rate sets it


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    cast = Cast(config, run, config.table_learning_rate)
    learner, initial = cast.policy, cast.policy.freeze()
    oracle = config.judge.oracle(config.oracle, questions, cast.judge)
    tests, iterates, watch = wins_against_start(
        questions, learner, oracle, config.problems, run.tests, config.pool_size
    )
    estimate = GroupRelative(divide_by_deviation=False)

    for step in run.steps(config.steps, [learner], [iterates, oracle], [watch]):
        tasks = evenly(questions, config.tasks, run.rng, tests)
        answers = attempts(SOLVE, tasks, learner, config.attempts, run.rng)
        replies = score(compared(oracle, answers, run.rng), WinRate())
        advantages = estimate(replies)
        batch = pack(replies, advantages)
        if config.kl:
            batch = beside(batch, initial.likelihoods(batch))
        metrics = learner.update(batch, near_reference(Reinforce(), config.kl, batch))
        if (step + 1) % config.snapshot_every == 0:
            iterates.add(learner.freeze())
        run.report(learner, replies, advantages, metrics)
        run.note(watch.observe(metrics) | oracle.metrics())
    return learner
