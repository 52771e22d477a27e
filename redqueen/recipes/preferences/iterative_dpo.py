"""Iterative DPO: new replies, their best and worst, a step of DPO, and again (Dong et al. 2024, arXiv:2405.07863).

Who says what is right: an oracle that compares two replies or scores one (`oracle`).

DPO (Rafailov et al. 2023, arXiv:2305.18290) learns from pairs that another policy wrote. Done online (RLHFlow; Xiong et
al. 2024, arXiv:2312.11456), the pairs are the policy's own. In iteration t, with n replies to each prompt,

    select   the best and the worst by what they win against the others under an oracle; ties are no pair
    train    from pi_t,   L = -log sigmoid(beta (h(best) - h(worst))),   h(y) = log pi(y | x) - log reference(y | x)

The reference is the initial policy in RLHFlow, which bounds how far the iterations can drift; `--reference last` lets
it follow. DPO believes that preferences come from a reward (Bradley and Terry): where they go round in a circle it ends
at one reply, which another one beats. SPPO is this file with another loss.

`--chosen-weight` adds the likelihood of the best replies, which the difference alone lets fall.

Differences: some dozens of prompts an iteration (20 000), with an oracle of any kind (a reward model of pairs).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from redqueen.credit.group_rewards import WinRate
from redqueen.credit.pairs import best_and_worst
from redqueen.credit.rewards import score
from redqueen.measures.wins import wins_against_start
from redqueen.objectives.batch import pack_pairs
from redqueen.objectives.preference import dpo_with_chosen
from redqueen.objectives.references import Reference
from redqueen.objectives.rounds import Round
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
    steps: Count = 4000
    updates: Count = 10  # of an iteration
    tasks: Count = 32  # of an iteration (20 000 in the paper)
    attempts: Several = 8  # n
    pairs_per_update: Count = 16  # 128 in the paper
    passes: Count = 2  # over the pairs of an iteration, at most
    beta: Amount = 0.1  # above 0
    chosen_weight: Amount = 0.0
    reference: Literal["initial", "last", "average"] = "initial"
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
    objective = dpo_with_chosen(config.beta, config.chosen_weight)

    for step in run.steps(config.steps, [learner], [reference, iterates, round_, oracle], [watch]):
        if step % config.updates == 0:
            if step:
                iterates.add(learner.freeze())
            reference.refresh()
            tasks = evenly(questions, config.tasks, run.rng, tests)
            answers = attempts(SOLVE, tasks, learner, config.attempts, run.rng)
            replies = score(compared(oracle, answers, run.rng), WinRate())
            pairs = best_and_worst(replies)
            batch = pack_pairs(pairs.chosen, pairs.rejected)
            round_.renew(reference.rated(batch), pairs.equal)
            if first:
                learner.restore({**first, "version": learner.version})
            run.report(learner, replies, pairs.advantages(replies), {})
        metrics = round_.update(learner, config.pairs_per_update, objective, run.rng)
        run.note(metrics | round_.metrics() | oracle.metrics() | watch.observe(metrics))
    return learner
