"""Agent-R: do bad paths spliced to good ones teach to recover from wrong acts, where good paths alone do not?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from redqueen.curricula.held_out import Apart
from redqueen.demonstrations.rehearsal import Playing, Plays
from redqueen.games.acting import AGENT, Acting
from redqueen.play.groups import attempts
from redqueen.play.lockstep import play
from redqueen.players.language.reciter import Reader
from redqueen.players.scripted import Uniform
from redqueen.protocols import Player, Policy, State, Tool, Visit
from redqueen.recipes.self_training import cold_start
from redqueen.recipes.self_training.agent_r import steps
from redqueen.recipes.self_training.agent_r.measures import recoveries
from redqueen.recipes.self_training.agent_r.recipe import Config, train
from redqueen.recipes.self_training.agent_r.steps import BAD, GOOD, VERIFY, about
from redqueen.recipes.self_training.agent_r.world import Grid, open_from, revising, ways_from
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.trials.controls import swapped
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import Start, warmed
from redqueen.types import Ask, Assessment, Group, Match, Metrics, Observation, Reply, Task

WORLD = "redqueen.recipes.self_training.agent_r.world:Grid"
FORK, RANDOM, LATE, NONE = "cut at the fork", "cut at random", "cut as late as can be", "good paths alone"


def maze() -> Acting:
    """A grid of four by four with the most walls that leave a way everywhere."""
    return Acting(Grid(walls=9), 12)


def recovered(learner: Policy, seed: int, world: Acting = Acting(Grid(), 8)) -> Metrics:
    """`trained_recovery`, `trained_revised` and `trained_repeated`: after one to three acts drawn at random, at tasks
    that were trained on, 64 attempts each: a table knows no others."""
    game = revising(world)
    found = recoveries(game, list(game.tasks()) * 64, learner, seed)
    return {f"trained_{name}": each for name, each in found.items()}


def recovered_in_maze(learner: Policy, seed: int) -> Metrics:
    return recovered(learner, seed, maze())


GRID = Experiment(
    title="A grid of four by four, a table",
    asked="Do spliced paths teach to come to the goal after wrong acts, at equal rollouts?",
    trial=Training(train, read=recovered),
    config=Config(Learner(), game=f"acting:{WORLD},8", cut="fork", steps=60, problems=1),
    variants={FORK: {}, RANDOM: {"cut": "random"}, LATE: {"cut": "end"}, NONE: {"cut": "none"}},
    figures=("trained_recovery", "trained_revised", "trained_repeated", "late reward/agent"),
    compared=(
        *versus(FORK, (RANDOM, LATE, NONE), ("trained_recovery", "late reward/agent")),
        *versus(FORK, (NONE,), ("trained_repeated",)),
    ),
    controls=(RANDOM, LATE, NONE),
    seeds=10,
    notes=(
        "All variants play 64 attempts and 64 branches a step, and learn from all good ones that they find; spliced "
        "paths are replays, and no rollouts. The acts that are put in are drawn, not chosen, and need not be wrong. "
        "Cutting where the actor says is not compared: a table cannot tell good acts from bad ones. As late as can be: "
        "at the last act after which the acts that are left lead back and to the goal.",
    ),
)
MAZE = replace(
    GRID,
    title="A maze of four by four, a table",
    trial=Training(train, read=recovered_in_maze),
    config=Config(Learner(), game="experiments.agent_r:maze", cut="fork", steps=60, problems=1),
    seeds=5,  # a minute and more each
    notes=(
        "Nine walls, which no prompt shows, and twelve acts: between two fields there is one way, and who has gone "
        "into a dead end has to come back by it. Otherwise as in the grid.",
    ),
)


# --- a model that says itself where it went wrong ----------------------------------------------

WHERE, ACT = re.compile(r"(\d),(\d)"), re.compile(r"^> (\w+)", re.MULTILINE)
SKILL = 0.9  # how often a demonstrated verdict on an act is true
ACTOR, KNOWN = "cut where the actor says", "cut at the true first error"


@dataclass(frozen=True)
class Dark(Grid):
    """The grid, of which only the first view says where one is: who went wrong has to remember how."""

    @property
    def name(self) -> str:
        return f"dark_{super().name}"

    def open(self, task: Task, seed: int) -> Any:
        return InTheDark(super().open(task, seed))


class InTheDark:
    """A visit whose views after the first are empty."""

    tools: tuple[Tool, ...] = ()

    def __init__(self, visit: Visit) -> None:
        self._visit, self._first = visit, True

    def look(self) -> Observation:
        found = self._visit.look()
        return found if self._first else replace(found, shown=".")

    def act(self, said: str) -> Observation:
        self._first = False
        return replace(self._visit.act(said), shown=".")

    def state(self) -> State:
        return self._visit.state()

    def assess(self, answer: str = "") -> Assessment:
        return self._visit.assess(answer)

    def close(self) -> None:
        self._visit.close()


def walks() -> Acting:
    """The grid in the dark, with 160 tasks to train on and the other 80 held out."""
    return Acting(Dark(count=160, tests=80), 12)


def nearer(prompt: str) -> bool:
    """Whether the last act of a path that a verifier is shown leads nearer to the goal."""
    goal, begin = [(int(x), int(y)) for x, y in WHERE.findall(prompt)[:2]]
    grid, here, before = Grid(), begin, begin
    for act in ACT.findall(prompt):
        before, here = here, open_from(here, grid.side, grid.maze).get(act, here)
    far = ways_from(goal, grid.side, grid.maze)
    return len(far[here]) < len(far[before])


@dataclass(frozen=True)
class Knowing:
    """A verifier that keeps count."""

    name: str = "verifier"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(GOOD if nearer(ask.messages[-1].text) else BAD, self.name) for ask in asks]


@dataclass(frozen=True)
class Reviewed:
    """In two of three demonstrations the expert's way, in one a verdict on an act of a way that is drawn."""

    game: Acting
    learner: Reader

    def draw(self, count: int, rng: Random) -> list[Match]:
        tasks = rng.choices(self.game.tasks(), k=count // 3)
        drawn = play([Match(self.game, task, {AGENT: Uniform()}) for task in tasks], rng)
        shown = [about(each, rng.randrange(len(each.turns))) for each in drawn]
        verdicts = [GOOD if nearer(each.prompt) == (rng.random() < SKILL) else BAD for each in shown]
        return Plays(self.game, self.learner).draw(count - len(shown), rng) + [
            Match(VERIFY, each, {VERIFY.role: Playing(self.learner, (said,))})
            for each, said in zip(shown, verdicts, strict=True)
        ]


def reviewed(config: cold_start.Config, run: Run, apart: Apart) -> Policy:
    """Teaches a model the ways of the expert, and to say of acts whether they lead nearer to the goal."""

    def lessons(questions: str, game: str, learner: Reader, apart: Apart, proposals: float) -> Reviewed:
        return Reviewed(walks(), learner)

    with swapped(cold_start, {"lessons": lessons, "of_lessons": lambda *given: []}):
        return cold_start.train(config, run, apart)


@dataclass(frozen=True)
class Method:
    """Agent-R, with a verifier that is the actor, or one that keeps count."""

    agent_r: Config
    known: bool = False


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        def verified(game: Any, tasks: Sequence[Task], player: Player, count: int, rng: Random) -> list[Group]:
            return attempts(game, tasks, Knowing() if config.known and game is VERIFY else player, count, rng)

        with swapped(steps, {"attempts": verified}):
            return Training(train, evaluate_every=20)(config.agent_r, seed, folder)


LEARNED = Experiment(
    title="A grid in the dark, a tiny transformer that says itself where it went wrong",
    asked="Do paths spliced where the actor sees its error teach to recover at tasks that nobody trained on?",
    trial=OneSeed(),
    config=Method(
        Config(warmed(3e-4), game="experiments.agent_r:walks", steps=120, tasks=8, attempts=4, branches=4, problems=40)
    ),
    starts={
        "agent_r.learner.model": Start(
            cold_start.Config(
                Learner("tiny:hidden=96,layers=3,initializer_range=0.1", 2e-3),
                game="experiments.agent_r:walks",
                steps=1200,
                demonstrations_per_step=48,
                rest=400,
            ),
            reviewed,
        )
    },
    variants={
        ACTOR: {},
        KNOWN: {"known": True},
        FORK: {"agent_r.cut": "fork"},
        LATE: {"agent_r.cut": "end"},
        NONE: {"agent_r.cut": "none"},
    },
    figures=(
        *("first recovery", "late recovery", "late revised", "first needless", "late needless"),
        *("first success", "late success", "late grafted", "late no_error"),
    ),
    compared=(
        *versus(ACTOR, (KNOWN, FORK, LATE, NONE), ("late recovery",)),
        *versus(ACTOR, (NONE,), ("late success",)),
        Difference(ACTOR, ACTOR, "late recovery", "first recovery"),
    ),
    controls=(KNOWN, LATE, NONE),
    seeds=10,
    one_start=True,
    notes=(
        "The first view alone says where one is. 160 tasks to train on, 80 held out, of which each seed draws 40. The "
        "start imitates the expert's ways, and verdicts on acts of ways drawn at random, .9 of them true. 120 steps of "
        "32 attempts and 32 branches.",
    ),
)
