"""SPO: its rewards by hand, and what its average does where a reward model fails."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.spo import BradleyTerry
from redqueen.questions.small.matchups import Matchups, exploitability
from redqueen.recipes.preferences.spo import Config, train
from redqueen.runs.run import Run, Schedule, read_final, read_metrics
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError

MATCHUPS = "redqueen.questions.small.matchups:Matchups"
TABLE = Config(Learner(learning_rate=0.6), questions=MATCHUPS, steps=400, tasks=4, problems=1, snapshot_every=200)
TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)


def trained(config, folder, every=1000):
    run = Run(folder, 0, Schedule(every, checkpoint_every=1000, record_episodes=0))
    train(config, run)
    return read_metrics(folder), read_final(folder)


@pytest.mark.slow
def test_the_average_policy_cannot_be_exploited_where_preferences_circle(tmp_path):
    lines, final = trained(TABLE, tmp_path, every=5)
    assert final["average_exploitability"] < 0.06 < lines[0]["exploitability"]
    assert all(line["reward/solver"] == pytest.approx(0.5) for line in lines), "a share of wins among themselves"


@pytest.mark.slow
def test_a_reward_model_ends_at_one_answer_that_another_beats(tmp_path):
    oracle = "experiments.spo:BradleyTerry:biased"
    _, final = trained(replace(TABLE, oracle=oracle, learner=Learner(learning_rate=5.0)), tmp_path)
    assert final["exploitability"] > 0.2


def test_scores_of_bradley_and_terry_fit_the_table_as_well_as_scores_can():
    """Of highest likelihood means that each answer is believed to win as often in all as it does."""
    scores = BradleyTerry("biased").scores
    believed = 1 / (1 + np.exp(scores[None, :] - scores[:, None]))
    assert believed.sum(axis=1) == pytest.approx(Matchups("biased").wins.sum(axis=1), abs=1e-6)
    best = np.eye(4)[scores.argmax()]
    assert exploitability(Matchups("biased").wins, best) >= 0.2


def test_a_pull_holds_it_near_the_start(tmp_path):
    distances = []
    for kl in (0.0, 2.0):
        config = replace(
            TABLE, questions=f"{MATCHUPS}:transitive", steps=100, kl=kl, learner=Learner(learning_rate=1.0)
        )
        distances.append(trained(config, tmp_path / str(kl))[1]["distance"])
    assert distances[0] < distances[1] - 0.2


def test_a_language_model_learns_too(tmp_path):
    config = replace(TABLE, learner=TINY, steps=3, attempts=3, snapshot_every=1, pool_size=2)
    lines, final = trained(config, tmp_path)
    assert all(line["gradient_norm"] > 0.0 for line in lines)
    assert 0.0 <= final["wins/average"] <= 1.0


def test_a_table_cannot_judge(tmp_path):
    with pytest.raises(RedQueenError, match="cannot write"):
        trained(replace(TABLE, oracle="judge:shared"), tmp_path)


def test_a_model_may_judge(tmp_path):
    config = replace(TABLE, learner=TINY, oracle="judge:frozen", steps=2, attempts=2)
    lines, final = trained(config, tmp_path)
    assert all("reward/solver" not in line or line["reward/solver"] == 0.5 for line in lines), (
        "it says nothing readable"
    )
    assert final["step"] == 2
