"""Two small runs to sit down with: tic-tac-toe and Kuhn poker, a table each."""

import dataclasses

import pytest

from redqueen.recipes.games import first_steps, spiral
from redqueen.runs.run import Run, Schedule, SettingsFile


def made(folder, recipe, name, matches):
    config = dataclasses.replace(recipe.Config(), steps=4, matches_per_step=matches)
    schedule = Schedule(evaluate_every=100, checkpoint_every=2, record_episodes=1)
    written = {"recipe": name, "config": dataclasses.asdict(config), "seed": 7, "versions": {}}
    recipe.train(
        config, Run(folder, 7, schedule, [SettingsFile({**written, "schedule": dataclasses.asdict(schedule)})])
    )
    return folder


@pytest.fixture(scope="session")
def board_run(tmp_path_factory):
    return made(tmp_path_factory.mktemp("runs") / "board", first_steps, "first_steps", matches=256)


@pytest.fixture(scope="session")
def card_run(tmp_path_factory):
    return made(tmp_path_factory.mktemp("runs") / "cards", spiral, "spiral", matches=2)
