"""CoMAS: models solve, criticise and score in turns, and each learns from what it said (2025, arXiv:2510.08529).

Who says what is right: one of the models, which scores each solution after reading what another finds wrong with it.

Several members with weights of their own discuss each question. In every round a member drawn at random proposes a
solution, another draw looks for its faults, a third gives a score of 1 (a fatal error), 2 (right but for a small flaw)
or 3 (right, and the criticism is of no use):

    r(solution)   = (score - 1) / 2
    r(evaluation) = (3 - score) / 2 = 1 - r(solution)
    r(score)      = 0 where it can be read, else -1, and then solution and evaluation earn nothing known (NaN)
    A             = (r - kl * log(policy / start) - mean) / deviation, over all that a member said in the step

Solvers see the last `recalled` rounds, solutions and criticism, never scores. The critic is paid for persuading, so it
gains by objecting always; what the solver learns from is what the scorer knows. So evaluations help where they make
scoring easier, and `score_right` is the share of scores that agree with the check of the question set (2 and 3 where it
is right), which no reward sees. Alarms ring where the mean of r(solution) leaves .1 to .9 (a critic too strict, or
applause), where scores cannot be read, and where reward and truth part.

`--no-evaluations` scores solutions that nobody has criticised. The other controls (rewards dealt anew, the majority,
known answers) are variants of `experiments/comas.py`.

Differences: the wording, the coefficient of the divergence and the learning rate are not known. One evaluation of each
solution. The released code was not read. An attempt that was cut off earns as `--truncated-score` says; a solution or
evaluation without a word but thoughts earns 0 (NaN where the score cannot be read). The price of the divergence is that
of the whole reply, for each of its tokens (there: from each token on).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from redqueen.credit.group_rewards import Stated
from redqueen.credit.rewards import score, spoken_by
from redqueen.measures.of_members import OfMembers
from redqueen.play.lockstep import play
from redqueen.protocols import Policy
from redqueen.questions.asking import evenly
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.labels.comas.steps import EARNED, ROLES, Discussion
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Count, NotWith, Whole
from redqueen.settings.members import members_of
from redqueen.settings.roles import without_format
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=128)
    members: Count = 4  # made of the model
    others: tuple[str, ...] = ()
    """further members: a model folder or name each"""
    evaluations: bool = True  # of each solution, before it is scored
    questions: str = "sums"  # or a file: train.jsonl, train.csv, train.parquet, with answers or without
    steps: Count = 120
    tasks: Count = 16  # a step
    rounds: Count = 8  # of each discussion; twice as many as members in the paper
    recalled: Annotated[Whole, NotWith("rounds", 1)] = 2  # rounds that a solver is shown
    truncated_score: Truncated = "wrong"  # a solution that was cut off earns 0 (wrong), its score, nothing (unknown)
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(
        estimator="batch",
        scale="batch",
        loss="ppo",
        clip_low=0.2,
        clip_high=0.2,
        aggregate="token",
        kl=0.001,
        kl_in="reward",
    )
    batch = (("tasks", "rounds"),)


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    members = [without_format(each, ROLES) for each in members_of(config.learner, config.members, config.others, run)]
    discussion = Discussion(questions, members, config.recalled, config.evaluations, config.truncated_score)
    measure = OfMembers(questions, members, config.problems, run.tests, config.truncated_score)
    step = LearningStep(config, members)

    for _ in run.steps(config.steps, members, [discussion, *step.parts], [measure]):
        discussion.begin(evenly(questions, config.tasks, run.rng, measure.tests))
        for _ in range(config.rounds):
            solutions = play(discussion.solving(run.rng), run.rng)
            evaluations = play(discussion.evaluating(solutions, run.rng), run.rng)
            scores = play(discussion.scoring(solutions, evaluations, run.rng), run.rng)
            discussion.hear(solutions, evaluations, scores)
        trajectories = score(discussion.groups(), Stated(EARNED))
        discussion.observe(trajectories)
        trajectories = step.shaped(trajectories)
        for member in members:
            own = spoken_by(member, trajectories)
            advantages = step.estimate(own)
            batch = step.pack(own, advantages)
            metrics = step.update(member, batch, run.rng)
            run.report(member, own, advantages, metrics)
        run.note(discussion.metrics())
    return members[0]
