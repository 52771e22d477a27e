"""The evidence for Self-RedTeam in small: variants differ as they say, and figures of the listed game are exact."""

import pytest

from experiments.self_redteam import STATIC, TOGETHER, read_from_table, variants
from redqueen.players.tabular import TabularPolicy
from redqueen.recipes.adversaries.self_redteam.recipe import Config


def test_variants_differ_from_the_whole_in_what_they_say():
    made = variants(Config())
    assert made[TOGETHER] == Config()
    assert made[STATIC] == Config(attacker="frozen")
    assert made["no benign seeds"] == Config(benign=0.0)
    assert made["defender frozen"] == Config(defender="frozen", imitation=0.0)


def test_figures_of_the_listed_game_are_known_of_a_table_without_preferences():
    figures = read_from_table(TabularPolicy())
    assert {name: value for name, value in figures.items() if name.startswith("written")} == {
        f"written {way}": pytest.approx(0.25) for way in range(4)
    }
    for part in ("success", "over_refusal"):
        assert [figures[f"{part} {way}"] for way in range(4)] == [pytest.approx(0.5)] * 4
