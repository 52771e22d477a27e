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
reward learns), and it can be bound elsewhere: `--judge frozen`. `--question-reward random` and `--dealt 1` are
controls.

Differences: scores that cannot be read are no opinion (the code: 0.5). Form is kept or not (the code counts tags, also
the prompt's). Questions start from the question set's seeds (there: a thousand), and a full store forgets the oldest of
the commonest kind; the solver is asked what was stored before this step. The default set's proposer is shown
none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from redqueen.checks.judge import mae_proposer
from redqueen.credit.advantages.keys import by_role
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.group_rewards import FromBelow, WithForm
from redqueen.credit.outcomes import numbers, scores, verdicts
from redqueen.credit.rewards import score, spoken_by
from redqueen.curricula.held_out import apart_from
from redqueen.curricula.sampling import Independent, Uniform
from redqueen.curricula.store import TaskStore
from redqueen.measures.accuracy import HeldOut, held_out
from redqueen.measures.health import ProposerHealth
from redqueen.measures.judges import Agreement
from redqueen.measures.proposals import proposed
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play.groups import attempts, authors, episodes_of
from redqueen.protocols import Policy, Proposable
from redqueen.questions.asking import (
    JUDGE,
    PROPOSE,
    SOLVE,
    evenly,
    graded,
    invited,
    judged_answers,
    mean_known,
    opinions,
    read,
    readable,
    seeded,
    tasks_among,
    with_opinions,
)
from redqueen.questions.catalogue import find_questions, having
from redqueen.questions.judging import about_question
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.limits import Count, PartOf, Share
from redqueen.settings.roles import SHARED, bind, learning, refuse_unpaid


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner(model="smollm2-135m")
    proposer: str = SHARED
    judge: str = SHARED  # or adapter, separate, frozen, a model folder, http://HOST/v1#MODEL
    domain: str = "judged:sums"
    steps: Count = 250
    proposals: Count = 32  # a step (128 in the paper)
    attempts: Count = 32  # a step, on stored questions (128 in the paper)
    tries: Count = 4  # answers to each new question (5 in the paper)
    repeats: Count = 2  # of every judgement (5 in the paper)
    with_reference: Share = 0.5  # of the invitations
    quality: Share = 0.7  # below it a question is not kept
    question_reward: Literal["full", "no-difficulty", "random"] = "full"  # without d any clear question does
    dealt: Annotated[float, PartOf("attempts")] = 0.0  # of the attempts, on the question set's own problems
    capacity: Count = 4096
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = having(find_questions(config.domain), Proposable)
    solver = config.learner.build_model(run.derived("learner"))
    proposer = bind("proposer", config.proposer, config.learner, solver, run.derived("proposer"))
    judge = bind("judge", config.judge, config.learner, solver, run.derived("judge"))
    learners, agreement, health = learning([solver, proposer, judge]), Agreement(), ProposerHealth()
    refuse_unpaid(config, ["question_reward"], "proposer", proposer)
    store = seeded(TaskStore(config.capacity, Independent(Uniform())), questions)
    tests, estimate = held_out(questions, config.problems, questions.seeds(), run.tests), GroupRelative(by_role)

    for step in run.steps(
        config.steps, learners, [store, agreement, health], [HeldOut(questions, solver, tests, seed=run.tests)]
    ):
        invitations = invited(questions, store, config.proposals, 1, run.rng, config.with_reference)
        proposals = attempts(PROPOSE, invitations, proposer, 1, run.rng)
        written = read(questions, proposals)
        tasks = tasks_among(written)
        tries = attempts(SOLVE, tasks, solver, config.tries, run.rng, authors(proposals, written))
        dealt = round(config.dealt * config.attempts)
        drawn = store.draw(config.attempts - dealt, run.rng) + evenly(questions, dealt, run.rng, tests)
        answers = attempts(SOLVE, drawn, solver, 1, run.rng)
        asked = [about_question(task) for task in tasks] + judged_answers([*tries, *answers])
        judgements = attempts(JUDGE, asked, judge, config.repeats, run.rng)
        of_answers = judgements[len(tasks) :]
        quality, judged = opinions(judgements[: len(tasks)]), with_opinions([*tries, *answers], of_answers)
        tries, answers = graded(questions, judged[: len(tasks)]), graded(questions, judged[len(tasks) :])
        of_tries = [numbers(group, "opinion") for group in tries]
        means = [1.0 if config.question_reward == "no-difficulty" else mean_known(each) for each in of_tries]
        paid = [mae_proposer(*each, 1.0, config.quality) for each in zip(quality, means, strict=True)]
        clear = [task for task, each in zip(tasks, paid, strict=True) if each.stored]
        store.add(apart_from(tests, clear), origin=proposer.name, gates=("quality",), step=step)
        store.observe(episodes_of(answers))  # the question set's verdicts are for audits: no reward below looks at them
        for group in answers:
            agreement.observe(numbers(group, "opinion").tolist(), verdicts(group).tolist())
        earned = [run.rng.random() if config.question_reward == "random" else each.reward for each in paid]
        spoken = episodes_of(of_answers)
        chosen = run.rng.sample(spoken, min(len(spoken), config.attempts))
        trajectories = score(proposals, FromBelow(tries, {"question": earned}))
        trajectories += score(answers, WithForm(0.5, "opinion")) + score(chosen, readable)
        for policy in learners:
            own = spoken_by(policy, trajectories)
            advantages = estimate(own)
            metrics = policy.update(pack(own, advantages), ClippedRatio())
            run.report(policy, own, advantages, metrics)
        run.note(health.check(proposed(written, [scores(group) for group in tries], of_tries)))
        run.note(store.metrics() | agreement.metrics())
    return solver
