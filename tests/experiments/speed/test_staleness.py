"""The comparisons of continuous play run; what they compare is what they say."""

import io
from dataclasses import replace

from rich.console import Console

from experiments.magnetic import train_once
from experiments.speed import staleness
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.recipes.games import fictitious_self_play
from redqueen.trials.sheets import Bench


def console():
    return Console(file=io.StringIO(), width=120, force_terminal=False)


def test_each_staleness_is_compared_with_none():
    _, headings, rows, note = staleness.staleness(Bench(seeds=1, steps=2), console())
    assert [row[:2] for row in rows[:3]] == [("0", "none needed"), ("1", "yes"), ("1", "no")]
    assert all(len(row) == len(headings) for row in rows)
    assert rows[0][4] == rows[0][6] == ""
    assert "1 paired seeds, 2 updates" in note


def test_the_loop_that_is_measured_is_that_of_the_recipe():
    for stale, objective in ((0, Reinforce()), (2, staleness.CORRECTED)):
        ours = train_once(staleness._train, staleness.Variant(4, stale, objective), 1)[1]
        config = replace(fictitious_self_play.Config(), steps=4, staleness=stale)
        assert ours == train_once(fictitious_self_play.train, config, 1)[1]


def test_a_slow_player_holds_up_rounds_the_most(monkeypatch):
    monkeypatch.setattr(staleness, "SECONDS", 0.01)
    _, headings, rows, _ = staleness.slow_player(Bench(repeats=1, steps=5), console())
    assert [row[0] for row in rows][:2] == ["rounds (lockstep)", "in flight, staleness 0"]
    assert all(len(row) == len(headings) for row in rows)
    assert float(rows[4][2]) > 1.0
