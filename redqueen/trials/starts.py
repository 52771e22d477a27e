"""Warm starts: a model is taught by demonstrations before anything is compared, and is never shown the problems that
measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from redqueen.credit.rewards import payoff, score
from redqueen.curricula.held_out import Apart, held_out
from redqueen.demonstrations.apart import drawn_apart, shows
from redqueen.demonstrations.rehearsal import Rehearsed, turns_of
from redqueen.games.tools import ToolReply
from redqueen.objectives.batch import pack
from redqueen.objectives.imitation import Imitation
from redqueen.play.lockstep import play
from redqueen.protocols import Proposable, has
from redqueen.questions.catalogue import find_questions
from redqueen.recipes.self_training import cold_start
from redqueen.runs.checkpoints import checkpoints
from redqueen.runs.run import Run, Schedule
from redqueen.settings.learner import Learner
from redqueen.types import Demonstration, Match

NEVER = 10**9  # steps between measurements
School = Callable[[Any, Run, Apart], object]
"""Teaches a model: (config, run, the problems that must not be shown). Its config has a `learner`."""


@dataclass(frozen=True)
class Start:
    """A model that is taught before the comparison, by `cold_start` or another school. `after` is the start from whose
    weights it goes on."""

    config: Any
    school: School = cold_start.train
    after: Start | None = None

    def facts(self) -> list[Any]:
        """What the model depends on, besides the seed, the problems kept from it, and the code."""
        school = f"{self.school.__module__}.{self.school.__qualname__}"
        return [school, asdict(self.config), self.after.facts() if self.after else None]

    def make(self, place: Path, seed: int, apart: Apart, before: str = "") -> str:
        """Teaches the model in a folder and returns the folder of its weights; `before` are those it goes on from."""
        learner = self.config.learner
        config = replace(self.config, learner=replace(learner, model=before)) if before else self.config
        schedule = Schedule(NEVER, checkpoint_every=250, keep_checkpoints=1, record_episodes=0)
        run = Run(place, seed, schedule, tests=seed)
        self.school(config, run, apart)
        return str(checkpoints(run.folder)[-1] / "learner")


def further(
    start: Start,
    questions: str,
    steps: int,
    rest: int,
    demonstrations: int = 96,
    learning_rate: float = 1e-3,
    max_completion_length: int = 16,
) -> Start:
    """The start that goes on from another with `demonstrations` a step of another question set."""
    learner = warmed(learning_rate=learning_rate, max_completion_length=max_completion_length)
    shown = cold_start.Config(
        learner, questions=questions, steps=steps, demonstrations_per_step=demonstrations, rest=rest
    )
    return Start(shown, after=start)


def warmed(learning_rate: float = 1e-4, max_completion_length: int | None = 16) -> Learner:
    """A learner whose `model` is to be a warm start, all its weights in training."""
    return Learner("a warm start", learning_rate, 0, max_completion_length=max_completion_length)


Measured = Callable[[Any, int], Apart]
"""Returns the problems that measure a run of a config and a seed, by level."""


def measuring(config: Any, seed: int) -> Apart:
    """The problems that measure a run of this config and seed, by level; none for a recipe without a question set. A
    config may hold that of the method which it controls."""
    settings = (config, *(value for value in vars(config).values() if is_dataclass(value)))
    named: Mapping[str, Any] = next((vars(each) for each in settings if "questions" in vars(each)), {})
    if named.get("game") or not named.get("questions"):  # a game stands in place of the questions
        return {}
    return _measuring(named["questions"], int(named.get("problems", 64)), seed)


@lru_cache(maxsize=128)  # all variants of an experiment are measured on the same ones
def _measuring(spec: str, count: int, seed: int) -> Apart:
    questions = find_questions(spec)
    seeds = questions.seeds() if has(questions, Proposable) else []
    plain, besides = (held_out(questions, count, others, seed) for others in ([], seeds))
    return {level: [*plain[level], *besides[level]] for level in plain}  # some recipes leave the seeds out of them


# --- with tools ------------------------------------------------------------------------------

Rehearsal = Callable[[int, Random], Sequence[tuple[ToolReply, Demonstration]]]
"""Makes `count` demonstrations, each with the game in which it is given."""


@dataclass(frozen=True)
class ToolSchool:
    """How long, and by what, a model learns to call tools."""

    questions: str  # whose roles are rehearsed
    rehearsal: Rehearsal
    learner: Learner = Learner(model="tiny:hidden=96,layers=3")
    steps: int = 2000
    demonstrations: int = 64  # a step
    rest: int = 500  # steps at the end over which the learning rate falls to a tenth


def rehearse(config: ToolSchool, run: Run, apart: Apart) -> None:
    """Teaches a model to call tools, by imitation."""
    learner = config.learner.build_model(run.derived("learner"))
    objective, rate, domain = Imitation(), learner.learning_rate, find_questions(config.questions)
    held = shows(domain, apart)
    for step in run.steps(config.steps, [learner]):
        learner.learning_rate = rate * min(1.0, 0.1 + 0.9 * (config.steps - step) / config.rest)
        draw = _drawn_by(config.rehearsal, run.rng)
        matches = [
            Match(game, shown.task, {game.role: Rehearsed(learner, turns_of(shown.text, game.tools))})
            for game, shown in drawn_apart(draw, config.demonstrations, lambda pair: held(pair[1]))
        ]
        trajectories = score(play(matches, run.rng), payoff)
        credit = [np.ones(len(trajectory.turns)) for trajectory in trajectories]
        # all tokens alike: a mean of each row would make the short ways of answering likelier than they were shown
        run.report(learner, trajectories, credit, learner.update(pack(trajectories, credit), objective))


def _drawn_by(rehearsal: Rehearsal, rng: Random) -> Callable[[int], Sequence[tuple[ToolReply, Demonstration]]]:
    return lambda count: rehearsal(count, rng)
