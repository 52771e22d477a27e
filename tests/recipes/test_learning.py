"""Methods against each other on the same seeds. Thresholds were calibrated once on seeds 0 to 4 and stay."""

import json

import numpy as np
import pytest

from redqueen.measures.intervals import paired_difference
from redqueen.recipes.games import fictitious_self_play, first_steps, magnetic, spiral
from redqueen.runs.run import Run, Schedule, read_metrics

SEEDS = range(5)
UNIFORM = 11 / 24


def trained(train, config, seed, folder, every=100):
    run = Run(folder, seed, Schedule(evaluate_every=every, checkpoint_every=10**6, record_episodes=0))
    train(config, run)
    return read_metrics(folder), json.loads((folder / "final.json").read_text())


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """The last measurement of each recipe in Kuhn poker after 100 updates, by seed."""
    folder = tmp_path_factory.mktemp("runs")
    return {
        recipe.__name__: [
            trained(recipe.train, recipe.Config(steps=100), seed, folder / recipe.__name__ / str(seed), every=1)[1]
            for seed in SEEDS
        ]
        for recipe in (spiral, fictitious_self_play, magnetic)
    }


def figures(ends, recipe, name):
    return np.array([end[name] for end in ends[recipe.__name__]])


@pytest.mark.slow
def test_the_last_iterate_of_magnetic_is_less_exploitable_than_that_of_spiral(ends):
    difference = paired_difference(figures(ends, spiral, "exploitability"), figures(ends, magnetic, "exploitability"))
    assert difference.low > 0
    assert figures(ends, magnetic, "exploitability").mean() < 0.09


def test_the_average_of_spiral_and_of_fictitious_self_play_falls(ends):
    assert figures(ends, spiral, "average_exploitability").max() < 0.3 * UNIFORM
    assert figures(ends, fictitious_self_play, "average_exploitability").max() < 0.6 * UNIFORM


def test_self_play_finds_the_value_of_the_game(ends):
    assert abs(figures(ends, magnetic, "value/first").mean() + 1 / 18) < 0.03


@pytest.mark.slow
def test_a_table_learns_tic_tac_toe_in_its_first_steps(tmp_path):
    lines, final = trained(first_steps.train, first_steps.Config(), 0, tmp_path)
    assert final["minimax_regret_reached"] < 0.8 * lines[0]["minimax_regret_reached"]
    assert final["losses/uniform"] < lines[0]["losses/uniform"]
