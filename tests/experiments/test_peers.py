"""OpenSpiel's learners as the experiment runs them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

pyspiel = pytest.importorskip("pyspiel")

from experiments.peers import MAGNETIC, MMD, PPO, Peer, learned, leaves, nash_conv  # noqa: E402


def test_nash_conv_of_uniform_play_is_what_is_known():
    game = pyspiel.load_game("kuhn_poker")
    uniform = nash_conv(game, lambda state: dict.fromkeys(state.legal_actions(), 0.5))
    assert uniform == pytest.approx(0.9167, abs=1e-4)
    assert leaves(game.new_initial_state()) == 30


def test_magnetic_descent_over_sequences_comes_near_the_equilibrium(tmp_path):
    found = learned(Peer(MMD, games=30 * 85), 0, tmp_path).final
    assert found["nash_conv"] < 0.25
    assert found["games"] == 2550


@pytest.mark.parametrize("who", [MAGNETIC, pytest.param(PPO, marks=pytest.mark.slow)])
def test_a_learner_plays_as_many_games_and_the_generators_are_put_back(who, tmp_path):
    np.random.seed(5)
    torch.manual_seed(5)
    before = np.random.get_state()[1].tolist(), torch.random.get_rng_state().tolist()
    config = replace(Peer(who, games=128), matches_per_step=64)
    found = learned(config, 0, tmp_path).final
    assert found["games"] == 128
    assert 0.0 < found["nash_conv"] < 2.0
    assert (np.random.get_state()[1].tolist(), torch.random.get_rng_state().tolist()) == before
    if who == PPO:
        assert learned(config, 0, tmp_path).final == found
