"""Each family's run starts, measures its start and end, and counts its tokens; with a tiny model and one step."""

import math
from random import Random

import pytest

from experiments import families
from redqueen.trials.experiment import Trial, changed, figure

SMALL = {"learner.model": "tiny", "learner.max_completion_length": 8, "steps": 1}
OF = {
    "preferences": {"tasks": 2, "attempts": 2, "updates": 1, "problems": 1},
    "proposers": {"tasks": 2, "attempts": 2, "proposals": 2, "problems": 1},
    "curricula": {"tasks": 2, "attempts": 2, "problems": 1},
    "agents": {"tasks": 2, "attempts": 2, "problems": 1},
    "adversaries": {"matches_per_step": 4, "problems": 1},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "variant"), [(name, variant) for name in OF for variant in getattr(families, name.upper()).variants]
)
def test_a_family_is_trained_and_measured(name, variant, tmp_path, monkeypatch):
    monkeypatch.setattr(families, "PROBLEMS", 2)
    experiment = getattr(families, name.upper())
    config = changed(changed(experiment.config, experiment.variants[variant]), {**SMALL, **OF[name]})
    trial = experiment.trial(config, 2, tmp_path)
    found = {key: figure(trial, key, experiment.derived) for key in experiment.figures}
    found.pop("late proposals/solve_rate", None)  # of none, where an untrained model proposes nothing that can be read
    assert not any(map(math.isnan, found.values())), found
    assert found["tokens"] > 0.0


def test_tokens_are_those_of_every_role():
    lines = (
        {"episodes": 4.0, "turns_per_episode": 2.0, "completion_length": 3.0},
        {"proposer/episodes": 5.0, "proposer/turns_per_episode": 1.0, "proposer/completion_length": 2.0},
        {"loss": 1.0},
    )
    assert families.tokens(Trial(lines, {})) == 24.0 + 10.0


def test_a_coin_knows_nothing_of_the_answers():
    coin, tasks = families.Coin(), [None] * 2000
    found = coin(tasks, ["right"] * 2000, ["wrong"] * 2000, Random(0))
    assert set(found.tolist()) == {0.0, 1.0}
    assert abs(found.mean() - 0.5) < 0.05
