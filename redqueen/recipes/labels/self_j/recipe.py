"""Self-J: a judge of one's own answers, taught with right answers in view, used without (2024, arXiv:2409.00935).

Who says what is right: the answers of the data set (`--majority`: the model's commonest); later the judge.

The model answers questions, and scores its answers with the right one in view, which is easier than without. Joined
with the likeness of both this is the label of an answer, and a judge learns it with and without the right answer in
view at once, the second distilled from the first:

    y = mix E[d] + (1 - mix) 9 like       rounded; E[d] the exact expectation over the listed digits 0 to 9
    L = -log p_T(y) - plain log p_S(y) + distill KL(p_T || p_S)       p_T aided, p_S plain, no gradient through p_T here

Answers and scores are those of the start, which does not change. The judge then says without any right answer which
answers to withhold: `held_out/judge_auc`, `held_out/kept_half` (right ones in the better scored half) next to
`held_out/kept_all`, and `held_out/best_of@8`. It is used as `--judge FOLDER` (`ssr_zero`, `self_rewarding`) or
`--oracle judge:FOLDER`. What a judge may learn in place of truth is length and fluency: `experiments/self_j.py` deals
the answers to other questions, which takes all but that away. Alarms ring where labels do not tell right from wrong
answers, or are all the same.

Differences: how score and likeness are joined was not found: half and half. The likeness is the verdict of the question
set where it has one (`--likeness text`: that of the texts, in place of the cosine of embeddings). One pass over answers
that are sampled as it goes on (the paper: two over 30,000).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from redqueen.credit.rewards import payoff, score
from redqueen.objectives.batch import pack_samples
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import JUDGE, SOLVE, evenly, graded
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.labels.self_j.measures import Withholding
from redqueen.recipes.labels.self_j.objective import Distilled, in_twos
from redqueen.recipes.labels.self_j.steps import Lessons, Likeness
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Amount, Count, Several, Share
from redqueen.settings.roles import without_format


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=128)
    questions: str = "sums"
    majority: bool = False  # the commonest of the attempts is in view as the right answer, not that of the data set
    likeness: Likeness = "check"
    """of answer and reference: the verdict of the question set where it has one, or that of the texts"""
    mix: Share = 0.5  # of the judge's score in the label
    plain: Amount = 0.3  # weight of the label without the reference in view
    distill: Amount = 2.0  # weight of the divergence
    steps: Count = 200
    tasks: Count = 16  # a step
    attempts: Several = 4  # answers to each
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    learner = without_format(config.learner.build_model(run.derived("learner")), [JUDGE.role])
    start = learner.freeze()
    lessons = Lessons(start, config.mix, config.likeness, config.majority, config.truncated_score)
    measure = Withholding(questions, start, learner, config.problems, run.tests, config.truncated_score)
    objective = Distilled(config.plain, config.distill)

    for _ in run.steps(config.steps, [learner], [lessons], [measure]):
        tasks = evenly(questions, config.tasks, run.rng, measure.tests)
        tries = attempts(SOLVE, tasks, start, config.attempts, run.rng)
        groups = graded(questions, tries, config.truncated_score)
        taught = score(lessons(groups, learner, run.rng), payoff)
        batch = in_twos(pack_samples(taught, [1.0, -1.0] * (len(taught) // 2)))
        metrics = learner.update(batch, objective)
        run.report(learner, taught, [np.ones(1)] * len(taught), metrics)
        run.note(lessons.metrics())
    return learner
