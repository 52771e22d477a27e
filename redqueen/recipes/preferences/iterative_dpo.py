"""Iterative DPO: new replies, their best and worst, a step of DPO, and again (Dong et al. 2024, arXiv:2405.07863).

Who says what is right: an oracle that compares two replies or scores one (`oracle`).

DPO (Rafailov et al. 2023, arXiv:2305.18290) learns from pairs that another policy wrote. Done online (RLHFlow; Xiong et
al. 2024, arXiv:2312.11456), the pairs are the policy's own. In iteration t, with n replies to each prompt,

    select   the best and the worst by what they win against the others under an oracle; ties are no pair
    train    from pi_t,   L = -log sigmoid(beta (h(best) - h(worst))),   h(y) = log pi(y | x) - log reference(y | x)

The reference is the initial policy in RLHFlow, which bounds how far the iterations can drift; `--reference last` lets
it follow. DPO believes that preferences come from a reward (Bradley and Terry): where they go round in a circle it ends
at one reply, which another one beats. SPPO is this file with another loss.

`--chosen-weight` adds the likelihood of the best replies, which the difference alone lets fall. The inner loop ends at
`passes` over the pairs or where the margin is above `most_margin`.

Differences: some dozens of prompts an iteration (20 000), with an oracle of any kind (a reward model of pairs).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from redqueen.credit.advantages.keys import by_group
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.group_rewards import WinRate
from redqueen.credit.pairs import best_and_worst
from redqueen.credit.rewards import score
from redqueen.measures.accuracy import held_out
from redqueen.measures.preferences import AgainstStart, watched
from redqueen.objectives.additive import Sum
from redqueen.objectives.batch import beside, pack_pairs
from redqueen.objectives.preference import ChosenLikelihood, Dpo
from redqueen.objectives.references import Reference, check_start
from redqueen.objectives.rounds import Ceiling, Round
from redqueen.opponents.pools import Snapshots
from redqueen.play.groups import attempts
from redqueen.players.language.writing import language_model
from redqueen.protocols import Objective, Policy
from redqueen.questions.asking import SOLVE, evenly
from redqueen.questions.catalogue import find_questions
from redqueen.questions.comparisons import compared
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.limits import Amount, Count, Positive, Within
from redqueen.settings.oracles import find_oracle
from redqueen.settings.roles import bind
from redqueen.types import Trajectory


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner(model="smollm2-135m")
    domain: str = "growing"
    oracle: str = "domain"
    """domain, judge:frozen, judge:FOLDER, judge:http://HOST/v1#MODEL, or path/to/file.py:MyOracle"""
    steps: Count = 48
    updates: Count = 8  # of an iteration
    prompts: Count = 64  # of an iteration (20 000 in the paper)
    attempts: Annotated[int, Within(2)] = 8  # n
    pairs_per_update: Count = 16  # 128 in the paper
    passes: Count = 2  # over the pairs of an iteration, at most
    beta: Positive = 0.1
    chosen_weight: Amount = 0.0
    most_margin: Positive = 20.0  # nats; beyond it the iteration learns no more
    reference: Literal["initial", "last", "average"] = "initial"
    start: Literal["last", "initial"] = "last"  # of each iteration
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    domain = find_questions(config.domain)
    learner = config.learner.build(run.derived("learner"))
    seed, initial = run.derived("judge"), learner.state() if config.start == "initial" else {}
    oracle = find_oracle(
        config.oracle, domain, lambda who: bind("judge", who, config.learner, language_model(learner), seed)
    )
    tests = held_out(domain, config.problems, seed=run.tests)
    reference, iterates = Reference(learner, config.reference), Snapshots(learner)
    round_ = Round(config.passes, [Ceiling("preference_margin", config.most_margin)])
    estimate, objective = GroupRelative(by_group, divide_by_deviation=False), losses(config)
    watch = watched(domain, learner, tests, AgainstStart(oracle, learner, tests, iterates))

    for step in run.steps(config.steps, [learner], [reference, iterates, round_], [watch]):
        replies: list[Trajectory] = []
        if step % config.updates == 0:
            if step:
                iterates.add(learner.freeze())
            reference.refresh()
            prompts = evenly(domain, config.prompts, run.rng, tests)
            answers = attempts(SOLVE, prompts, learner, config.attempts, run.rng)
            replies = score(compared(oracle, answers, run.rng), WinRate())
            batch = pack_pairs(*best_and_worst(replies, by_group))
            batch = beside(batch, reference.likelihoods(batch))
            if step == 0:
                check_start(learner, batch)
            round_.renew(batch)
            if config.start == "initial":
                learner.restore({**initial, "version": learner.version})
        metrics = round_.update(learner, config.pairs_per_update, objective, run.rng)
        run.report(learner, replies, estimate(replies), metrics)
        run.note(round_.metrics() | watch.observe(metrics))
    return learner


def losses(config: Config) -> Objective:
    """DPO, and beside it the likelihood of the best replies where that has a weight."""
    dpo = Dpo(config.beta)
    return Sum(dpo, ChosenLikelihood(config.chosen_weight)) if config.chosen_weight else dpo
