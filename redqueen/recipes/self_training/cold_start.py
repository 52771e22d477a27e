"""Cold start: a model learns the roles of a question set by imitation, so that self-play has something to sharpen.

Who says what is right: nobody; the demonstrations of the question set are imitated, its deliberate mistakes too.

There is no paper: it is the supervised fine-tuning that PasoDoble, STP, WebRL and others do first. Reinforcement makes
likelier what is said now and then; a model made from nothing never says it. The demonstrations are as good, or as bad,
as the question set makes them: mistakes are shown on purpose, so that something is left to learn. Where a question set
is small some are of its test problems: what comes after is compared from one start. Each role is shown as the recipes
read it: a solver in its answer format (`--answer`), a proposer, judge or explainer without one.

    L = - mean over demonstrations of  mean over tokens  log pi(token)

With `--proposals 0.5` half of the demonstrations show how problems of a file would have been proposed, for recipes in
which the model writes new ones: a small chat model says next to nothing that can be read as one.

With `--loops 0.5` each update is followed by one that takes repetition away (DITTO, arXiv:2206.02369): a sentence of
each text is said again and again, and each copy is to have half the probability of the copy before.

The trained model lies in the newest checkpoint: `--model outputs/cold_start-0/checkpoints/step_001500/learner`.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

import numpy as np

from redqueen.credit.rewards import payoff, score
from redqueen.curricula.held_out import Apart
from redqueen.demonstrations.loops import Loops
from redqueen.demonstrations.rehearsal import lessons
from redqueen.measures.recitations import Fitting, of_lessons
from redqueen.objectives.batch import pack, row_mean
from redqueen.objectives.imitation import Imitation
from redqueen.objectives.repetition import PseudoRepetition
from redqueen.play.lockstep import play
from redqueen.protocols import Policy
from redqueen.questions.verdicts import Truncated
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, OnlyWith, Positive, Share
from redqueen.settings.roles import without_format

WHOLE = ("proposer", "judge", "explainer", "rewriter", "reader", "generator")  # roles whose whole reply is read


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="tiny:hidden=96,layers=3,initializer_range=0.1")
    questions: Annotated[str, OnlyWith("game", "")] = "sums"
    steps: Count = 1500
    demonstrations_per_step: Count = 128
    rest: Count = 500  # steps at the end, or all, over which the learning rate falls
    last_learning_rate: Positive = 0.1  # after the last step, as a share of the first
    proposals: Annotated[Share, OnlyWith("game", "")] = 0.0
    """share of the demonstrations in which a proposer is shown problems of a file and writes another of them"""
    loops: Share = 1.0  # what each repetition of a sentence keeps of its probability (DITTO: 0.5); 1 imitates alone
    truncated_score: Annotated[Truncated, OnlyWith("game", "")] = "wrong"
    """of a measured answer that was cut off: wrong, graded as it is, unknown"""
    problems: Annotated[Count, OnlyWith("game", "")] = 64  # held out, of each level
    game: str = ""  # in place of questions: one that shows how it is played, such as acting:site


def train(config: Config, run: Run, apart: Apart = MappingProxyType({})) -> Policy:
    """Returns the taught model; no demonstration shows a problem that stands `apart`."""
    learner = without_format(config.learner.build_model(run.derived("learner")), WHOLE)
    objective, rate, rest = Imitation(), learner.learning_rate, min(config.rest, config.steps)
    least = config.last_learning_rate
    taught, fitting = lessons(config.questions, config.game, learner, apart, config.proposals), Fitting(learner)
    loops, penalty = Loops(learner), PseudoRepetition(config.loops)
    measures = of_lessons(taught, learner, config.problems, run.tests, config.truncated_score)
    for step in run.steps(config.steps, [learner], [fitting], measures):
        learner.learning_rate = rate * min(1.0, least + (1.0 - least) * (config.steps - step) / rest)
        shown = taught.draw(config.demonstrations_per_step, run.rng)
        trajectories = score(play(shown, run.rng), payoff)
        credit = [np.ones(len(trajectory.turns)) for trajectory in trajectories]
        metrics = learner.update(pack(trajectories, credit, row_mean), objective)
        if config.loops < 1.0 and (looped := loops.of(trajectories, run.rng))[0]:
            metrics |= {f"loops/{name}": each for name, each in learner.update(pack(*looped), penalty).items()}
        run.report(learner, trajectories, credit, metrics | fitting.observe(trajectories))
    return learner
