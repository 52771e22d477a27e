"""SPPO: every reply's log-ratio is led to how often it wins against the policy (Wu et al. 2024, arXiv:2405.00675).

Who says what is right: an oracle that compares two replies (`oracle`).

Preferences need not come from a reward: an oracle says P(y beats y'). Multiplicative weights find the policy that none
beats more often than not, and SPPO takes each of their steps by regression. In iteration t, with K replies to each
prompt,

    P(y beats pi_t)  =  mean over the K replies y' of  P(y beats y'),  itself among them, one half      (section 4.2)
    L = ( h(y) - eta (P(y beats pi_t) - 1/2) )^2 / 2,       h(y) = log pi(y | x) - log pi_t(y | x)      (equation 4.4)

The solution is pi_{t+1} in proportion to pi_t exp(eta P(y beats pi_t)). The last iterate circles where preferences do;
the average of the iterates nears the equilibrium. Not only the difference of two replies is fixed, as in DPO: the
better ones become likelier.

`--replies ends` regresses on the best and the worst reply of each prompt alone, as the authors' code does.

At the paper's eta of 1000 the targets lie up to 400 nats away (of five replies the best wins .9, the worst .1), which
no iteration reaches: h stays small beside them, the step is that of a policy gradient with eta (P - 1/2) as advantage,
and what holds pi near pi_t is how many updates an iteration has, and their rate. Only an eta near 1 is fitted.

Differences: AdamW with clipped gradients (RMSProp). The log of the normaliser is eta / 2, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from redqueen.credit.group_rewards import WinRate
from redqueen.credit.pairs import Pairs, best_and_worst
from redqueen.credit.rewards import score
from redqueen.measures.wins import wins_against_start
from redqueen.objectives.batch import pack_samples
from redqueen.objectives.preference import Sppo
from redqueen.objectives.references import Reference
from redqueen.objectives.rounds import Round
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly
from redqueen.questions.catalogue import find_questions
from redqueen.questions.comparisons import compared
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner, OneTurn
from redqueen.settings.limits import Count, Positive, Several
from redqueen.settings.oracles import JudgeSettings
from redqueen.settings.roles import Cast


@dataclass(frozen=True)
class Config:
    learner: OneTurn = Learner()
    questions: str = "matchups"
    oracle: str = "questions"
    """questions, judge:frozen, judge:FOLDER, judge:http://HOST/v1#MODEL, reward:MODEL, pairs:MODEL, or FILE.py:NAME"""
    judge: JudgeSettings = JudgeSettings()
    steps: Count = 4000
    updates: Count = 10  # of an iteration
    tasks: Count = 32  # of an iteration (20 000 in the paper)
    attempts: Several = 5  # K
    replies: Literal["all", "ends"] = "all"
    replies_per_update: Count = 160
    passes: Count = 10  # over the replies of an iteration, at most (18 in the paper)
    eta: Positive = 1.0  # 1000 in the paper
    reference: Literal["last", "initial", "average"] = "last"
    start: Literal["last", "initial"] = "last"  # of each iteration
    pool_size: Count = 50  # iterates kept, whose average is measured
    problems: Count = 64  # held out, of each level
    table_learning_rate = 2.0  # of a table, unless --learning-rate sets it


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    cast = Cast(config, run, config.table_learning_rate)
    learner = cast.policy
    oracle = config.judge.oracle(config.oracle, questions, cast.judge)
    tests, iterates, watch = wins_against_start(
        questions, learner, oracle, config.problems, run.tests, config.pool_size
    )
    reference = Reference(learner, config.reference)
    first = learner.state() if config.start == "initial" else {}
    round_ = Round(config.passes)
    objective = Sppo(config.eta)

    for step in run.steps(config.steps, [learner], [reference, iterates, round_, oracle], [watch]):
        if step % config.updates == 0:
            if step:
                iterates.add(learner.freeze())
            reference.refresh()
            tasks = evenly(questions, config.tasks, run.rng, tests)
            answers = attempts(SOLVE, tasks, learner, config.attempts, run.rng)
            replies = score(compared(oracle, answers, run.rng), WinRate(beside_itself=True))
            pairs = best_and_worst(replies) if config.replies == "ends" else Pairs(replies, [])
            replies = pairs.chosen + pairs.rejected
            advantages = [reply.rewards - 0.5 for reply in replies]
            batch = pack_samples(replies, [float(each.sum()) for each in advantages])
            round_.renew(reference.rated(batch), pairs.equal)
            if first:
                learner.restore({**first, "version": learner.version})
            run.report(learner, replies, advantages, {})
        metrics = round_.update(learner, config.replies_per_update, objective, run.rng)
        run.note(metrics | round_.metrics() | oracle.metrics() | watch.observe(metrics))
    return learner
