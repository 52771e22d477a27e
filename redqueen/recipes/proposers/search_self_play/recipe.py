"""Search Self-Play: a model searches for questions that it must search to answer (2025, arXiv:2510.18821).

Who says what is right: the answer that the question was made from, once a reader finds it in the evidence.

A proposer is given an answer a, searches, and writes a question to which a is the answer. Rules of form are checked;
then a reader, who sees what the proposer found amid 4 documents that others found, must come to a. A valid question
is answered G = 5 times by the solver, who has the same search but not what the proposer found. Both are the model:

    proposer   R = 1 - mean success of the tries, and 0 if the question is invalid
    solver     R = 1 if right, else 0;   GRPO among the tries of a question

Questions that fail are replaced by earlier valid ones, from a pool that is cleared every 10 steps. The proposer's
update comes first, then the solver's, with its old log-probabilities computed anew. Outputs of the search carry no
loss. There is no zero at a mean success of 0: only the reader keeps impossible questions away, so it fails closed.

Differences: the proposer is compared with the batch's other proposals (the released code's group of one has no
baseline), no hop count or examples are shown, there is no KL term (0.01 in the paper), and nothing stands in for a
question where the pool is empty (the released code trains on dummies). Rules of form are for short questions in the toy
world (`knowledge.RULES`), SSP's for a corpus of your own: ten words and two searches. An ambiguous question passes.
Solutions are compared as texts; where these differ, a `judge` is asked if one is named, as the paper's is. Controls are
other `grounds` (by the rules alone, or read again next to similar documents), other `rewards` (invalid questions fined)
or another `pool` (a fixed set of questions): see `experiments/search_self_play.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_kind_or_group
from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.proposals import Proposals
from redqueen.play.groups import attempts
from redqueen.players.language.writing import refreshed
from redqueen.protocols import Policy
from redqueen.questions.asking import graded
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.proposers.search_self_play.steps import (
    Grounds,
    Pool,
    Reader,
    Rewards,
    equipped,
    judges_of,
    questions_of,
)
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, Several
from redqueen.settings.roles import Cast, Role
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=96)
    proposer: Role = Role()
    reader: Reader = Role("world")
    """whose answer from the evidence counts: the toy world's own, frozen, shared, a model folder, an endpoint"""
    judge: Reader = Role("world")
    """asked whether a solution in other words is right: nobody (world), frozen, shared, a model folder, an endpoint"""
    corpus: str = ""
    """documents of your own, {"id": ..., "text": ...} in each line; without them a world of 500 facts"""
    answers: str = ""
    """what to ask for in them, one in each line"""
    tests: str = ""
    """held-out ones about them, {"question": ..., "answer": ...} in each line"""
    steps: Count = 200
    proposals: Count = 32  # a step (256 in the paper)
    attempts: Several = 5  # G
    searches: Count = 4  # of one seat in an episode (10 turns in the paper)
    noise: Count = 4  # documents of others among the evidence
    pool_steps: Count = 10  # after which the pool is cleared
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.285, aggregate="token")


def train(
    config: Config,
    run: Run,
    rewards: Rewards | None = None,
    grounds: Grounds | None = None,
    pool: Pool | None = None,
) -> Policy:
    cast = Cast(config, run)
    judges = judges_of(config, cast)
    questions = questions_of(config, judges)
    solver = cast.learner
    proposer = cast["proposer"]
    reader = None if config.reader.player == "world" else cast["reader"]
    rewards = rewards or Rewards()
    grounds = grounds or Grounds(questions, reader, config.noise)
    pool = Pool(config.pool_steps) if pool is None else pool
    health, step = Proposals(questions, questions.true_answer), cast.learning_step(by_kind_or_group)
    measured = equipped(config, solver)
    graders = questions_of(config, judges_of(config, cast))  # whose silence is heard apart from that in training
    measure = HeldOut(graders, measured, config.problems, seed=run.tests, truncated=config.truncated_score)

    for number in run.steps(config.steps, cast.learning, [pool, health, *judges, *step.parts], [measure]):
        pool.begin(number)
        invitations = grounds.invited(config.proposals, run.rng)
        proposals = attempts(measured.game.of("proposer"), invitations, proposer, 1, run.rng)
        written = grounds.read(proposals)
        passed = grounds.checked(written, proposals, run.rng)
        drawn, parents = pool.filled(passed, proposals, run.rng)
        tries = attempts(measured.game, drawn, solver, config.attempts, run.rng, parents)
        tries = graded(questions, tries, config.truncated_score)
        pool.add(measure.apart(passed), proposer.name, step=number)

        earned = score(proposals, rewards.proposer(tries))
        earned += score(measure.groups_apart(tries), rewards.solver)
        earned = step.shaped(earned)
        for role in ("proposer", "solver"):  # one after the other, also where they share their weights
            for policy, own in cast.spoken([each for each in earned if each.seat.role == role]):
                if own:
                    advantages = step.estimate(own)
                    batch = refreshed(policy, step.pack(own, advantages))
                    metrics = step.update(policy, batch, run.rng)
                    run.report(policy, own, advantages, metrics, role)
        run.note(pool.metrics() | grounds.audited(proposals, written, passed))
        run.note({name: value for judge in judges for name, value in judge.metrics().items()})
        run.note(health.check(passed, [group for group in tries if group.parent is not None]))
    return solver
