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

`--pairs` is the evaluator of EvolvR (Wang et al. 2025, arXiv:2508.06046), a judge of two answers that reasons: of
a right and a wrong answer, in both orders, the model writes reasons in several personas with the verdict in view. Those
are kept that end with it, that the judge takes for reasons of this verdict and not of the other (the attack, which a
reason that fits anything does not stand), and after which the verdict is the likelier. They are imitated without the
verdict in view. `--given` takes the pairs of a file that somebody compared (columns chosen and rejected), and samples
no answers; with `--scores` verdicts are scores of both answers from 1 to 5, as in the paper, the attack claims a random
pair of scores in the opposite order, and after the reason both digits must be the likeliest. `--rewrite` has the model
tell again what ends with the verdict, knowing that it is beyond question (the paper does, before the attack: it repairs
reasons and refuses none). `held_out/pair_accuracy` and `held_out/pair_consistency` (the same answer is better in both
orders) come of it. After that the paper has two more stages: `grpo --questions paired:inner=FILE` pays the evaluator
for verdicts that are right (`paired:inner=FILE,scores=true` for scores that are near, the released reward), and
`ssr_zero --judge FOLDER --reference wins` pays a writer; the judge is `--oracle judge:FOLDER` for `spo`,
`iterative_dpo` and others (with `--judge.scale 1-5 --judge.together` one that scores). `--filter` has the controls.

Differences: how score and likeness are joined was not found: half and half. The likeness is the verdict of the question
set where it has one (`--likeness text`: that of the texts, in place of the cosine of embeddings). One pass over answers
that are sampled as it goes on (the paper: two over 30,000). EvolvR: a verdict says which of two is better unless
`--scores` is set, and reasons are told again only with `--rewrite`; equal scores make no pair, since their order has no
opposite; rows that the attack refuses are dropped (in the released code it is open which are).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from redqueen.credit.rewards import payoff, score
from redqueen.objectives.batch import pack_samples
from redqueen.play.lockstep import play
from redqueen.protocols import Policy
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.labels.self_j.steps import Filter, Likeness, school
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Amount, Count, NotWith, OnlyWith, Several, Share


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=128)
    questions: str = "sums"
    pairs: bool = False
    """teach a judge of two answers, by reasons that are written for known verdicts and filtered (EvolvR)"""
    given: Annotated[bool, OnlyWith("pairs", True)] = False
    """the pairs of the file, in its columns chosen and rejected, in place of a right and a wrong attempt"""
    reasons: Annotated[Count, OnlyWith("pairs", True)] = 5  # to each pair and order, in as many personas
    scores: Annotated[bool, OnlyWith("given", True)] = False
    """a verdict is the scores of both answers from 1 to 5, in the file's columns chosen_score and rejected_score"""
    rewrite: Annotated[bool, OnlyWith("pairs", True), NotWith("filter", "none")] = False
    """reasons that end with the verdict are told again, so that nothing in them speaks against it"""
    filter: Annotated[Filter, OnlyWith("pairs", True)] = "all"
    """reasons that are learned from: those that stand all tests, those that end with the verdict, all"""
    majority: Annotated[bool, NotWith("pairs", True)] = False
    """the commonest of the attempts is in view as the right answer, not that of the data set"""
    likeness: Annotated[Likeness, NotWith("pairs", True)] = "check"
    """of answer and reference: the verdict of the question set where it has one (of a majority: equal by value), or
    that of the texts"""
    mix: Annotated[Share, NotWith("pairs", True)] = 0.5  # of the judge's score in the label
    plain: Annotated[Amount, NotWith("pairs", True)] = 0.3  # weight of the label without the reference in view
    distill: Annotated[Amount, NotWith("pairs", True)] = 2.0  # weight of the divergence
    steps: Count = 200
    tasks: Count = 16  # a step
    attempts: Annotated[Several, NotWith("given", True)] = 4  # answers to each
    truncated_score: Annotated[Truncated, NotWith("given", True)] = "wrong"
    """of an attempt that was cut off: wrong, graded as it is, unknown"""
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    learner = config.learner.build_model(run.derived("learner"))
    answers, lessons, objective, measure = school(config, questions, learner, run.tests)

    for _ in run.steps(config.steps, [learner], [lessons], [measure]):
        matches = answers.drawn(config.tasks, measure.tests, run.rng)
        groups = answers.graded(play(matches, run.rng))
        taught = score(lessons(groups, learner, run.rng), payoff)
        batch = pack_samples(taught, lessons.signs(taught))
        metrics = learner.update(lessons.joined(batch), objective)
        run.report(learner, taught, [np.ones(1)] * len(taught), metrics)
        run.note(lessons.metrics())
    return learner
