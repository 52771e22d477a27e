"""Warm starts with tools: a tiny model learns by imitation how the roles of a domain call theirs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from random import Random

import numpy as np
import torch

from redqueen.batch import pack
from redqueen.checkpoints import checkpoints
from redqueen.config import Learner
from redqueen.games.tools import ToolReply
from redqueen.objectives.imitation import Imitation
from redqueen.players.transformer.loading import cache_folder
from redqueen.rewards import payoff, score
from redqueen.rollout.lockstep import play
from redqueen.rollout.rehearsal import Rehearsed, turns_of
from redqueen.run import Run, Schedule
from redqueen.types import Demonstration, Match

VERSION = 2  # of what warm starts are made of; a new one makes them anew
Rehearsal = Callable[[int, Random], Sequence[tuple[ToolReply, Demonstration]]]
"""So many demonstrations, each with the game in which it is given."""


@dataclass(frozen=True)
class ToolStart:
    """How long, and from what, a model is warmed up."""

    name: str  # of what is rehearsed: with the numbers below it names the folder in the cache
    learner: Learner = Learner(model="tiny:hidden=96,layers=3")
    steps: int = 2000
    demonstrations: int = 64  # a step
    rest: int = 500  # steps at the end over which the learning rate falls to a tenth


def warm_with_tools(start: ToolStart, rehearsal: Rehearsal, seed: int = 0) -> str:
    """The folder of a model that was warmed up so; made once and kept in the cache."""
    facts = json.dumps([VERSION, asdict(start), seed], sort_keys=True)
    place = cache_folder() / "warm" / f"{start.name}-{hashlib.sha1(facts.encode()).hexdigest()[:12]}"
    if not (place / "final.json").exists():
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            _train(start, rehearsal, Run(place, seed, Schedule(250, checkpoint_every=100, record_episodes=0)))
        finally:
            torch.set_num_threads(threads)
    return str(checkpoints(place)[-1] / "learner")


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
        run.report(trajectories, credit, learner.update(pack(trajectories, credit), objective))
