"""What proposers end at, against figures that were measured elsewhere."""

import math

import numpy as np
import pytest

from experiments.learnability import (
    AZR,
    CONSTANT,
    GAIN,
    NAMED,
    PROPOSER_REWARDS,
    PROPOSER_SWEEPS,
    R_ZERO,
    TRANSFER,
    DifficultyLadder,
    Paid,
    Trainer,
    ended,
    practised,
    propose,
    sweep,
    swept,
)
from redqueen.contracts.games import check_game


def test_the_ladder_keeps_the_contracts_of_a_game():
    check_game(DifficultyLadder())


def test_one_step_is_the_published_one():
    train = Trainer(AZR, seed=3)
    episodes = train()
    rungs = np.array([episode.outcome.facts["rung"] - 1 for episode in episodes])
    solved = np.array([np.mean(episode.outcome.facts["solved"]) for episode in episodes])
    rewards = np.where((solved > 0) & (solved < 1), 1 - solved, 0.0)
    advantages = (rewards - rewards.mean()) / rewards.std(ddof=1)
    gradients = np.eye(13)[rungs] - 1 / 13
    logits = 0.5 * (advantages[:, None] * gradients).mean(axis=0)
    assert train.chances() == pytest.approx(np.exp(logits) / np.exp(logits).sum(), abs=1e-6)


@pytest.mark.slow
def test_a_reward_for_difficulty_alone_collapses_to_the_published_rung_and_the_alarm_says_so():
    for seed in range(2):
        end = propose(NAMED["AZR as trained"], seed, steps=200)
        assert end.modal_rate() == 0.3
        assert end.mean_rate() == pytest.approx(0.30, abs=0.02)
        assert end.entropy() <= 0.3
        assert end.alarm is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["AZR, eq. 4, and novelty", "AZR, eq. 4, and entropy bonus"])
def test_a_floor_under_diversity_keeps_the_same_reward_from_collapse(name):
    end = propose(NAMED[name], seed=0, steps=200)
    assert end.entropy() >= 1.0
    assert end.modal_rate() in (0.2, 0.3)
    assert end.alarm is None


def test_a_constant_reward_does_not_drift():
    end = propose(CONSTANT, seed=0, steps=50)
    assert end.entropy() == pytest.approx(math.log(13))
    assert end.alarm is None


def test_practice_helps_its_own_and_easier_rungs_in_full_and_harder_ones_a_little():
    rates = practised((0.9, 0.5, 0.1), np.array([0, 10, 0]))
    assert rates[0] == pytest.approx(1 - 0.1 * (1 - GAIN) ** 10)
    assert rates[1] == pytest.approx(1 - 0.5 * (1 - GAIN) ** 10)
    assert rates[2] == pytest.approx(1 - 0.9 * (1 - GAIN * TRANSFER) ** 10)


@pytest.mark.slow
def test_a_proposer_climbs_the_ladder_with_a_solver_that_learns():
    leaders, rates = sweep(R_ZERO, seed=0, steps=200)
    assert leaders == sorted(set(leaders))
    assert len(leaders) >= 2
    assert rates[6] > 0.9  # one half at the start
    assert sweep(CONSTANT, seed=0, steps=50)[0] == []


def test_one_seed_of_both_experiments_has_every_figure():
    for experiment, measured in ((PROPOSER_REWARDS, ended), (PROPOSER_SWEEPS, swept)):
        found = measured(Paid(steps=2), 0)
        assert found.keys() == set(experiment.figures)
