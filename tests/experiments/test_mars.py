"""The ablations of MARS's experiment, by hand."""

from random import Random

import numpy as np
import pytest

from experiments.mars import ESTIMATORS, MATCHES, MEAN_FIRST, TURNS, Doors, together
from redqueen.credit.rewards import as_it_fell, score
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted, Uniform
from redqueen.types import Match


def walks(*said):
    game = Doors(2)
    matches = [Match(game, game.tasks()[0], {"walker": Scripted(each)}) for each in said]
    return score(play(matches, Random(0)), as_it_fell)


def test_a_door_pays_at_once():
    """The first is right with left, the second with right."""
    first, second = walks(("left", "left"), ("right", "right"))
    assert [first.rewards.tolist(), second.rewards.tolist()] == [[1.0, -1.0], [-1.0, 1.0]]


def test_turns_whole_matches_and_means_before_sums():
    """Rewards (1, 1) and (1, -1): to go (2, 1) and (0, -1), mean 1/2; totals 2 and 0, mean 1; mean of rewards 1/2."""
    trajectories = walks(("left", "right"), ("left", "left"))
    found = {
        name: [each.tolist() for each in ESTIMATORS[name]()(trajectories)] for name in (TURNS, MATCHES, MEAN_FIRST)
    }
    assert found[TURNS] == [[1.5, 0.5], [-0.5, -1.5]]
    assert found[MATCHES] == [[1.0, 1.0], [-1.0, -1.0]]
    assert found[MEAN_FIRST] == [[1.0, 0.5], [-1.0, -1.5]]


def test_credit_by_turns_has_half_the_variance_and_a_turn():
    """Of doors passed at random: T for whole matches, (T + 1) / 2 in the mean over turns for what is to go."""
    turns = 4
    game = Doors(turns)
    matches = [Match(game, game.tasks()[0], {"walker": Uniform()}) for _ in range(800)]
    trajectories = score(play(matches, Random(1)), as_it_fell)
    variance = {name: float(np.var(np.stack(ESTIMATORS[name]()(trajectories)))) for name in (TURNS, MATCHES)}
    assert variance[MATCHES] == pytest.approx(turns, rel=0.12)
    assert variance[TURNS] == pytest.approx((turns + 1) / 2, rel=0.12)


def test_what_two_score_together():
    assert 0.8 < together(Uniform(), 0)["hanabi"] < 2.2
