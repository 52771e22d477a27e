"""Multi-Agent Evolve: one model proposes, solves and judges, and nobody knows the answers (2025, arXiv:2510.23595).

Who says what is right: a judge (`judge`), itself trained for its format alone.

A proposer writes questions, half of the time with one from the store before it. A judge scores each question and each
of several answers to it from 1 to 10, a few times; s becomes (s - 1) / 9, and the mean counts:

    proposer   R = (q + d + f) / 3,   q the question's score, d = 1 - the mean score of its answers, f its format;
               where q < 0.7 there is no d, and the question is not kept; no question, R = 0
    solver     R = (score of the answer + format) / 2, on questions drawn from the store
    judge      R = 1 if its score can be read, else 0, on pairs of question and answer of this step
    TRR++      A = (R - mean) / deviation for each role by itself, one update of the shared weights

Nothing anchors the judge: its agreement with the question set's oracle is measured every step (`judge_*`, of which no
reward learns), and it can be played by another: `--judge frozen`. Controls are other `rewards` or another `store`: see
`experiments/multi_agent_evolve.py`.

Differences: one update a step on all three roles (the released code: six, by minibatches of 64), and fewer steps, since
here the judge loses its agreement with the oracle within some dozens (see `experiments/multi_agent_evolve.py`). Scores
that cannot be read are no opinion (the released code: 0.5). Form is kept or not (the released code
counts tags, also the prompt's). Questions start from the set's seeds (there: a thousand), and a full store forgets the
oldest of the commonest kind; the solver is asked what was stored before this step. The default set's proposer is shown
none.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_role
from redqueen.credit.rewards import score
from redqueen.curricula.store import TaskStore
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.proposals import Proposals
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE, SOLVE, invited, read
from redqueen.questions.catalogue import find_proposable
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.proposers.multi_agent_evolve.questions import Judging
from redqueen.recipes.proposers.multi_agent_evolve.steps import Rewards, buffers
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, Share
from redqueen.settings.roles import Cast, Role
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    proposer: Role = Role()
    judge: Role = Role()
    questions: str = "judged:sums"
    steps: Count = 60  # (250 in the paper)
    proposals: Count = 32  # a step (128 in the paper)
    attempts: Count = 4  # answers to each new question (5 in the paper)
    tasks: Count = 32  # a step, of the stored questions (128 in the paper)
    repeats: Count = 2  # of every judgement (5 in the paper)
    with_reference: Share = 0.5  # of the invitations
    quality: Share = 0.7  # below it a question is not kept
    capacity: Count = 16384
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token")


def train(config: Config, run: Run, rewards: Rewards | None = None, store: TaskStore | None = None) -> Policy:
    questions = find_proposable(config.questions)
    cast = Cast(config, run)
    solver = cast.learner
    proposer = cast["proposer"]
    store = buffers(questions, config.capacity) if store is None else store
    rewards = rewards or Rewards(config.quality)
    health, step = Proposals(questions), cast.learning_step(by_role)
    judge, judging = cast["judge"], Judging(questions, config.truncated_score)
    measure = HeldOut(
        questions, solver, config.problems, seed=run.tests, besides=questions.seeds(), truncated=config.truncated_score
    )

    for number in run.steps(config.steps, cast.learning, [store, judging, health, *step.parts], [measure]):
        invitations = invited(questions, store, config.proposals, 1, run.rng, config.with_reference)
        proposals = attempts(PROPOSE, invitations, proposer, 1, run.rng)
        written = read(questions, proposals)
        tries = attempts(SOLVE, written, solver, config.attempts, run.rng, proposals)
        drawn = store.draw(config.tasks, run.rng)
        answers = attempts(SOLVE, drawn, solver, 1, run.rng)
        judgements = attempts(judging.game, judging.asked(tries, answers), judge, config.repeats, run.rng)
        tries, answers = judging.heard(tries, answers, judgements)
        kept = measure.apart(rewards.kept(tries))
        store.add(kept, proposer.name, gates=rewards.gates, step=number)
        store.observe(answers)

        trajectories = score(proposals, rewards.proposer(tries))
        trajectories += score(answers, rewards.solver)
        trajectories += score(judging.drawn(config.tasks, run.rng), judging.reward)
        for policy, own in cast.spoken(step.shaped(trajectories)):
            advantages = step.estimate(own)
            batch = step.pack(own, advantages)
            metrics = step.update(policy, batch, run.rng)
            run.report(policy, own, advantages, metrics)
        run.note(store.metrics() | health.check(written, tries))
        run.note(judging.metrics())
    return solver
