"""The comparisons of preferences run and say what they compare."""

from rich.console import Console

from experiments.preferences import preference_tables, spin_expected, sppo_in_expectation, table_variants
from redqueen.questions.small.matchups import Matchups
from redqueen.trials.sheets import Bench

QUIET = Console(quiet=True)


def test_spin_in_expectation_has_a_row_for_each_beta():
    _, headings, rows, _ = spin_expected(Bench(seeds=1, steps=5), QUIET)
    assert [row[0] for row in rows] == ["1", "2", "5", "0.1"]
    assert all(len(row) == len(headings) for row in rows)


def test_sppo_in_expectation_averages_to_the_equilibrium():
    found = sppo_in_expectation(Matchups("biased"), eta=0.5, iterations=150, updates=6, rate=3.5)
    assert found["average_exploitability"] < 0.03
    assert found["exploitability"] > found["average_exploitability"]


def test_every_method_on_tables_is_a_recipe():
    assert {recipe for recipe, _, _ in table_variants().values()} == {"spo", "sppo", "iterative_dpo", "nash_md"}
    assert all(config.steps >= 1 for _, _, config in table_variants(0.01).values())
    assert callable(preference_tables)
