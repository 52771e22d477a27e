"""Nash-MD: its last iterate settles near the equilibrium of the pulled game."""

from dataclasses import replace

import numpy as np
import pytest

from redqueen.measures.divergence import question
from redqueen.measures.wins import regularised_equilibrium
from redqueen.questions.small.matchups import Matchups
from redqueen.recipes.preferences.nash_md import Config, train
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner

MATCHUPS = "redqueen.questions.small.matchups:Matchups"
TABLE = Config(Learner(learning_rate=2.0), questions=MATCHUPS, problems=1)
TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)


def trained(config, folder):
    run = Run(folder, 0, Schedule(1000, checkpoint_every=1000, record_episodes=3))
    return train(config, run), read_metrics(folder)


@pytest.mark.slow
def test_the_last_iterate_is_near_the_regularised_equilibrium(tmp_path):
    config = replace(TABLE, kl=0.2, mixture=0.05, steps=150, tasks=64)
    policy, _ = trained(config, tmp_path)
    (chances,) = policy.probabilities([question(Matchups().task())])
    nash = regularised_equilibrium(Matchups().wins, np.full(4, 0.25), 0.2)
    assert np.abs(chances - nash).sum() < 0.15
    assert np.abs(nash - 0.25).sum() > 0.3, "the start is elsewhere"


@pytest.mark.slow
def test_play_against_the_reference_alone_finds_its_best_answer(tmp_path):
    """With b = 1 the opponent is uniform: the policy is in proportion to exp(win rate against uniform / tau)."""
    policy, _ = trained(replace(TABLE, kl=0.2, mixture=1.0, steps=150, tasks=64), tmp_path)
    (chances,) = policy.probabilities([question(Matchups().task())])
    answer = np.exp(Matchups().wins @ np.full(4, 0.25) / 0.2)
    assert np.abs(chances - answer / answer.sum()).sum() < 0.15


def test_words_of_the_mixture_are_never_learned_from(tmp_path):
    _, lines = trained(replace(TABLE, steps=1, tasks=5, rivals=3), tmp_path)
    assert lines[0]["episodes"] == 5.0


@pytest.mark.parametrize("questions", [MATCHUPS, "growing"])
def test_a_language_model_learns_too(questions, tmp_path):
    config = replace(TABLE, learner=TINY, questions=questions, steps=2, tasks=4, candidates=3, rivals=2)
    _, lines = trained(config, tmp_path)
    assert lines[0]["reference_kl"] == pytest.approx(0.0, abs=1e-6), "the reference is the start"
    assert [line["step"] for line in lines] == [0, 1]
