"""HCSP on a small court: three stages, against calls over skills at random, no leash, and both levels from nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from redqueen.protocols import Measure
from redqueen.recipes.games.hcsp import recipe
from redqueen.recipes.games.hcsp.measures import NOBODY, Rivals
from redqueen.recipes.games.hcsp.steps import Stages
from redqueen.runs.run import Run, Schedule
from redqueen.settings.update import Update
from redqueen.trials.experiment import NEVER, Experiment, Training, Trial, versus

STAGED, LOOSE, UNSKILLED = "three stages", "without the leash", "skills at random"
UNIFORM, LATEST = "all past teams alike", "the latest team alone"
AGAINST = ("points/strategy", "points/flat", "points/skills", "points/random")


@dataclass(frozen=True)
class Court:
    """The method, and how far a flat team learns that it is measured against."""

    method: recipe.Config
    more: int = 20  # steps by which the flat team goes on until its players have made as many
    rallies: int = 400


def kept_in(found: list[Stages], rallies: int) -> Callable[[Stages, int], Measure]:
    """A maker of the measure that keeps the stages it is made for."""

    def measure(stages: Stages, seed: int) -> Measure:
        found[:] = [stages]
        return Rivals(stages, seed, NOBODY, rallies)

    return measure


def flat(config: Court, ticks: int, seed: int, folder: Path) -> Stages:
    """A team whose two levels learn together from nothing, by the points, without drills and without a leash, until its
    players have made `ticks` steps."""
    found = list[Stages]()
    alone = replace(config.method, drill_steps=0, strategy_steps=0, update=Update(kl=0.0), steps=config.more)
    while not found or found[0].ticks < ticks:
        run = Run(folder, seed, Schedule(NEVER, config.more, 1, 0))
        recipe.train(alone, run, kept_in(found, 4))
        alone = replace(alone, steps=alone.steps + config.more)
    return found[0]


def against_flat(config: Court, seed: int, folder: Path) -> Trial:
    """The method, measured at its end against a flat team at as many steps of players."""
    found = list[Stages]()
    training = Training(lambda method, run: recipe.train(method, run, kept_in(found, config.rallies)))
    trial = training(config.method, seed, folder)
    (stages,) = found
    other = flat(config, stages.ticks, seed, folder / "flat")
    measured = Rivals(stages, seed, {"flat": other.team}, config.rallies)()
    return replace(trial, final={**trial.final, **measured, "ticks": stages.ticks, "flat ticks": other.ticks})


VOLLEY = Experiment(
    title="Three stages on a small court",
    asked="Is a team that learned skills, strategy and both stronger than that of its second stage, and than a flat "
    "one whose players made as many steps?",
    trial=against_flat,
    config=Court(recipe.Config(steps=240, matches_per_step=48, drill_steps=15, strategy_steps=60)),
    variants={
        STAGED: {},
        LOOSE: {"method.update.kl": 0.0},
        UNSKILLED: {"method.drill_steps": 0, "method.strategy_steps": 120},
        UNIFORM: {"method.opponents": "uniform"},
        LATEST: {"method.opponents": "latest"},
    },
    figures=(*AGAINST, "elo/skills", "elo/strategy", "elo/now", "elo/flat", "ticks", "flat ticks"),
    compared=versus(STAGED, (LOOSE, UNSKILLED, UNIFORM, LATEST), ("points/flat", "points/random", "elo/now")),
    controls=(LOOSE, UNSKILLED),
    seeds=5,
    notes=(
        "Tables. points: the share of 400 rallies won, half where nobody wins one, both sides and receptions; elo: "
        "Bradley and Terry over all pairs of these teams, players at random at 0. skills: the team after the drills, "
        "under calls at random; strategy: the team of the second stage; flat: both levels from nothing, by points "
        "alone, against what it was, until its players have made as many steps. Skills at random: no drills, so that "
        "the captain of the second stage calls over untrained players.",
    ),
)
