"""SPPO in expectation, where the equilibrium is known."""

from experiments.sppo import sppo_in_expectation
from redqueen.questions.small.matchups import Matchups


def test_sppo_in_expectation_averages_to_the_equilibrium():
    found = sppo_in_expectation(Matchups("biased"), eta=0.5, iterations=150, updates=6, rate=3.5)
    assert found["average_exploitability"] < 0.03
    assert found["exploitability"] > found["average_exploitability"]
