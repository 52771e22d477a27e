"""SELF: a model criticises and mends its answers, and learns to give the mended ones at once (2023, arXiv:2310.00533).

Who says what is right: the model itself, whose second criticism decides what is kept (`--keep own`).

A model that can criticise an answer and mend it (`redqueen train cold_start` teaches both: the meta-skill) has answers
that are better than its first ones. Round by round, on questions without labels, with p a question,

    answer r ~ pi(p),  criticism f ~ pi(p, r),  mended r' ~ pi(p, r, f),  kept if a criticism of r' says right
    L = - log pi(r' | p) - skill (log pi(f | p, r) + log pi(r' | p, r, f))      sums over tokens, all rounds' data

Each round starts from the first model (`--start last`: from where the last one ended). A criticism ends with right or
wrong, alone on its last line.

A critic that accepts everything filters nothing. To lift the share of right ones from p by ten points it has to accept
right answers `needed_ratio` times as often as wrong ones, (p + .1)(1 - p) / ((.9 - p) p): 1.56 at .3. Where the
question set knows what is right, `acceptance_ratio` is what it does, `mended_right` and `kept_right` are the shares
before and after the filter, and an alarm rings where it is too weak; no figure of these is learned from. `--keep all`
(no filter) and `--keep right` (the check) are the controls; `experiments/self_evolution.py` also has answers that are
not mended.

Differences: the paper's structure is in its abstract, and weights and sizes are ours. The data of the meta-skill are
not mixed in: each round starts from the model that has it (the paper: from the base, with them). One criticism decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from redqueen.credit.group_rewards import correct
from redqueen.credit.rewards import score
from redqueen.demonstrations.refinement import CRITICISE
from redqueen.measures.accuracy import HeldOut
from redqueen.objectives.batch import pack_samples
from redqueen.objectives.imitation import Imitation
from redqueen.objectives.rounds import Round
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly, graded
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.self_training.self_evolution.steps import Keep, Refinement
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Amount, Count
from redqueen.settings.roles import without_format


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=128)
    questions: str = "sums"  # or a file, with answers or without
    keep: Keep = "own"
    """mended answers that are learned: those that the model itself calls right, all, or those that are right"""
    skill: Amount = 1.0  # weight of the criticism and of mending after it
    start: Literal["initial", "last"] = "initial"  # of each round
    steps: Count = 360
    updates: Count = 120  # of a round
    tasks: Count = 256  # of a round
    attempts: Count = 4  # answers to each
    replies_per_update: Count = 32
    passes: Count = 8  # over the replies of all rounds, at most, in a round
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    learner = without_format(config.learner.build_model(run.derived("learner")), [CRITICISE.role])
    measure = HeldOut(questions, learner, config.problems, seed=run.tests, truncated=config.truncated_score)
    first = learner.state() if config.start == "initial" else {}
    refine = Refinement(questions, measure.tests, config.keep, config.truncated_score)
    round_ = Round(config.passes)

    for step in run.steps(config.steps, [learner], [refine, round_], [measure]):
        if step % config.updates == 0:
            tasks = evenly(questions, config.tasks, run.rng, measure.tests)
            tries = attempts(SOLVE, tasks, learner, config.attempts, run.rng)
            groups = graded(questions, tries, config.truncated_score)
            chains = refine(groups, learner, run.rng)
            shown, weights = refine.learned(chains, config.skill, learner)
            round_.grow(pack_samples(shown, [1.0] * len(shown), weights))
            if first:
                learner.restore({**first, "version": learner.version})
            replies = score(groups, correct)
            run.report(learner, replies, [np.zeros(1)] * len(replies), {})
        metrics = round_.update(learner, config.replies_per_update, Imitation(), run.rng)
        run.note(metrics | round_.metrics() | refine.metrics())
    return learner
