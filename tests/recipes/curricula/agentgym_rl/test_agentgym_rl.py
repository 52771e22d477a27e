"""ScalingInter-RL: how many turns an episode of a step may have, and what is learned from one that was cut."""

import numpy as np
import pytest

from experiments.agentgym_rl import chance_to_reach
from redqueen.cli.main import main
from redqueen.contracts.recipes import metrics, trained
from redqueen.games.corridor import Corridor
from redqueen.games.tic_tac_toe import TicTacToe
from redqueen.recipes.curricula.agentgym_rl import recipe as agentgym_rl
from redqueen.recipes.curricula.agentgym_rl.steps import Horizons
from redqueen.runs.folder import stored_episodes
from redqueen.runs.run import Schedule
from redqueen.runs.train import train
from redqueen.settings.learner import Learner
from redqueen.types import Episode, Outcome, RedQueenError, Seat, Task, Trajectory

WALKER = Seat("walker")


def test_the_horizon_follows_from_the_step():
    """The card (3.1): H = 5, 10, 20 with stages of 100 steps; the last stage lasts."""
    horizons = Horizons(Corridor(), (5, 10, 20), 100, "failed")
    assert [horizons.turns(step) for step in (0, 99, 100, 199, 200, 250, 299, 999)] == [5, 5, 10, 10, 20, 20, 20, 20]
    assert horizons.at(100) == Corridor(turns=10)


@pytest.mark.parametrize(("cut", "expected"), [("failed", [-1.0, 1.0]), ("muted", [0.0, 1.0])])
def test_an_episode_that_was_cut_is_a_failure_or_muted(cut, expected):
    ended = [
        Trajectory(
            Episode("g", Task("t"), at, (), Outcome({WALKER: 0.0}, {"cut": not at}), (WALKER,)), WALKER, (), np.zeros(1)
        )
        for at in (0, 1)
    ]
    kept = Horizons(Corridor(), (5,), 1, cut).kept(ended, [np.array([-1.0]), np.array([1.0])])
    assert np.concatenate(kept).tolist() == expected


def test_a_run_plays_longer_episodes_stage_by_stage(tmp_path):
    config = agentgym_rl.Config(
        Learner(learning_rate=1.0), game="corridor:nearest=9,farthest=9", horizons=(2, 4, 8), stage=2, steps=8, tasks=2
    )
    lines = metrics(trained(agentgym_rl, config, tmp_path))
    assert [line["horizon_high"] for line in lines] == [2, 2, 4, 4, 8, 8, 8, 8]
    assert [line["turns_per_episode"] for line in lines] == [2, 2, 4, 4, 8, 8, 8, 8]  # nobody gets to a door 9 away
    assert all(line["cut"] == 1.0 for line in lines)


def test_a_short_episode_is_played_again_within_its_horizon(tmp_path, capsys):
    config = agentgym_rl.Config(Learner(learning_rate=1.0), horizons=(2, 4), stage=1, steps=2, tasks=2)
    train("agentgym_rl", config, tmp_path, schedule=Schedule(record_episodes=1))
    found = [episode for _, episode, _ in stored_episodes(tmp_path)]
    assert [episode.task.facts["horizon"] for episode in found] == [2, 4]
    for name in ("0.0", "1.0"):
        assert main(["replay", str(tmp_path), name]) == 0
        assert "replayed: every ask and the outcome are the same" in capsys.readouterr().out


def test_the_exact_chance_of_the_experiment_is_that_of_a_walk_by_hand():
    """Two steps within two turns take "go" twice; within three one turn may be lost: at 2, where "back" stays, or at
    1 by "stay"."""
    moves = {1: (0.5, 0.25), 2: (0.5, 0.25)}
    assert chance_to_reach(moves, 2, 2) == pytest.approx(0.25)
    assert chance_to_reach(moves, 2, 3) == pytest.approx(0.25 + 0.5**3 + 0.5 * 0.25 * 0.5)


@pytest.mark.parametrize(
    ("game", "horizons", "complaint"),
    [
        (TicTacToe(), (5,), "the game tic_tac_toe has no horizon that could grow"),
        (Corridor(), (), "--horizons are numbers of turns of at least 1"),
        (Corridor(), (0, 5), "--horizons are numbers of turns of at least 1"),
    ],
)
def test_what_cannot_grow_is_refused(game, horizons, complaint):
    with pytest.raises(RedQueenError, match=complaint):
        Horizons(game, horizons, 100, "failed")
