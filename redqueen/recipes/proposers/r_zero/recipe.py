"""R-Zero: a challenger and a solver from one base, labels by majority, no data (Huang et al. 2025, arXiv:2508.05004).

Who says what is right: the majority of the solver's answers.

Two copies of one model alternate. While the challenger learns, the solver answers each question m times; the share p
of the most common answer says how uncertain it is:

    challenger   R = max(0, 1 - 2 |p - 1/2| - |C| / B),   C the question's cluster among the B of the batch by BLEU;
                 0 if there is no question

Then the challenger stands still and writes a set of questions. Those are kept whose p lies in [0.3, 0.8] (the code's
band; the paper: 3 to 7 of 10), with the majority's answer as their label, each text once, and the solver learns:

    solver       R = 0.9 * (the answer is the label) + 0.1 * (the answer is in form)

Both by GRPO: A = (R - mean) / deviation of the group of answers to one prompt. The question set's oracle is asked for
figures alone: how often a question is solved, and `label_accuracy`, on which everything hangs: below about 0.6 the
solver gets worse, and an alarm says so.

`--as-coded` gives the code's min(p, 1 - p) less the cluster's share, unclipped, and -1 less it where there is no
question. As in the code all m answers count in p when rewarding, those given when filtering. No KL penalty here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from redqueen.credit.advantages.keys import by_group
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.group_rewards import FromBelow, WithForm
from redqueen.credit.learnability import Tent
from redqueen.credit.novelty import Repetition
from redqueen.credit.outcomes import vote
from redqueen.credit.rewards import score
from redqueen.curricula.held_out import apart_from
from redqueen.curricula.sampling import Distinct, Uniform
from redqueen.curricula.store import TaskStore
from redqueen.measures.accuracy import HeldOut, held_out
from redqueen.measures.health import ProposerHealth
from redqueen.measures.proposals import voted_on
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play.groups import attempts, authors
from redqueen.protocols import Policy, Proposable
from redqueen.questions.asking import PROPOSE, SOLVE, read, tasks_among
from redqueen.questions.catalogue import find_questions, having
from redqueen.questions.labels import held_to_label, label_accuracy, labelled
from redqueen.runs.run import Run
from redqueen.schedules import Phases
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.limits import Between, Count, Within
from redqueen.settings.roles import SEPARATE, bind, learning, refuse_unpaid
from redqueen.types import Group, RedQueenError, Refusal, Task


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner(model="smollm2-135m")
    challenger: str = SEPARATE  # or adapter, frozen, a model folder, http://HOST/v1#MODEL
    domain: str = "sums"
    steps: Count = 200
    challenger_steps: Count = 5  # of each round, as in the paper
    solver_steps: Count = 20  # of each round (15 in the paper)
    proposals: Annotated[int, Within(1, 2048)] = 32  # rewarded in a step, of each kind (512 x 4 in the paper)
    questions: Count = 256  # written for a solver's phase (8000 in the paper)
    votes: Annotated[int, Within(2)] = 10  # m
    attempts: Count = 16  # questions of a solver's step (512 in the paper)
    group: Annotated[int, Within(2)] = 5  # answers to each
    band: Between = (0.3, 0.8)
    as_coded: bool = False
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = having(find_questions(config.domain), Proposable)
    solver = config.learner.build_model(run.derived("learner"))
    challenger = bind("challenger", config.challenger, config.learner, solver, run.derived("challenger"))
    learners = learning([solver, challenger])
    if challenger is solver:
        raise RedQueenError("R-Zero needs a challenger of its own: separate, adapter, frozen or a model")
    challenging = config.challenger_steps if len(learners) == 2 else 0
    phases = Phases({"challenger": challenging, "solver": config.solver_steps})
    refuse_unpaid(config, ["challenger_steps", "proposals", "as_coded"], "challenger", challenger)
    invitations = [questions.invite(kind, (), 0) for kind in questions.kinds]
    store, health = TaskStore(sampling=Distinct(Uniform())), ProposerHealth()
    estimate, objective = GroupRelative(by_group), ClippedRatio()
    tests = held_out(questions, config.problems, seed=run.tests)
    measures = [HeldOut(questions, solver, tests, seed=run.tests)]

    for step in run.steps(config.steps, learners, [store, health], measures):
        phase = phases.at(step)
        challenges = phase.name == "challenger"
        if challenges or phase.first:  # for the challenger, or all that the solver will learn from in its phase
            count = config.proposals if challenges else config.questions
            proposals = attempts(PROPOSE, invitations, challenger, count, run.rng)
            written = read(questions, proposals)
            tasks = tasks_among(written)
            answers = attempts(SOLVE, tasks, solver, config.votes, run.rng, authors(proposals, written))
            votes = [vote(group, challenges) for group in answers]
            kept = apart_from(tests, labelled(tasks, votes, config.band))
            run.note(health.check(voted_on(questions, written, answers, votes, kept)))
        if challenges:
            learner = learners[1]
            trajectories = score(proposals, challenge(written, answers, config.as_coded))
        else:
            learner = solver
            if phase.first:
                store.prune(lambda history: True)
                store.add(kept, origin=challenger.name, step=step)
                run.note(label_accuracy(questions, tasks, kept))
            drawn = store.draw(config.attempts, run.rng) if len(store) else []
            solutions = held_to_label(attempts(SOLVE, drawn, solver, config.group, run.rng))
            trajectories = score(solutions, WithForm(0.1))
        advantages = estimate(trajectories)
        metrics = learner.update(pack(trajectories, advantages), objective)
        run.report(learner, trajectories, advantages, metrics)
    return solver


def challenge(written: Sequence[Task | Refusal], answers: Sequence[Group], as_coded: bool) -> FromBelow:
    """What the challenger earns for each question: its uncertainty, from the votes of the group of answers to it, less
    its cluster's share of the batch."""
    uncertain = Tent(0.5 if as_coded else 1.0)
    texts = [each.prompt if isinstance(each, Task) else None for each in written]
    repeated, posed = Repetition()(texts), np.array([text is not None for text in texts], dtype=bool)
    paid = np.array([uncertain.at(vote(group).share) for group in answers])
    if as_coded:
        unread = repeated[~posed]  # one cluster of their own
        parts = {"uncertainty": paid, "repetition": -repeated[posed]}
        return FromBelow(answers, parts, refused=-1.0 - unread[0] if len(unread) else -1.0)
    return FromBelow(answers, {"uncertainty": paid, "repetition": -np.minimum(repeated[posed], paid)})
