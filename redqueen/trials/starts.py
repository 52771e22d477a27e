"""Warm starts with tools: a tiny model learns by imitation how the roles of a domain call theirs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from random import Random

import numpy as np

from redqueen.credit.rewards import payoff, score
from redqueen.demonstrations.rehearsal import Rehearsed, turns_of
from redqueen.games.tools import ToolReply
from redqueen.objectives.batch import pack
from redqueen.objectives.imitation import Imitation
from redqueen.play.lockstep import play
from redqueen.questions.catalogue import find_questions
from redqueen.runs.run import Run, Schedule
from redqueen.settings.learner import Learner
from redqueen.trials.paired import made_once, texts_of
from redqueen.types import Demonstration, Match

Rehearsal = Callable[[int, Random], Sequence[tuple[ToolReply, Demonstration]]]
"""So many demonstrations, each with the game in which it is given."""


@dataclass(frozen=True)
class ToolStart:
    """How long, and from what, a model is warmed up."""

    domain: str  # whose roles are rehearsed
    learner: Learner = Learner(model="tiny:hidden=96,layers=3")
    steps: int = 2000
    demonstrations: int = 64  # a step
    rest: int = 500  # steps at the end over which the learning rate falls to a tenth


def warm_with_tools(start: ToolStart, rehearsal: Rehearsal, seed: int = 0) -> str:
    """The folder of a model that was warmed up so; made once and kept in the cache, until the text of the rehearsal
    changes, or that of its domain."""
    schedule = Schedule(250, checkpoint_every=100, record_episodes=0)
    facts = [asdict(start), seed, inspect.getsource(rehearsal), texts_of(find_questions(start.domain))]
    return made_once(facts, lambda place: _train(start, rehearsal, Run(place, seed, schedule)))


def _train(start: ToolStart, rehearsal: Rehearsal, run: Run) -> None:
    learner = start.learner.build_model(run.derived("learner"))
    objective, rate = Imitation(), learner.learning_rate
    for step in run.steps(start.steps, [learner]):
        learner.learning_rate = rate * min(1.0, 0.1 + 0.9 * (start.steps - step) / start.rest)
        matches = [
            Match(game, shown.task, {game.role: Rehearsed(learner, turns_of(shown.text, game.tools))})
            for game, shown in rehearsal(start.demonstrations, run.rng)
        ]
        trajectories = score(play(matches, run.rng), payoff)
        credit = [np.ones(len(trajectory.turns)) for trajectory in trajectories]
        # all words alike: a mean of each row would make the short ways of answering likelier than they were shown
        run.report(learner, trajectories, credit, learner.update(pack(trajectories, credit), objective))
