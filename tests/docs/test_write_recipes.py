"""docs/recipes.md says what the recipes say."""

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

import pytest

from redqueen.cli.words import flags_of
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.settings.learner import Learner
from redqueen.user_code import module_from_file

writing = module_from_file(Path(__file__).parents[2] / "docs" / "write_recipes.py")


@dataclass(frozen=True)
class Config:
    learner: Learner = Learner(model="tiny")
    steps: int = 400
    beta: float = 0.1  # lambda in the paper
    loss: Literal["logistic", "hinge"] = "logistic"  # of pairs
    oracle: str = ""
    """a file, or
    a table"""
    games: tuple[str, ...] = ("kuhn_poker", "tic_tac_toe")


def test_the_page_is_current():
    assert writing.PAGE.read_text() == writing.page(), "docs/recipes.md is stale: run python docs/write_recipes.py"


def test_the_table_of_recipes_that_take_an_update_is_current_and_the_others_say_why_not():
    text = writing.OF_THE_UPDATE.read_text()
    assert text == writing.of_the_update(), "docs/update.md is stale: run python docs/write_recipes.py"
    said_why = text.partition("These take none:")[2].partition("```")[0]
    silent = [row.partition("|")[2].partition("|")[0] for row in said_why.splitlines() if row.startswith("| `")]
    named = [name for cell in silent for name in re.findall(r"`(\w+)`", cell)]
    takes = [name for name in RECIPES if "update" in {field.name for field in fields(find_recipe(name).Config)}]
    assert sorted([*named, *takes]) == sorted(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_says_who_says_what_is_right(name):
    assert writing.right(name), f"no line of its docstring begins with {writing.RIGHT!r}"


@pytest.mark.parametrize("name", RECIPES)
def test_the_command_line_has_every_setting_of_the_page(name):
    config = find_recipe(name).Config
    assert {flag for flag, _, _ in writing.settings(config)} <= set(flags_of(config))


def test_a_setting_has_its_flag_its_default_and_what_stands_beside_or_below_it():
    assert list(writing.settings(Config)) == [
        ("--model", "`tiny`", "of the learner, see the last section"),
        ("--steps", "`400`", ""),
        ("--beta", "`0.1`", "lambda in the paper"),
        ("--loss", "`logistic`", "one of logistic, hinge; of pairs"),
        ("--oracle", "none", "a file, or a table"),
        ("--games", "`kuhn_poker` `tic_tac_toe`", ""),
    ]


@pytest.mark.parametrize(
    ("line", "title", "paper"),
    [
        (
            "SPO: wins (Swamy, arXiv:2401.04056).",
            "SPO: wins.",
            "Swamy, [arXiv:2401.04056](https://arxiv.org/abs/2401.04056)",
        ),
        ("League self-play (AlphaStar, Nature 575).", "League self-play.", "AlphaStar, Nature 575"),
        ("First steps: a table learns.", "First steps: a table learns.", "none"),
    ],
)
def test_the_first_line_of_a_docstring_is_title_and_paper(line, title, paper):
    assert writing.cited(line) == (title, paper)
