"""Figures have plain words, a unit and a direction; the one that says most is chosen by a stated rule."""

import json
from pathlib import Path

import pytest

from redqueen.measures.figures import GROUPS, RULE, SHARE, described, headline

GOLDEN = Path(__file__).parent.parent / "golden" / "figures.json"


@pytest.mark.parametrize(
    ("name", "words", "unit", "better"),
    [
        ("accuracy", "held-out accuracy", SHARE, "higher"),
        ("accuracy/2_digits", "held-out accuracy, 2 digits", SHARE, "higher"),
        ("kuhn_poker/exploitability", "exploitability (kuhn poker)", "score a game", "lower"),
        ("payoff/uniform", "score against uniform", "score a game", "higher"),
        ("solver/reward/solver", "mean reward, solver (solver)", "", "higher"),
        ("pass@8", "held-out problems solved in 8 attempts (pass@8)", SHARE, "higher"),
        ("pass@8/2_digits", "held-out problems solved in 8 attempts (pass@8), 2 digits", SHARE, "higher"),
        ("majority_unknown", "held-out accuracy of the majority vote: without a verdict", SHARE, ""),
        ("train/accuracy_1", "in training: accuracy 1", "", ""),
        ("attack_success", "success of held-out attacks", SHARE, "lower"),
        ("entropy", "entropy of the policy", "nats a token", ""),
        ("pass@8_unknown", "held-out problems of which nobody knows whether 8 attempts solve them", "share", ""),
        ("my_own", "my own", "", ""),
        ("", "", "", ""),
    ],
)
def test_a_figure_has_words_a_unit_and_a_direction(name, words, unit, better):
    found = described(name)
    assert (found.words, found.unit, found.better) == (words, unit, better)
    assert found.group in GROUPS


def test_the_figure_that_says_most_is_the_first_by_the_rule():
    assert headline(["loss", "reward/solver", "exploitability", "accuracy/hard", "accuracy"]) == "accuracy"
    assert headline(["average_exploitability", "leduc/exploitability", "payoff/uniform"]) == "leduc/exploitability"
    assert headline(["minimax_regret_mean", "payoff/uniform_low", "payoff/uniform"]) == "payoff/uniform"
    assert headline(["entropy", "challenger/reward/proposer", "reward/solver"]) == "reward/solver"
    assert headline(["entropy", "loss"]) == ""
    assert RULE.index("held-out accuracy") < RULE.index("exploitability") < RULE.index("mean reward in training")


def test_every_recipe_has_a_measured_headline_and_names_for_what_it_measures():
    for name, seeds in json.loads(GOLDEN.read_text()).items():
        chosen = headline(seeds["0"]["steps"][0])
        assert described(chosen).group == GROUPS[0], f"{name} opens with {chosen!r}, which nothing held out measures"
        assert described(chosen).better, f"of {chosen} it is not said which way is better"
