"""VerlTool on questions that a slow database answers: what it is worth that an attempt waits for its own tool alone."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from redqueen.chance import derive
from redqueen.curricula.held_out import Apart
from redqueen.demonstrations.rehearsal import Plays
from redqueen.games.acting import Working, shown_by
from redqueen.games.threaded import Threaded
from redqueen.games.tools import Limits
from redqueen.protocols import Policy, Tool, Visit, World
from redqueen.recipes.agents.verltool import recipe
from redqueen.recipes.self_training import cold_start
from redqueen.runs.run import Run
from redqueen.runs.sources import Dealt
from redqueen.settings.learner import Learner
from redqueen.trials.controls import swapped
from redqueen.trials.experiment import Difference, Experiment, Training, Trial
from redqueen.trials.starts import Start, warmed
from redqueen.types import Assessment, Observation, Task
from redqueen.worlds.sql import Sql

LATENCIES = (0.001, 0.005, 0.02, 0.05)  # seconds of a call
LONGEST = 64  # tokens of a reply
FLIGHT, ROUNDS, ONE_BY_ONE = "in flight, tools in threads", "in rounds, one tool after the other", "in flight alone"
SPEED = "episodes a second"


@dataclass(frozen=True)
class Slow:
    """A world whose tools take one of the `latencies`, by what they are called with; its expert calls one first."""

    world: World
    latencies: tuple[float, ...] = LATENCIES
    repeatable = True

    @property
    def name(self) -> str:
        return self.world.name

    def tasks(self) -> Sequence[Task]:
        return self.world.tasks()

    def held_out(self) -> Sequence[Task]:
        return self.world.held_out()

    def expert(self, task: Task) -> tuple[str, ...]:
        (query,) = shown_by(self.world, task)
        return (f"<sql>{query}</sql>", query)

    def open(self, task: Task, seed: int) -> Visit:
        return SlowVisit(self.world.open(task, seed), self.latencies)


@dataclass(frozen=True)
class SlowTool:
    tool: Tool
    latencies: tuple[float, ...]

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def usage(self) -> str:
        return self.tool.usage

    def __call__(self, text: str) -> str:
        time.sleep(self.latencies[derive(0, text) % len(self.latencies)])
        return self.tool(text)


@dataclass
class SlowVisit:
    inner: Visit
    latencies: tuple[float, ...]
    tools: tuple[Tool, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.tools = tuple(SlowTool(tool, self.latencies) for tool in self.inner.tools)

    def look(self) -> Observation:
        return self.inner.look()

    def act(self, said: str) -> Observation:
        return self.inner.act(said)

    def state(self) -> Mapping[str, Any]:
        return self.inner.state()

    def assess(self, answer: str = "") -> Assessment:
        return self.inner.assess(answer)

    def close(self) -> None:
        self.inner.close()


GAME = Working(Slow(Sql("filter", 400, 64)), Limits(2, 3))


def slowly(config: recipe.Config, learner: Policy, seed: int) -> Dealt:
    """The tasks of the slow database."""
    return Dealt(Threaded(GAME, config.at_once) if config.at_once else GAME, learner, config.problems, seed)


def imitates(config: cold_start.Config, run: Run, apart: Apart) -> Policy:
    """Cold start on what the slow world's expert does, which measures nothing."""
    quick = replace(GAME, world=Slow(Sql("filter", 400, 64), (0.0,)))
    swaps = {"of_lessons": lambda *given: [], "lessons": lambda *given: Plays(quick, given[2])}
    with swapped(cold_start, swaps):
        return cold_start.train(config, run, apart)


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: recipe.Config, seed: int, folder: Path) -> Trial:
        with swapped(recipe, {"with_tools": slowly}):
            began = time.perf_counter()
            trial = Training(recipe.train)(config, seed, folder)
            seconds = time.perf_counter() - began
        return replace(trial, final={**trial.final, SPEED: config.steps * config.tasks * config.attempts / seconds})


TAUGHT = cold_start.Config(
    Learner(model="tiny:hidden=64,layers=2", max_completion_length=LONGEST, learning_rate=2e-3),
    game="working:sql(filter,400,64)",
    steps=200,
    demonstrations_per_step=48,
    rest=100,
)

SLOW_TOOLS = Experiment(
    title="VerlTool with tools that take 1 to 50 milliseconds",
    asked="Do more episodes a second pass where an attempt waits for its own tool alone, and is as much learned?",
    trial=OneSeed(),
    config=recipe.Config(
        warmed(3e-4, max_completion_length=LONGEST),
        game="working:sql(filter,400,64)",
        at_once=64,
        steps=40,
        tasks=8,
    ),
    starts={"learner.model": Start(TAUGHT, imitates)},
    variants={FLIGHT: {}, ROUNDS: {"staleness": 0, "at_once": 0}, ONE_BY_ONE: {"at_once": 0}},
    figures=(SPEED, "success", "late calls", "late calls_failed"),
    compared=tuple(
        Difference(FLIGHT, other, figure) for other in (ROUNDS, ONE_BY_ONE) for figure in (SPEED, "success")
    ),
    controls=(ROUNDS, ONE_BY_ONE),
    seeds=5,
    one_start=True,
    notes=(
        f"`{SPEED}`: of training, by the clock, measurements included. `success`: 64 questions about schemas that no "
        "training shows. The start imitated queries that were tried with the tool and then answered.",
    ),
)
