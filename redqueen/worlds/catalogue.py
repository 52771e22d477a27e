"""Finding a world by its name, and the games in which one acts in it: `--game acting:site`, `--game working:sql`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from redqueen.catalogue import Catalogue, in_brackets
from redqueen.games.acting import Acting, Working
from redqueen.games.tools import Limits
from redqueen.protocols import World, lacking
from redqueen.types import RedQueenError
from redqueen.worlds.hosted import Hosted

WORLDS: Mapping[str, str] = MappingProxyType(
    {
        "site": "redqueen.worlds.site:Site",
        "real": "redqueen.worlds.real:Real",
        "sql": "redqueen.worlds.sql:Sql",
        "repository": "redqueen.worlds.repository:Workshop",
        "proofs": "redqueen.worlds.proofs:Proofs",
        "circuits": "redqueen.worlds.circuits:Circuits",
        "traces": "redqueen.worlds.traces:Traces",
        "web": "redqueen.worlds.web:Web",
        "grid": "redqueen.adapters.babyai:Grid",
    }
)
ADAPTERS: Mapping[str, str] = MappingProxyType(
    {
        "pages": "redqueen.worlds.served:pages",
        "gymnasium": "redqueen.adapters.gymnasium:Gymnasium",
        "gym": "redqueen.adapters.guests.others:gym",
        "skyrl": "redqueen.adapters.guests.others:skyrl",
        "trl": "redqueen.adapters.guests.others:trl",
        "openenv": "redqueen.adapters.guests.others:openenv",
        "nemo": "redqueen.adapters.guests.others:nemo",
        "mcp": "redqueen.adapters.guests.others:mcp",
        "verifiers": "redqueen.adapters.guests.others:verifiers",
    }
)
_CATALOGUE = Catalogue("world", WORLDS, "redqueen.worlds", ADAPTERS)


def find_world(spec: str) -> World:
    """The world that `spec` names: "site", "site:shop", "site(only=shop,count=20)", "path/to/file.py:MyWorld",
    "some.module:MyWorld", or an entry point of the group `redqueen.worlds`; each may be followed by a colon and
    parameters. Raises RedQueenError with one line that says what is wrong."""
    found: Any = _CATALOGUE.find(in_brackets(spec))
    missing = lacking(found, World)
    if missing:
        raise RedQueenError(f"{spec!r} is not a world: {type(found).__name__} has no {' and no '.join(missing)}")
    if not found.tasks() or not found.held_out():
        raise RedQueenError(f"the world {spec!r} must have tasks to train on and tasks to hold out")
    return cast(World, found)


def acting(world: str, acts: int = 12, window: int = 0) -> Acting:
    """The game in which an agent says one act at a time: "acting:site:shop" is found as `acting("site:shop")`."""
    return Acting(find_world(world), acts, window)


def working(world: str, calls: int = 4, turns: int = 6, window: int = 0, functions: bool = False) -> Working:
    """The game in which an agent calls the tools of a world and answers; by JSON with `functions`."""
    return Working(find_world(world), Limits(calls, turns, window=window, functions=functions))


def hosted(world: str, acts: int = 12, window: int = 0) -> Hosted:
    """The game in which the world is a seat."""
    return Hosted(find_world(world), acts, window)
