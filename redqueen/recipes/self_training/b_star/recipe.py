"""B-STaR: self-training whose temperature and threshold keep replies right and unlike (arXiv:2412.17256).

Who says what is right: the check of the question set.

A model that imitates its own right replies soon samples what it has learned, and the threshold of what is learned stops
telling good from bad. B-STaR sets both anew in each iteration by one number. Of a task with n different replies kept, c
of them right:

    balance = min(c / wanted, 1) c / n        0 where nothing is kept; the mean over tasks is to be high

    temperature   that with the best balance on development tasks, over all thresholds
    sample        replies to the tasks of the iteration at this temperature
    threshold     that with the best balance on these; of a task at most so many replies, the best, that `kept` a task
                  are kept
    train         `updates` steps of imitation

The score of a reply is 1 if it is right, and one fifth of its confidence, the geometric mean of its tokens'
probabilities: above 0.0 all are kept, above 1.0 the right ones, above 1.1 the right and confident. One temperature and
one threshold make it what came before: `--temperatures 1 --thresholds 1` is rejection fine-tuning in rounds, with
`--start initial` it is STaR (arXiv:2203.14465) without hints.

Where a task has one right text, c is 1 at most and the score asks for one reply a task: an alarm says so.

Differences: the second part of the score is the policy's own confidence (the paper: a process reward model); gold
solutions are not among the samples (released code: always, with score 1, so that no task is empty); where no reply is
right, the highest threshold is taken. Choosing the
temperature plays `development` times `attempts` replies at each: they belong in a comparison of rollouts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from redqueen.credit.group_rewards import correct
from redqueen.credit.rewards import score
from redqueen.demonstrations.transfer import unaided
from redqueen.measures.accuracy import HeldOut
from redqueen.objectives.batch import pack_samples
from redqueen.objectives.imitation import Imitation
from redqueen.objectives.rounds import Round
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly, graded
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.self_training.b_star.steps import Knobs, set_apart
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Amount, Count


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=128)
    questions: str = "variants"
    temperatures: tuple[float, ...] = (0.5, 0.8, 1.1, 1.4)  # .50 to 1.20 by .05 in the paper
    thresholds: tuple[float, ...] = (0.0, 1.0, 1.05, 1.1, 1.15)  # of the score, which has to be above
    kept: Amount = 3.5  # replies of a task, in the mean
    wanted: Count = 8  # right replies of a task
    start: Literal["last", "initial"] = "last"  # of each iteration
    steps: Count = 200
    updates: Count = 40  # of an iteration (500 in the paper)
    tasks: Count = 200  # of an iteration
    attempts: Count = 16  # at each (64 in the paper)
    development: Count = 40  # labelled tasks that choose the temperature (1000 in the paper), not learned from
    replies_per_update: Count = 32
    passes: Count = 4  # over the replies of an iteration, at most
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    learner = config.learner.build_model(run.derived("learner"))
    measure = HeldOut(questions, learner, config.problems, seed=run.tests, truncated=config.truncated_score)
    development = set_apart(questions, config.development, measure.tests, run.derived("development"))
    apart = {**measure.tests, "development": development}
    first = learner.state() if config.start == "initial" else {}
    knobs, round_ = Knobs(config, questions, development), Round(config.passes)

    for step in run.steps(config.steps, [learner], [knobs, round_], [measure]):
        if step % config.updates == 0:
            tasks = evenly(questions, config.tasks, run.rng, apart)
            tries = attempts(SOLVE, tasks, knobs.sampler(learner, run.rng), config.attempts, run.rng)
            groups = graded(questions, tries, config.truncated_score)
            said, credit = score(groups, correct), knobs.select(groups)
            replies = unaided(said, [each.episode.task for each in said], learner)  # at another temperature: as shown
            kept = [each for each, (one,) in zip(replies, credit, strict=True) if one]
            round_.renew(pack_samples(kept, [1.0] * len(kept)))
            if first:
                learner.restore({**first, "version": learner.version})
            run.report(learner, replies, credit, {})
        metrics = round_.update(learner, config.replies_per_update, Imitation(), run.rng)
        run.note(metrics | round_.metrics() | knobs.metrics())
    return learner
