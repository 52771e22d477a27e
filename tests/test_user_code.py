"""A user's file is a module of its own, and may import what lies in the same folder."""

import sys
import types
from pathlib import Path

import pytest

from redqueen.games.catalogue import find_game
from redqueen.settings.finding import find_recipe
from redqueen.types import RedQueenError
from redqueen.user_code import module_from_file

RECIPE = """
from dataclasses import dataclass

from my_scores import best
{more}

@dataclass(frozen=True)
class Config:
    steps: int = 1


def train(config, run):
    from later import word

    return best, word
"""
GAME = """
from dataclasses import dataclass

from my_scores import STAKE
from redqueen.games.talk import ask, forfeit, told
from redqueen.types import Outcome, Seat, Task

LEFT, RIGHT = Seat("left"), Seat("right")


@dataclass(frozen=True)
class Say:
    name: str = "say"
    roles: tuple[str, ...] = ("left", "right")

    def tasks(self):
        import words

        return [Task(word) for word in words.ALL]

    def play(self, task, rng):
        text = yield from ask(LEFT, told("Say yes."), ("yes", "no"))
        return Outcome({LEFT: STAKE, RIGHT: -STAKE})
"""


def written(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture(autouse=True)
def nothing_stays():
    """Modules and sys.path are after a test what they were."""
    path, known = list(sys.path), set(sys.modules)
    yield
    assert sys.path == path
    left = set(sys.modules) - known
    assert all(name.startswith(("redqueen", "my_installed")) or not _from_a_test(name) for name in left)
    for name in left:
        if name.startswith("redqueen_user"):
            del sys.modules[name]


def _from_a_test(name: str) -> bool:
    return "pytest-of" in str(getattr(sys.modules[name], "__file__", ""))


def test_a_recipe_imports_what_lies_in_its_folder_at_once_and_later(tmp_path):
    written(tmp_path, my_recipe=RECIPE.format(more=""), my_scores="best = 7", later="word = 'late'")
    assert find_recipe(str(tmp_path / "my_recipe.py")).train(None, None) == (7, "late")


def test_a_recipe_in_a_folder_imports_its_steps_by_name_or_relatively(tmp_path):
    files = {"recipe": RECIPE.format(more="from .my_scores import best as again"), "my_scores": "best = 7"}
    written(tmp_path / "method", later="word = 'late'", **files)
    module = find_recipe(str(tmp_path / "method"))
    assert module.train(None, None) == (7, "late")
    assert module.again == 7


def test_a_game_imports_what_lies_in_its_folder(tmp_path):
    written(tmp_path, my_game=GAME, my_scores="STAKE = 2.0", words="ALL = ('a', 'b')")
    game = find_game(f"{tmp_path}/my_game.py:Say")
    assert [task.id for task in game.tasks()] == ["a", "b"]


def test_equally_named_modules_of_two_folders_do_not_mix(tmp_path):
    for name, number in (("one", 1), ("two", 2)):
        files = {"my_scores": f"best = {number}", "later": f"word = 'from {name}'"}
        written(tmp_path / name, my_recipe=RECIPE.format(more=""), **files)
    first, second = (find_recipe(str(tmp_path / name / "my_recipe.py")) for name in ("one", "two"))
    assert (first.train(None, None), second.train(None, None)) == ((1, "from one"), (2, "from two"))
    assert first.train(None, None) == (1, "from one")


def test_they_do_not_mix_either_where_python_was_started_in_one_of_the_folders(tmp_path, monkeypatch):
    for name, number in (("one", 1), ("two", 2)):
        written(tmp_path / name, mine="import my_scores\nfound = my_scores.best", my_scores=f"best = {number}")
    monkeypatch.chdir(tmp_path / "one")
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert [module_from_file(tmp_path / name / "mine.py").found for name in ("one", "two", "one")] == [1, 2, 1]
    monkeypatch.undo()


def test_two_files_of_one_folder_share_the_modules_in_it(tmp_path):
    written(tmp_path, one="from shared import Thing", two="from shared import Thing", shared="class Thing: pass")
    assert module_from_file(tmp_path / "one.py").Thing is module_from_file(tmp_path / "two.py").Thing


def test_neighbours_import_one_another_packages_and_their_parts(tmp_path):
    written(
        tmp_path,
        mine="import parts.deep, first\nfrom parts import other\nfound = parts.deep.value, first.seen, other.value",
        first="from second import seen",
        second="seen = 'second'",
        **{
            "parts/__init__": "",
            "parts/deep": "from . import other\nimport second\nvalue = (other.value, second.seen)",
            "parts/other": "value = 'other'",
        },
    )
    assert module_from_file(tmp_path / "mine.py").found == (("other", "second"), "second", "other")


@pytest.mark.parametrize("name", ["json", "redqueen", "numpy", "random"])
def test_nothing_installed_is_shadowed(name, tmp_path):
    written(tmp_path, mine=f"import {name}\nfound = {name}", **{name: "raise ValueError('shadow')"})
    before = sys.modules.get(name)
    assert module_from_file(tmp_path / "mine.py").found is (before or __import__(name))
    assert sys.modules[name] is (before or sys.modules[name])


def test_a_module_that_is_installed_but_not_loaded_yet_comes_first(tmp_path, monkeypatch):
    written(tmp_path / "site", my_installed="where = 'site'")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    written(tmp_path / "user", mine="import my_installed\nfound = my_installed.where", my_installed="where = 'user'")
    assert module_from_file(tmp_path / "user" / "mine.py").found == "site"
    monkeypatch.undo()
    sys.modules.pop("my_installed")


def test_a_file_under_the_name_of_a_module_replaces_none(tmp_path):
    written(tmp_path, random="import random\nfound = random.Random(0).random()")
    assert module_from_file(tmp_path / "random.py").found == pytest.approx(0.8444218515250481)


def test_what_a_neighbour_lacks_or_gets_wrong_is_said_in_one_line(tmp_path):
    before = set(sys.modules)
    written(tmp_path, mine="import broken", broken="1 / 0", other="import nowhere_at_all", third="import good.bad")
    written(tmp_path, good="")
    for name, reason in (
        ("mine", "ZeroDivisionError: division by zero"),
        ("other", "No module named 'nowhere_at_all'"),
        ("third", "No module named 'good.bad'"),
    ):
        with pytest.raises(RedQueenError, match=f"{name}.py cannot be imported: .*{reason}") as caught:
            module_from_file(tmp_path / f"{name}.py")
        assert "\n" not in str(caught.value)
    assert not [name for name in set(sys.modules) - before if name.endswith((".broken", ".mine"))]


def test_a_dataclass_of_a_neighbour_finds_its_types(tmp_path):
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom typing import get_type_hints\n"
    text += "@dataclass\nclass Shape:\n    side: int\ndef hints(): return get_type_hints(Shape)"
    written(tmp_path, mine="from shapes import Shape, hints\nfound = hints()")
    written(
        tmp_path, shapes=text + "@dataclass\nclass Shape:\n    side: int\ndef hints(): return get_type_hints(Shape)"
    )
    module = module_from_file(tmp_path / "mine.py")
    assert module.found == {"side": int}
    assert isinstance(module, types.ModuleType)
