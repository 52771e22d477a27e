"""Agent-R: whether bad paths spliced to good ones teach to recover from wrong acts, where good paths alone do not."""

from __future__ import annotations

from dataclasses import replace

from redqueen.games.acting import Acting
from redqueen.protocols import Policy
from redqueen.recipes.self_training.agent_r.measures import recoveries
from redqueen.recipes.self_training.agent_r.recipe import Config, train
from redqueen.recipes.self_training.agent_r.world import Grid, revising
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Experiment, Training, versus
from redqueen.types import Metrics

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
    seeds=5,
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
    notes=(
        "Nine walls, which no prompt shows, and twelve acts: between two fields there is one way, and who has gone "
        "into a dead end has to come back by it. Otherwise as in the grid.",
    ),
)
