"""The evidence for Self-RedTeam in small: variants differ as they say, and figures of the listed game are exact."""

from dataclasses import replace

import pytest

from experiments.self_redteam import RED_TEAM, STATIC, TOGETHER, read_from_table
from redqueen.players.tabular import TabularPolicy
from redqueen.settings.roles import Role


def test_variants_differ_from_the_whole_in_what_they_say():
    whole = RED_TEAM.config
    made = {name: RED_TEAM.config_of(name) for name in RED_TEAM.variants}
    assert made[TOGETHER] == whole
    assert made[STATIC] == replace(whole, attacker=Role("frozen"))
    assert made["no benign seeds"] == replace(whole, benign=0.0)
    assert made["defender frozen"] == replace(whole, defender=Role("frozen"), imitation=0.0)


def test_figures_of_the_listed_game_are_known_of_a_table_without_preferences():
    figures = read_from_table(TabularPolicy(), 0)
    assert {name: value for name, value in figures.items() if name.startswith("written")} == {
        f"written {way}": pytest.approx(0.25) for way in range(4)
    }
    for part in ("success", "over_refusal"):
        assert [figures[f"{part} {way}"] for way in range(4)] == [pytest.approx(0.5)] * 4
