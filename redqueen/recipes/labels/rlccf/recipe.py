"""RLCCF: several models answer, their weighted vote is the label, and each learns from it (2025, arXiv:2508.12338).

Who says what is right: the vote of several models, each weighed by how consistent it is with itself.

One model's majority confirms its own mistakes. N models that make different ones answer each question K times:

    SC(n) = share of the answers of model n that give its own most frequent one
    label = argmax over a of sum over n of SC(n) * (how often model n says a)
    R     = 1 for an answer that is the label, else 0
    A     = (R - mean) / deviation over the K answers of one model, which takes a step of its own

A tie is no label, and a model that never says the label learns nothing from the question. All that is gained comes from
mistakes that differ (`experiments/rlccf.py`): where models share them, the label is wrong. Members made of one model
(`--members 4`) begin alike and differ in their chance alone; `--others` names further models. `--members 1` is TTRL
(arXiv:2504.16084).

`--vote nearest` is for answers that are texts, such as what several readers make of one page (Consensus Entropy,
arXiv:2504.11101): right ones resemble each other, wrong ones are wrong each in its way. With d the edit distance over
the length of the longer text,

    E(i)  = mean over the other answers j of d(i, j)      label = the answer of least E, unless others are as near
    R     = 1 - d(answer, label)

`errors_auc` says how well E tells wrong held-out answers, and `collective` how often the chosen one is right.

What no reward sees is measured: `label_accuracy`, `collective` (the accuracy of the vote on held-out problems) next to
`accuracy`, the mean over the members (`room`), pass@8, each member's own `majority/NAME`. Alarms ring for a member that
always answers the same or hardly ever, for labels that are mostly wrong, and where all agree. `--no-weigh` counts all
answers alike, and `--least-members 2` leaves out questions whose label a single member supports. The other controls
(rewards dealt anew, each member's own majority, known answers) are variants of `experiments/rlccf.py`.

Differences: K, the coefficient of the divergence and the learning rate are not known. An attempt without an answer
counts in SC, and is never a label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from redqueen.credit.rewards import score, spoken_by
from redqueen.measures.of_members import OfMembers
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.labels.rlccf.steps import Council, Votes, electing
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Count, OnlyWith, Several
from redqueen.settings.members import members_of
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=128)
    members: Count = 4  # made of the model
    others: tuple[str, ...] = ()
    """further members: a model folder or name each"""
    vote: Votes = "label"
    """for the label, the most frequent answer, or for the answer that is nearest to the others, as texts"""
    weigh: Annotated[bool, OnlyWith("vote", "label")] = True  # votes by the consistency of who gives them
    least_members: Count = 1  # that must be in favour of a label
    questions: str = "sums"  # or a file: train.jsonl, train.csv, train.parquet, with answers or without
    steps: Count = 100
    tasks: Count = 16  # a step
    attempts: Several = 8  # K, of each member
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(
        estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token", kl=0.001
    )
    batch = (("tasks", "attempts"),)


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    members = members_of(config.learner, config.members, config.others, run)
    elect, near = electing(config.vote, config.weigh), config.vote == "nearest"
    council = Council(questions, elect, config.vote, config.least_members, config.truncated_score)
    measure = OfMembers(questions, members, config.problems, run.tests, config.truncated_score, elect, near)
    step = LearningStep(config, members)

    for _ in run.steps(config.steps, members, [council, *step.parts], [measure]):
        tasks = evenly(questions, config.tasks, run.rng, measure.tests)
        tried = {each.name: attempts(SOLVE, tasks, each, config.attempts, run.rng) for each in members}
        trajectories = step.shaped(score(council(tried), council.reward))
        for member in members:
            own = spoken_by(member, trajectories)
            advantages = step.estimate(own)
            batch = step.pack(own, advantages)
            metrics = step.update(member, batch, run.rng)
            run.report(member, own, advantages, metrics)
        run.note(council.metrics())
    return members[0]
