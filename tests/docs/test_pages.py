"""The code of the how-to pages runs, and keeps the contracts that the pages name."""

import re
from pathlib import Path

import pytest

from redqueen.contracts.games import check_game
from redqueen.contracts.questions import check_questions
from redqueen.contracts.recipes import check_config, check_in_view, check_paper
from redqueen.contracts.worlds import check_world
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Cast, Role, seat_of
from redqueen.user_code import module_from_file

DOCS = Path(__file__).parents[2] / "docs"


def module(page, tmp_path):
    """The code of a page as a module."""
    (code,) = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.M | re.S)
    file = tmp_path / f"{page.removesuffix('.md')}_page.py"
    file.write_text(code)
    return module_from_file(file)


def test_the_question_set_keeps_its_contract(tmp_path):
    clocks = module("write_questions.md", tmp_path).Clocks()
    assert check_questions(clocks).endswith("2 levels, 1 kind, 30 proposals tried")
    assert clocks.right([clocks.task(23, 50, 20, "minutes")], ["00:10"]) == [True]


def test_the_game_keeps_its_contract(tmp_path):
    check_game(module("write_a_game.md", tmp_path).OneOffer())


def test_the_world_keeps_its_contract(tmp_path):
    lamp = module("worlds.md", tmp_path).Lamp()
    assert check_world(lamp) == "lamp keeps the contract of worlds: 3 tasks, 3 held out"


def test_the_recipe_keeps_what_can_be_read_of_its_contract(tmp_path):
    recipe = module("write_a_recipe.md", tmp_path)
    for check in (check_paper, check_config, check_in_view):
        check(recipe)


def test_the_recipe_trains(tmp_path):
    recipe = module("write_a_recipe.md", tmp_path)
    tiny = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
    config = recipe.Config(tiny, steps=2, proposals=2, attempts=2, problems=2)
    recipe.train(config, Run(tmp_path / "run", 0, Schedule(record_episodes=0)))
    lines = read_metrics(tmp_path / "run")
    assert [line["step"] for line in lines] == [0, 1]
    assert all(line["reward/refused"] <= 0.0 for line in lines)


def test_the_config_of_roles_has_a_cast(tmp_path):
    page = module("roles.md", tmp_path)
    assert page.Config().proposer == Role("shared")
    assert page.Config().judge == Role("frozen")
    assert [seat_of(page.Config, role) for role in ("rival", "labeller", "writer")] == ["rival", "solver", "proposer"]
    tiny = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
    cast = Cast(page.Config(tiny), Run(tmp_path / "run", 0, Schedule(record_episodes=0)))
    assert cast.learning == [cast.learner] and cast["rival"] is cast["proposer"] is cast.learner


@pytest.mark.parametrize(
    "page", ["write_questions.md", "write_a_game.md", "write_a_recipe.md", "roles.md", "worlds.md"]
)
def test_a_page_holds_one_module(page):
    assert len(re.findall(r"^```python$", (DOCS / page).read_text(), re.M)) == 1
