"""Absolute Zero: a model invents the tasks it learns to solve, from one seed (Zhao et al. 2025, arXiv:2505.03335).

Who says what is right: execution, of the proposed program and of the answer.

A task is a triplet of a program, an input and its output; given two, the third is asked (deduction, abduction,
induction). A proposer, shown a few tasks from the buffer of its kind, writes a new one, which the sandbox runs more
than once. Valid ones are tried n = 8 times by the solver; the mean success r of these tries is all the proposer
is paid for (equation 4), the solver is paid for its answer (equation 6), and both update the same weights:

    proposer   R = 1 - r if 0 < r < 1, else 0;   -1 if there is no valid task
    solver     R = 1 if right, -0.5 if wrong, -1 if malformed
    TRR++      A = (R - mean) / deviation, over the batch's samples of the same kind of task and the same role

and the clipped ratio's loss over all tokens of the batch alike. The tries are not trained on; the solver trains on
tasks drawn from the buffers, the newest first.

Differences: the solver meets the tasks of this step, as in the paper's algorithm (the code: those of the step before).
Means and deviations are over samples (the code: over tokens), and there is one update where the code takes three.
Buffers begin with the seeds alone, hold no task twice and none of the tests, and when full the fullest forgets its
oldest task (the code: none does, so that a full buffer learns nothing new). `at_the_ends` is what r of 0 or 1 pays: 0
in the paper, -0.5 in the code. `novelty` is not in the paper: it pays for tasks unlike those before, without which a
proposer narrows (0 turns it off).

Controls, since a solver gains from almost any tasks: `--proposer frozen`, `--question-reward random`, `--dealt 1` (the
solver trains on problems of the question set, all levels alike), `--question-reward pay-unsolved` (1 - r, also where r
= 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from redqueen.credit.advantages.keys import by_kind_and_role
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.group_rewards import Correctness, FromBelow
from redqueen.credit.learnability import FailureShare, HardButSolved
from redqueen.credit.novelty import CountNovelty
from redqueen.credit.outcomes import scores
from redqueen.credit.rewards import score, spoken_by
from redqueen.curricula.duplicates import SameKey
from redqueen.curricula.held_out import apart_from
from redqueen.curricula.keys import word_for_word
from redqueen.curricula.sampling import NewestFirst, Uniform
from redqueen.curricula.store import TaskStore
from redqueen.measures.accuracy import HeldOut, held_out
from redqueen.measures.health import ProposerHealth
from redqueen.measures.proposals import proposed
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play.groups import attempts, authors, episodes_of
from redqueen.protocols import Policy, Proposable
from redqueen.questions.asking import (
    PROPOSE,
    SOLVE,
    evenly,
    graded,
    invited,
    read,
    seeded,
    tasks_among,
)
from redqueen.questions.catalogue import find_questions, having
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.limits import Amount, Count, OnlyWith, PartOf, Within
from redqueen.settings.roles import SHARED, bind, learning, refuse_unpaid


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner(model="smollm2-135m")
    proposer: str = SHARED
    """shared, adapter, separate, frozen, a model folder, or http://HOST/v1#MODEL"""
    domain: str = "expressions"
    steps: Count = 200
    proposals: Count = 16  # a step, of each kind (64 in the paper)
    tries: Annotated[int, Within(2)] = 8  # n, of each valid proposal
    attempts: Count = 16  # a step, of each kind, to train on (64 in the paper)
    references: Count = 2  # K, shown to the proposer (6 in the paper)
    capacity: Count = 16384
    at_the_ends: Annotated[float, OnlyWith("question_reward", "full")] = 0.0  # if no try, or every try, solves it
    question_reward: Literal["full", "pay-unsolved", "random"] = "full"
    novelty: Amount = 0.0
    dealt: Annotated[float, PartOf("attempts")] = 0.0  # of the attempts, on the question set's own problems
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = having(find_questions(config.domain), Proposable)
    solver = config.learner.build_model(run.derived("learner"))
    proposer = bind("proposer", config.proposer, config.learner, solver, run.derived("proposer"))
    learners = learning([solver, proposer])
    refuse_unpaid(config, ["at_the_ends", "novelty", "question_reward"], "proposer", proposer)
    newest, screens = NewestFirst(Uniform(), age=0), [SameKey(word_for_word)]
    store = seeded(TaskStore(config.capacity, newest, screens=screens), questions)
    unguarded = config.question_reward == "pay-unsolved"
    pays = FailureShare(pay_unsolved=True) if unguarded else HardButSolved(config.at_the_ends)
    novelty, health = CountNovelty(config.novelty), ProposerHealth()
    estimate, objective = GroupRelative(by_kind_and_role), ClippedRatio()
    tests = held_out(questions, config.problems, questions.seeds(), run.tests)

    for step in run.steps(
        config.steps, learners, [store, novelty, health], [HeldOut(questions, solver, tests, seed=run.tests)]
    ):
        invitations = invited(questions, store, config.proposals, config.references, run.rng)
        proposals = attempts(PROPOSE, invitations, proposer, 1, run.rng)
        written = read(questions, proposals)
        tasks = tasks_among(written)
        tries = attempts(SOLVE, tasks, solver, config.tries, run.rng, authors(proposals, written))
        solved = [scores(group) for group in graded(questions, tries)]

        texts = [task.prompt for task in tasks]
        paid = [run.rng.random() if config.question_reward == "random" else pays(each) for each in solved]
        earned = {"difficulty": paid} | ({"novelty": novelty(texts)} if config.novelty else {})
        trajectories = score(proposals, FromBelow(tries, earned, refused=-1.0))
        novelty.observe(texts)
        store.add(apart_from(tests, tasks), origin=proposer.name, step=step)

        dealt = round(config.dealt * config.attempts)
        drawn = [task for kind in questions.kinds for task in store.draw(config.attempts - dealt, run.rng, [kind])]
        drawn += evenly(questions, dealt * len(questions.kinds), run.rng, tests)
        answers = graded(questions, attempts(SOLVE, drawn, solver, 1, run.rng))
        store.observe(episodes_of(answers))

        trajectories += score(answers, Correctness())
        for policy in learners:
            own = spoken_by(policy, trajectories)
            advantages = estimate(own)
            metrics = policy.update(pack(own, advantages), objective)
            run.report(policy, own, advantages, metrics)
        run.note(store.metrics() | health.check(proposed(written, solved)))
    return solver
