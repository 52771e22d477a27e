"""Advantage alignment: the naive control, opponents that are never trained on, and cooperation within seconds."""

import json
from dataclasses import replace

import pytest
import torch

from experiments.advantage_alignment import chances_to_cooperate
from redqueen.games.iterated_dilemma import COOPERATE, DEFECT
from redqueen.recipes.games.advantage_alignment import recipe as advantage_alignment
from redqueen.runs.run import Run, Schedule, read_final, read_metrics
from redqueen.settings.learner import Learner
from redqueen.settings.limits import check_settings
from redqueen.types import RedQueenError

SMALL = advantage_alignment.Config(steps=2, matches_per_step=8, attempts=8)


def trained(folder, **changes):
    run = Run(folder, 0, Schedule(1000, 1000, record_episodes=0))
    return advantage_alignment.train(replace(SMALL, **changes), run)


@pytest.mark.slow
def test_aligned_credit_cooperates_and_cannot_be_milked_where_naive_credit_defects(tmp_path):
    """The full evidence, with more matches and seeds, is `python -m experiments dilemma`."""
    settings = {"steps": 70, "matches_per_step": 20, "attempts": 20, "learner": Learner(learning_rate=12.0)}
    naive = trained(tmp_path / "naive", beta=0.0, **settings)
    aligned = trained(tmp_path / "aligned", beta=1.0, **settings)
    assert read_final(tmp_path / "naive")["self_play/cooperate"] < 0.1
    assert read_final(tmp_path / "aligned")["self_play/cooperate"] > 0.5
    assert chances_to_cooperate(aligned)[COOPERATE, DEFECT] < 0.15
    assert chances_to_cooperate(naive)[COOPERATE, COOPERATE] < chances_to_cooperate(aligned)[COOPERATE, COOPERATE]


def test_what_past_selves_say_is_never_trained_on(tmp_path):
    run = Run(tmp_path, 0, Schedule(1000, 1000, record_episodes=8))
    advantage_alignment.train(replace(SMALL, current=0.0), run)
    for path in (tmp_path / "episodes").iterdir():
        records = [json.loads(line) for line in path.read_text().splitlines()]
        assert [list(each["credit"]) for each in records] == [["first"], ["second"]] * 4
        writers = {(turn["ask"]["seat"][0], turn["reply"]["player"]) for turn in records[0]["turns"]}
        assert writers == {("first", "learner"), ("second", "learner@0")}


def test_an_odd_number_of_matches_favours_neither_seat(tmp_path):
    run = Run(tmp_path, 0, Schedule(1000, 1000, record_episodes=8))
    odd = replace(SMALL, steps=4, matches_per_step=3, attempts=3, current=0.0)
    advantage_alignment.train(odd, run)
    records = [json.loads(line) for path in (tmp_path / "episodes").iterdir() for line in path.read_text().splitlines()]
    seats = [seat for each in records for seat in each["credit"]]
    assert (len(seats), seats.count("first"), seats.count("second")) == (12, 6, 6)


def test_past_selves_join_every_so_many_steps(tmp_path):
    trained(tmp_path, steps=6, snapshot_every=2, pool_size=3)
    (pool, *_) = torch.load(tmp_path / "checkpoints" / "step_000006" / "parts.pt", weights_only=False)
    assert [each["name"] for each in pool["players"]] == ["learner@2", "learner@4", "learner@6"]


def test_the_pull_towards_the_initial_policy_is_measured_only_where_it_acts(tmp_path):
    trained(tmp_path / "free")
    trained(tmp_path / "held", kl=0.1)
    assert all("reference_kl" not in line for line in read_metrics(tmp_path / "free"))
    assert [line["reference_kl"] for line in read_metrics(tmp_path / "held")] == [
        pytest.approx(0.0),
        pytest.approx(0.0, abs=0.5),
    ]


def test_a_language_model_plays_trust_and_split(tmp_path):
    game = "redqueen.games.trust_and_split:TrustAndSplit:rounds=1,listed=true"
    trained(
        tmp_path, game=game, learner=Learner(model="tiny:hidden=16,heads=2"), matches_per_step=2, attempts=2, steps=1
    )
    assert "against_greedy/score" in read_final(tmp_path)


def test_one_match_has_none_to_be_compared_with():
    check_settings(replace(SMALL, attempts=2))
    with pytest.raises(RedQueenError, match="--attempts must be"):
        check_settings(replace(SMALL, attempts=1))
