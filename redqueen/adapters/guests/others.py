"""Environments of other protocols, by name: `acting:gym:ID`, `working:mcp(...)`, `--game pettingzoo:NAME`, ...

Each runs in a guest (`guests`): in the environment that `guest` names, else in the one that is called as the
protocol is, else in this interpreter, where it has what is needed. A name in the folder of a run may be a stranger's,
and what it names is code: it passes the door or is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from json import dumps, loads
from pathlib import Path
from typing import Any

from redqueen.guests.guest_world import GuestGame, GuestWorld, admit, game_of, seat_of
from redqueen.guests.installed import environment
from redqueen.guests.process import Guest, GuestLimits
from redqueen.types import RedQueenError

# of each protocol its driver, the module without which it cannot run, and the packages that bring that
DRIVERS: Mapping[str, tuple[str, str, str]] = {
    "gym": ("gymnasium_driver.py", "gymnasium", "gymnasium"),
    "pettingzoo": ("pettingzoo_driver.py", "pettingzoo", "'pettingzoo[classic]'"),
    "skyrl": ("skyrl_driver.py", "skyrl_gym", "skyrl-gym"),
    "trl": ("trl_driver.py", "json", ""),
    "openenv": ("openenv_driver.py", "openenv", "openenv==0.10.0"),
    "mcp": ("mcp_driver.py", "mcp", "mcp"),
    "nemo": ("nemo_driver.py", "json", ""),
    "verifiers": ("verifiers_driver.py", "verifiers", "verifiers==0.4.0"),
}
_FOLDER = Path(__file__).parent


def gym(name: str, acts: str = "", count: int = 200, tests: int = 50, guest: str = "", seconds: float = 30.0) -> Any:
    """An environment of Gymnasium, in a guest: registered, or a class in a file."""
    return _world("gym", _own(name), guest, seconds, {"acts": acts, **_counted(count, tests)}, name)


def skyrl(name: str, tasks: str, guest: str = "", seconds: float = 30.0) -> GuestWorld:
    """An environment of SkyRL Gym with the tasks of a file."""
    return _world("skyrl", _own(name), guest, seconds, {"tasks": _file(tasks)}, name)


def trl(name: str, tasks: str, reward: str = "reward", guest: str = "", seconds: float = 30.0) -> GuestWorld:
    """A class whose public methods are tools, with the tasks of a file."""
    return _world("trl", _own(name), guest, seconds, {"tasks": _file(tasks), "reward": reward}, name)


def openenv(
    name: str, action: str = "", count: int = 200, tests: int = 50, guest: str = "", seconds: float = 30.0
) -> GuestWorld:
    """An environment of OpenEnv: a class, or the address of a server."""
    settings = {"action": _own(action) if action else "", **_counted(count, tests)}
    return _world("openenv", _own(name), guest, seconds, settings, name)


def mcp(name: str, tasks: str, repeatable: bool = False, guest: str = "", seconds: float = 30.0) -> GuestWorld:
    """A server of the Model Context Protocol by its command, with the tasks of a file."""
    return _world("mcp", name, guest, seconds, {"tasks": _file(tasks), "repeatable": repeatable})


def nemo(name: str, tasks: str, repeatable: bool = False, guest: str = "", seconds: float = 30.0) -> GuestWorld:
    """A resources server of NeMo Gym by its address, with the rows of a file."""
    settings = {"tasks": _file(tasks), "repeatable": repeatable, "seconds": seconds}
    return _world("nemo", name, guest, seconds, settings)


def verifiers(name: str, count: int = 200, tests: int = 50, guest: str = "", seconds: float = 30.0) -> GuestWorld:
    """An environment of verifiers with one agent."""
    return _world("verifiers", name, guest, seconds, _counted(count, tests))


def pettingzoo(
    name: str, count: int = 64, tests: int = 16, guest: str = "", limit: int = 500, seconds: float = 30.0
) -> GuestGame:
    """An environment of PettingZoo, each agent a seat, at most `limit` turns."""
    return game_of(*_guest("pettingzoo", _own(name), guest, seconds, _counted(count, tests), name)).within(limit)


def verifiers_game(
    name: str, count: int = 64, tests: int = 16, guest: str = "", limit: int = 500, seconds: float = 30.0
) -> GuestGame:
    """An environment of verifiers, each agent a seat, at most `limit` turns."""
    return game_of(*_guest("verifiers", name, guest, seconds, _counted(count, tests))).within(limit)


def _world(
    protocol: str, name: str, guest: str, seconds: float, settings: Mapping[str, Any], shown: str = ""
) -> GuestWorld:
    return seat_of(*_guest(protocol, name, guest, seconds, settings, shown))


def _guest(
    protocol: str, name: str, guest: str, seconds: float, settings: Mapping[str, Any], shown: str = ""
) -> tuple[Guest, str]:
    """The guest, and the name of its world."""
    if not name:
        raise RedQueenError(f"say which environment of {protocol}: {protocol}:NAME")
    title = f"{protocol}:{shown or name}"
    admit(title)
    python = _interpreter(protocol, guest)
    return _running(protocol, title, python, seconds, dumps({"name": name, **settings}, sort_keys=True)), title


@lru_cache(maxsize=64)
def _running(protocol: str, title: str, python: Path, seconds: float, settings: str) -> Guest:
    driver = _FOLDER / DRIVERS[protocol][0]
    return Guest(title, python, driver, loads(settings), GuestLimits(seconds=seconds))


def _interpreter(protocol: str, guest: str) -> Path:
    """The Python of a guest. Raises RedQueenError that says how to make it."""
    _, needed, packages = DRIVERS[protocol]
    if guest:
        found = environment(guest)
        if found is None:
            raise RedQueenError(f"there is no guest {guest!r}: redqueen guest add {guest} {packages or 'PACKAGE...'}")
        return found.python
    if (own := environment(protocol)) is not None:
        return own.python
    if find_spec(needed) is None:
        raise RedQueenError(f"{protocol} needs packages that are not here: redqueen guest add {protocol} {packages}")
    return Path(sys.executable)


def _counted(count: int, tests: int) -> dict[str, int]:
    if count < 1 or tests < 1:
        raise RedQueenError(f"a world needs a task and a held-out one, not {count} and {tests}")
    return {"count": count, "tests": tests}


def _file(path: str) -> str:
    """The place of a file of tasks."""
    found = Path(path).expanduser()
    if not found.is_file():
        raise RedQueenError(f"there is no file of tasks {path}: tasks=FILE.jsonl, a prompt and an answer a line")
    return str(found.resolve())


def _own(name: str) -> str:
    """FILE.py:Name with the file's whole place; other names as they are."""
    place, _, member = name.rpartition(":")
    if not place.endswith(".py"):
        return name
    found = Path(place).expanduser()
    if not found.is_file():
        raise RedQueenError(f"there is no file {place}")
    admit(found, member)
    return f"{found.resolve()}:{member}"
