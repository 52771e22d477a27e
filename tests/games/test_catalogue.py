"""Finding games by name, and one clear line for everything that can be wrong with a name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from redqueen.games.catalogue import GAMES, find_game
from redqueen.games.connect import Connect
from redqueen.games.liars_dice import LiarsDice
from redqueen.types import RedQueenError

MINE = """
from __future__ import annotations
from dataclasses import dataclass

@dataclass(frozen=True)
class MyGame:
    size: int = 3
    bold: bool = False
    name: str = "mine"
    roles: tuple[str, ...] = ("only",)
    def tasks(self): return []
    def play(self, task, rng): yield []

class NoRoles:
    name = "no_roles"
    def tasks(self): return []
    def play(self, task, rng): yield []

class Needy(MyGame):
    def __init__(self, size): pass

class Breaking:
    def __init__(self): raise ValueError("not\\ntoday")

class Listed:
    name, roles = "listed", ["a"]
    def tasks(self): return []
    def play(self, task, rng): yield []

ready = MyGame(7)
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def test_every_shipped_game_is_found_under_its_own_name() -> None:
    for name in GAMES:
        assert find_game(name).name == name


@pytest.mark.parametrize(
    ("spec", "game"),
    [
        ("liars_dice:sides=4", LiarsDice(4)),
        ("liars_dice:4,retries=1", LiarsDice(4, 1)),
        ("connect:7,6,4,drop=true", Connect(7, 6, 4, drop=True)),
        ("connect:3,3,3", Connect(3, 3, 3)),
        ("redqueen.games.liars_dice:LiarsDice", LiarsDice()),
        ("redqueen.games.liars_dice:LiarsDice:sides=5", LiarsDice(5)),
    ],
)
def test_parameters_follow_a_colon(spec: str, game: object) -> None:
    assert find_game(spec) == game


def test_the_suites_take_their_own_names() -> None:
    pytest.importorskip("pyspiel")
    pytest.importorskip("textarena")
    game = find_game("openspiel:goofspiel(num_cards=3,imp_info=True),retries=1")
    assert game.name == "openspiel:goofspiel(num_cards=3,imp_info=True)"
    assert find_game("textarena:ThreePlayerIPD-v0,players=3").roles == ("first", "second", "third")


def test_an_address_is_no_game() -> None:
    with pytest.raises(RedQueenError, match="http://host/v1#m is an address: a game is named, or is"):
        find_game("http://host/v1#m")


def test_a_class_or_an_object_of_a_file_is_a_game(mine: Path) -> None:
    assert find_game(f"{mine}:MyGame").name == "mine"
    assert find_game(f"{mine}:MyGame:size=5,bold=yes").size == 5  # type: ignore[attr-defined]
    assert find_game(f"{mine}:ready").size == 7  # type: ignore[attr-defined]


def test_a_class_of_a_module_on_the_path_is_a_game(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(mine.parent))
    assert find_game("mine:MyGame").name == "mine"
    monkeypatch.delitem(sys.modules, "mine")


def test_an_entry_point_is_a_game(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = mine.parent / "mine-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[redqueen.games]\nmy_own = mine:MyGame\n")
    monkeypatch.syspath_prepend(str(mine.parent))
    assert find_game("my_own:size=9").size == 9  # type: ignore[attr-defined]
    with pytest.raises(RedQueenError, match="did you mean my_own"):
        find_game("my_ow")
    monkeypatch.delitem(sys.modules, "mine")


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("kuhn_pocker", "there is no game 'kuhn_pocker'; did you mean kuhn_poker"),
        ("zzz", "there is no game 'zzz'; the games are kuhn_poker,"),
        ("zzz:Thing", "there is no game 'zzz'"),
        ("", "there is no game ''"),
        ("liars_dice:faces=4", "has no parameter 'faces'; it takes sides, retries"),
        ("liars_dice:sides=four", "sides of the game 'liars_dice:sides=four' must be of type int, not 'four'"),
        ("liars_dice:sides=1", "2 to 100 sides"),
        ("liars_dice:1,2,3", "more parameters"),
        ("liars_dice:4,sides=4", "cannot be made: multiple values for argument 'sides'"),
        ("connect:drop=perhaps", "must be of type bool"),
        ("connect:m=7,n=6,drop", "'drop' in 'connect:m=7,n=6,drop' has no name: parameters without names come first"),
        ("openspiel", "cannot be made: missing a required argument: 'game_string'"),
        ("redqueen.games.liars_dice:LiarDice", "has no 'LiarDice'; did you mean LiarsDice"),
        ("no/such/file.py:MyGame", "there is no file no/such/file.py"),
        ("{mine}", "say which class"),
        ("{mine}:MyGam", "has no 'MyGam'; did you mean MyGame"),
        ("{mine}:NoRoles", "is not a game: NoRoles has no roles"),
        ("{mine}:Needy", "missing a required argument: 'size'"),
        ("{mine}:Breaking", "cannot be made: ValueError: not today"),
        ("{mine}:Listed", r"roles of the game .* must be a tuple of strings, not \['a'\]"),
        ("{mine}:MyGame:size=big", "size of the game .* must be of type int"),
        ("{mine}:ready:size=3", "takes no parameters"),
    ],
)
def test_every_wrong_name_gets_one_clear_line(spec: str, complaint: str, mine: Path) -> None:
    with pytest.raises(RedQueenError, match=complaint) as error:
        find_game(spec.format(mine=mine))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["def broken(:\n", "import no_such_module_anywhere\n", "1 / 0\n"])
def test_a_file_that_breaks_on_import_is_named_with_the_reason(text: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text(text)
    with pytest.raises(
        RedQueenError, match=r"broken\.py cannot be imported: (Syntax|ModuleNotFound|ZeroDivision)Error"
    ):
        find_game(f"{path}:MyGame")
