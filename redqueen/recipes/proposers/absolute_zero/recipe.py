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

Differences: the solver meets the tasks of this step, as in the paper's algorithm (the released code: those of the step
before). Means and deviations are over samples (the released code: over tokens), and there is one update where the
released code takes three. Buffers begin with the seeds alone, hold no task twice and none of the tests, and when full
the fullest forgets its oldest task (the released code: none does, so that a full buffer learns nothing new). An r of 0
or 1 pays 0, as in the paper (the released code: -0.5). Outputs are equal if value and type are: 2 is a wrong answer
where 2.0 is right, and so is 1 for True (the paper: Python's ==, by which they are right). A program whose output is
no plain literal, as a Counter or NaN is not, is no valid task.

A solver gains from almost any tasks, so compare with `--proposer frozen`. Other controls are other `rewards` (by
chance, for tasks that nobody solves, for novelty, without which a proposer narrows) or another `store` (of the question
set's own problems): see `experiments/absolute_zero.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_kind_and_role
from redqueen.credit.rewards import score
from redqueen.curricula.store import TaskStore
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.proposals import BY_VERDICTS, Proposals
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE, SOLVE, graded, invited, read
from redqueen.questions.catalogue import find_proposable
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.proposers.absolute_zero.steps import Rewards, buffers
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, Several
from redqueen.settings.roles import Cast, Role
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    proposer: Role = Role()
    questions: str = "expressions"
    steps: Count = 200
    proposals: Count = 16  # a step, of each kind (64 in the paper)
    attempts: Several = 8  # n, at each valid proposal
    tasks: Count = 16  # a step, of each kind, to train on (64 in the paper)
    references: Count = 2  # K, shown to the proposer (6 in the paper)
    capacity: Count = 16384
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token")
    batch = (("proposals",), ("tasks",))


def train(config: Config, run: Run, rewards: Rewards | None = None, store: TaskStore | None = None) -> Policy:
    questions = find_proposable(config.questions)
    cast = Cast(config, run)
    solver = cast.learner
    proposer = cast["proposer"]
    store = buffers(questions, config.capacity) if store is None else store
    rewards = rewards or Rewards()
    health, step = Proposals(questions, limits=BY_VERDICTS), cast.learning_step(by_kind_and_role)
    measure = HeldOut(
        questions, solver, config.problems, seed=run.tests, besides=questions.seeds(), truncated=config.truncated_score
    )

    for number in run.steps(config.steps, cast.learning, [store, rewards, health, *step.parts], [measure]):
        invitations = invited(questions, store, config.proposals, config.references, run.rng)
        proposals = attempts(PROPOSE, invitations, proposer, 1, run.rng)
        written = read(questions, proposals)
        tries = attempts(SOLVE, written, solver, config.attempts, run.rng, proposals)
        tries = graded(questions, tries, config.truncated_score)
        kept = measure.apart(rewards.kept(tries))
        store.add(kept, proposer.name, gates=rewards.gates, step=number)
        drawn = [task for kind in questions.kinds for task in store.draw(config.tasks, run.rng, [kind])]
        answers = attempts(SOLVE, drawn, solver, 1, run.rng)
        answers = graded(questions, answers, config.truncated_score)
        store.observe(answers)

        trajectories = score(proposals, rewards.proposer(tries))
        trajectories += score(answers, rewards.solver)
        for policy, own in cast.spoken(step.shaped(trajectories)):
            advantages = step.estimate(own)
            batch = step.pack(own, advantages)
            metrics = step.update(policy, batch, run.rng)
            run.report(policy, own, advantages, metrics)
        run.note(store.metrics() | health.check(written, tries))
    return solver
