"""The one door between a name and what it leads to: code that is run, an endpoint that is sent text and a key.

A name on the command line, or in a call from Python, is the user's own, and the door is open. A name in a folder (its
`config.json`, its episodes) may be a stranger's: while such names are looked up the door is `shut`, and only what is
shipped passes, what this command line itself names, what `--trust NAME` names, and what stands in the user's trust
list. Whoever runs code or reaches an endpoint because of a name asks `enter` first.

The trust list is `redqueen/trusted.txt` in the user's configuration folder (`$XDG_CONFIG_HOME`, else `~/.config`), one
place a line: `/home/me/own.py:MyGame`, a recipe `/home/me/own.py`, `some.module:MyGame`, an endpoint; after a tab,
`sha256:...` if only that content of the file is trusted. A training begun with the door open writes down what it was
given, with the hash, so that the same user can resume it; a file that has changed since needs to be trusted anew.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from warnings import warn

from redqueen.types import RedQueenError

FLAG = "--trust"
# "own.py:MyGame", also inside of another name, as in "acting:own.py:MyWorld", whose parts overlap
_NAMED = re.compile(r"(?:^|(?<=[=,(:]))(?=([^=,(:]+):(\w+))")
_SECRET = re.compile(r"(?<=://)[^/@]*@")  # user and password of an endpoint, which no list keeps
_INTO = "files in "  # as a folder stands on the list in which files may be written
_FORBIDDEN = re.compile("[\x00-\x1f\x7f]")


class Untrusted(RedQueenError):
    """A name from a folder leads to code or to an endpoint that nobody has vouched for."""


@dataclass(frozen=True)
class _Door:
    """What passes a shut door besides what stands on the trust list, as it stands there."""

    named: frozenset[str]  # by the user's own words
    flagged: frozenset[str] = frozenset()  # by --trust, for this once


_DOOR: ContextVar[_Door | None] = ContextVar("door", default=None)
_COMMAND: list[_Door] = []  # the door of the command that runs, also for its threads
_ENTERED: dict[str, str] = {}  # what the user's own names led to, with the hash of its file


@contextmanager
def shut(*names: str) -> Iterator[None]:
    """Within, what a folder names passes only if it is shipped, trusted, named by the command, or one of `names`."""
    before = _door() or _Door(frozenset())
    token = _DOOR.set(_Door(before.named | places(names), before.flagged))
    try:
        yield
    finally:
        _DOOR.reset(token)


@contextmanager
def shut_command(words: Sequence[str], flagged: Sequence[str], recipe: str = "") -> Iterator[None]:
    """As `shut`, for a whole command and the threads that it starts: of `words`, its arguments, nothing passes that is
    the folder of a run. `recipe` is the name of the recipe among them, `flagged` what --trust names."""
    given = [word.partition("=")[2] if word.startswith("--") else word for word in words]
    runs = {word for word in given if Path(word.partition("@")[0]).is_dir()}
    named = places([word for word in given if word not in runs])
    named |= {each for each in places(list(runs)) if each.startswith(_INTO)}
    loose = {_key(_of_recipe(name), "") for name in flagged}
    _COMMAND.append(_Door(named | ({_key(_of_recipe(recipe), "")} if recipe else set()), places(flagged) | loose))
    try:
        yield
    finally:
        _COMMAND.pop()


def enter(place: str | Path, member: str, said: str, effect: str = "would be run") -> None:
    """Passes the door. `place` is the file that would be run, or the module or endpoint by its name; `member` the name
    in it that is asked for, if one is; `said` what leads there ("the game 'own.py:MyGame'"). Raises Untrusted where
    nobody has vouched for it."""
    door, key = _door(), _key(place, member)
    if door is None or key in door.named:
        _ENTERED[key] = _hash(place)
        return
    listed = trusted()
    if key in door.flagged or (key in listed and listed[key] in ("", _hash(place))):
        return
    where = str(place.resolve()) if isinstance(place, Path) else place
    why = " and has changed since it was trusted" if key in listed else ""
    flag = f"{place}:{member}" if member else str(place).removeprefix(_INTO)
    raise Untrusted(f"{said} is named by a folder: {where} {effect}{why}. Read it first, then add {FLAG} {quote(flag)}")


def enter_to_write(folder: Path, said: str) -> None:
    """Passes the door to a folder in which files are made or changed, whatever is in it; as `enter`."""
    enter(f"{_INTO}{os.path.realpath(folder)}", "", said, "would be written")


def remember() -> None:
    """Writes what the user's own names led to into the trust list, so that the run that begins can be resumed. Where
    the list cannot be written, a warning says so."""
    known = trusted()
    new = {name: found for name, found in _ENTERED.items() if known.get(name) not in ("", found)}
    new = {name: found for name, found in new.items() if not _FORBIDDEN.search(name)}
    if not new:
        return
    lines = [f"{name}\t{found}" if found else name for name, found in {**known, **new}.items()]
    path = trust_list()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        writing = path.with_name(f".{path.name}.{os.getpid()}")
        writing.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        os.replace(writing, path)
    except OSError as error:
        warn(f"cannot write {path} ({error.strerror}): to resume this run, add {FLAG} and its own names", stacklevel=2)


def trusted() -> dict[str, str]:
    """What stands on the trust list, each with "sha256:..." if only that content is trusted."""
    try:
        lines = trust_list().read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise RedQueenError(f"cannot read the trust list {trust_list()}: {error}") from None
    parts = [line.partition("\t") for line in lines if line.strip() and not line.startswith("#")]
    return {name.strip(): found.strip() for name, _, found in parts}


def trust_list() -> Path:
    """The file of the trust list."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "redqueen" / "trusted.txt"


def places(names: Sequence[str]) -> frozenset[str]:
    """What names lead to, as it stands on the trust list: a name as it is, what it names of a file or module, also
    within its parameters ("dataset:path=sums.csv,compare=own.py:same", "acting:gym(CartPole-v1)", whose world is
    "gym:CartPole-v1"), an endpoint without its model, a folder to write in."""
    found = set()
    for name in names:
        if _FORBIDDEN.search(name):
            continue
        found.add(f"{_INTO}{os.path.realpath(os.path.expanduser(name))}")
        if "://" in name:
            found.add(_key(name[max(name.find("http"), 0) :].partition("#")[0], ""))
            continue
        found |= {_key(_file_or_module(place), member) for place, member in _NAMED.findall(name)}
        worlds = name.replace("(", ":")
        found |= {re.split("[,)]", worlds[each.end() :])[0] for each in re.finditer("[:=]", worlds)} - {""}
        if name.endswith(".py") or "." not in name:
            found.add(_key(_file_or_module(name), ""))
    return frozenset(found)


def _door() -> _Door | None:
    return _DOOR.get() or (_COMMAND[-1] if _COMMAND else None)


def _file_or_module(word: str) -> str | Path:
    return Path(word.strip()).expanduser() if word.strip().endswith(".py") else word.strip()


def _of_recipe(word: str) -> str | Path:
    """A file, a folder with a recipe, or a module."""
    folder = Path(word).expanduser()
    return folder / "recipe.py" if folder.is_dir() else _file_or_module(word)


def _key(place: str | Path, member: str) -> str:
    """How a place stands on the trust list."""
    name = str(place.resolve()) if isinstance(place, Path) else _SECRET.sub("", place.rstrip("/"))
    return f"{name}:{member}" if member else name


def _hash(place: str | Path) -> str:
    if not isinstance(place, Path):
        return ""
    try:
        return f"sha256:{hashlib.sha256(place.read_bytes()).hexdigest()}"
    except OSError:
        return ""
