"""Warm starts with tools are made once, and again where what is rehearsed changes."""

from experiments import agent0
from redqueen.settings.learner import Learner
from redqueen.trials.starts import ToolStart, warm_with_tools

START = ToolStart("tool_sums", Learner(model="tiny:hidden=16,heads=2"), steps=1, demonstrations=2, rest=1)


def fewer(count, rng):
    return agent0.rehearsal(count, rng)[:1]


def test_a_start_is_made_once_until_its_rehearsal_or_its_numbers_change(tmp_path, monkeypatch):
    monkeypatch.setenv("REDQUEEN_CACHE", str(tmp_path))
    asked = []

    def counted(count, rng):
        asked.append(count)
        return agent0.rehearsal(count, rng)

    made = warm_with_tools(START, counted)
    assert warm_with_tools(START, counted) == made
    assert asked == [2]
    others = {warm_with_tools(START, fewer), warm_with_tools(START, counted, seed=1)}
    assert len({made, *others}) == 3
