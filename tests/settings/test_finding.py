"""Recipes by name: those shipped, found by folder, and the user's own."""

import inspect
from collections import Counter

import pytest

from redqueen.settings.finding import (
    RECIPES,
    About,
    about,
    described_family,
    described_in,
    families,
    find_recipe,
    places,
    unfinished,
)
from redqueen.types import RedQueenError

RECIPE = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Config:
    steps: int = 1

def train(config, run):
    return "trained"
"""


@pytest.mark.parametrize("name", RECIPES)
def test_every_shipped_recipe_is_found_under_its_own_name(name):
    module = find_recipe(name)
    assert module.__name__.removesuffix(".recipe").endswith(f".{name}")
    config, run, *others = inspect.signature(module.train).parameters.values()
    assert (config.name, run.name) == ("config", "run")
    assert all(each.default is not each.empty for each in others)


def test_a_recipe_is_found_in_a_file_and_replaces_no_module_of_that_name(tmp_path):
    path = tmp_path / "random.py"
    path.write_text(RECIPE)
    assert find_recipe(str(path)).train(None, None) == "trained"
    import random

    assert not hasattr(random, "train")


def test_a_recipe_is_found_as_a_module(tmp_path, monkeypatch):
    package = tmp_path / "somebodys"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "recipe.py").write_text(RECIPE)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_recipe("somebodys.recipe").train(None, None) == "trained"


def test_an_entry_point_is_a_recipe(tmp_path, monkeypatch):
    (tmp_path / "their_recipe.py").write_text(RECIPE)
    about = tmp_path / "theirs-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[redqueen.recipes]\ntheir_own = their_recipe\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_recipe("their_own").train(None, None) == "trained"
    with pytest.raises(RedQueenError, match="did you mean their_own"):
        find_recipe("their_ow")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("spirl", "there is no recipe 'spirl': did you mean spiral?"),
        ("zzz", "there is no recipe 'zzz': recipes are self_redteam, spc"),
        ("", "there is no recipe ''"),
        ("no.such.module", "the recipe no.such.module cannot be imported: No module named 'no'"),
        ("redqueen.types", "the recipe redqueen.types has no Config"),
        ("{folder}/nowhere.py", "there is no file"),
        ("{folder}/broken.py", "cannot be imported: ZeroDivisionError: division by zero"),
        ("{folder}/half.py", "has no train: a recipe is a module with Config and train"),
        ("{folder}", "has no recipe.py: a recipe that is a folder keeps Config and train(config, run) there"),
        ("{folder}/nothing", "there is no folder"),
    ],
)
def test_every_wrong_recipe_gets_one_clear_line(spec, expected, tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "half.py").write_text("class Config: pass\n")
    with pytest.raises(RedQueenError) as caught:
        find_recipe(spec.format(folder=tmp_path))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_name_of_a_recipe_exists_twice():
    twice = [name for name, count in Counter(place.name for place in places()).items() if count > 1]
    assert not twice, f"two families have a recipe called {twice[0]}: rename one of them"
    assert len(RECIPES) == len(places())


def test_a_name_in_two_families_is_found_twice(tmp_path):
    tree(tmp_path, "games/__init__.py", "games/own.py", "labels/__init__.py", "labels/own/recipe.py")
    assert [(place.family, place.name) for place in places(tmp_path)] == [("games", "own"), ("labels", "own")]


def test_recipes_are_files_or_folders_of_a_family(tmp_path):
    tree(tmp_path, "games/__init__.py", "games/alone.py", "games/grown/__init__.py", "games/grown/recipe.py")
    tree(tmp_path, "games/grown/steps.py", "no_family/stray.py")
    assert [(place.name, place.path.name) for place in places(tmp_path)] == [
        ("alone", "alone.py"),
        ("grown", "recipe.py"),
    ]
    assert list(unfinished(tmp_path)) == []


def test_a_folder_without_a_recipe_is_unfinished_and_one_without_code_is_nothing(tmp_path):
    tree(tmp_path, "games/__init__.py", "games/half/steps.py", "games/gone/__pycache__/recipe.pyc")
    assert places(tmp_path) == []
    assert list(unfinished(tmp_path)) == [tmp_path / "games" / "half"]


def test_no_shipped_folder_is_unfinished():
    assert list(unfinished()) == []


def test_an_unfinished_shipped_folder_gets_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.setattr("redqueen.settings.finding.unfinished", lambda: iter([tmp_path / "half"]))
    with pytest.raises(RedQueenError, match=r"half has no recipe\.py: a recipe that is a folder keeps"):
        find_recipe("half")


def test_a_recipe_is_found_in_a_folder(tmp_path, monkeypatch):
    tree(tmp_path, "method/recipe.py")
    (tmp_path / "method" / "recipe.py").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    for spec in ("method", "./method", "method/", str(tmp_path / "method")):
        assert find_recipe(spec).train(None, None) == "trained"


def test_a_shipped_name_is_not_taken_from_a_folder_of_that_name(tmp_path, monkeypatch):
    tree(tmp_path, "spiral/recipe.py")
    monkeypatch.chdir(tmp_path)
    assert find_recipe("spiral").__name__ == "redqueen.recipes.games.spiral"


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        (
            "SPIRAL: games (Liu et al., 2025, arXiv:2506.24119).\n\nMore.",
            About("SPIRAL: games", "arXiv:2506.24119"),
        ),
        (
            "FSP: past (Heinrich et al., 2015).\n\nSee arXiv:1234.5678.",
            About("FSP: past", "Heinrich et al., 2015"),
        ),
        (
            "Magnets: it settles.\n\nTwo papers (arXiv:2206.05825).",
            About("Magnets: it settles", "arXiv:2206.05825"),
        ),
        ("First: ten seconds.\n\nThere is no paper, see arXiv:1234.5678.", About("First: ten seconds", "no paper")),
        ("", About("", "no paper named")),
    ],
)
def test_purpose_and_paper_are_read_from_the_docstring(docstring, expected):
    assert described_in(docstring) == expected


@pytest.mark.parametrize("place", places(), ids=lambda place: place.name)
def test_every_recipe_says_what_it_is_for_and_from_which_paper(place):
    found = about(place)
    assert found.purpose
    assert found.paper != "no paper named"


def test_every_family_says_what_its_recipes_have_in_common():
    assert {place.family for place in places()} == set(families())
    assert all(described_family(family).endswith(".") for family in families())


def tree(folder, *files):
    for name in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def test_a_folder_with_a_dot_in_its_name_is_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.recipe").mkdir()
    for name in (".", "my.recipe"):
        with pytest.raises(RedQueenError, match=r"has no recipe\.py"):
            find_recipe(name)
    (tmp_path / "my.recipe" / "recipe.py").write_text("Config = train = None\n")
    assert find_recipe("my.recipe").train is None
