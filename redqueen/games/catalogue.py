"""Finding a game by its name: those shipped, those of OpenSpiel and TextArena, and the user's own."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast, get_type_hints

from redqueen.protocols import Game
from redqueen.types import RedQueenError
from redqueen.user_code import module_from_file

GAMES: Mapping[str, str] = MappingProxyType(
    {
        "kuhn_poker": "redqueen.games.kuhn_poker:KuhnPoker",
        "leduc_poker": "redqueen.games.leduc_poker:LeducPoker",
        "liars_dice": "redqueen.games.liars_dice:LiarsDice",
        "tic_tac_toe": "redqueen.games.tic_tac_toe:TicTacToe",
        "connect": "redqueen.games.connect:Connect",
        "negotiation": "redqueen.games.negotiation:Negotiation",
        "iterated_dilemma": "redqueen.games.iterated_dilemma:IteratedDilemma",
        "mini_hanabi": "redqueen.games.mini_hanabi:MiniHanabi",
    }
)
ADAPTERS: Mapping[str, str] = MappingProxyType(
    {
        "openspiel": "redqueen.games.openspiel:OpenSpiel",
        "textarena": "redqueen.games.textarena:TextArena",
    }
)
ENTRY_POINTS = "redqueen.games"
READERS: Mapping[type, Callable[[str], Any]] = MappingProxyType(
    {
        int: int,
        float: float,
        str: str,
        bool: lambda word: {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[
            word.lower()
        ],
    }
)


def find_game(spec: str) -> Game:
    """The game that a specification names.

    "kuhn_poker", "liars_dice:sides=4", "connect:7,6,4,drop=true", "openspiel:leduc_poker(players=2)",
    "textarena:TicTacToe-v0,retries=1", "path/to/file.py:MyGame", "some.module:MyGame", or the name of
    an entry point of the group `redqueen.games`; each may be followed by a colon and parameters.
    Raises RedQueenError with one line that says what is wrong.
    """
    place, _, rest = spec.strip().partition(":")
    if place in GAMES or place in ADAPTERS:
        made, parameters = _imported({**GAMES, **ADAPTERS}[place], spec), rest
    elif place.endswith(".py") or "/" in place:
        name, _, parameters = rest.partition(":")
        made = _from_file(Path(place), name)
    elif (found := _entry_point(place, spec)) is not None:
        made, parameters = found, rest
    elif rest:
        name, _, parameters = rest.partition(":")
        made = _imported(f"{place}:{name}", spec)
    else:
        raise RedQueenError(unknown(place))
    return _checked(_built(made, parameters, spec), spec)


def unknown(name: str) -> str:
    """What is said of a name that nothing answers to, with the names nearest to it."""
    names = [*GAMES, *(point.name for point in entry_points(group=ENTRY_POINTS))]
    close = get_close_matches(name, names, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"the games are {', '.join(names)}"
    return f"there is no game {name!r}; {hint}"


def _entry_point(name: str, spec: str) -> Any:
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == name:
            try:
                return point.load()
            except Exception as error:
                raise RedQueenError(f"the game {spec!r} cannot be imported: {_one_line(error)}") from error
    return None


def _imported(target: str, spec: str) -> Any:
    """What "module:Name" names."""
    place, _, name = target.partition(":")
    try:
        module = importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is not None and (place == error.name or place.startswith(f"{error.name}.")):
            raise RedQueenError(unknown(place)) from None
        raise RedQueenError(f"the game {spec!r} cannot be imported: {_one_line(error)}") from error
    except Exception as error:
        raise RedQueenError(f"the game {spec!r} cannot be imported: {_one_line(error)}") from error
    return _member(module, name, place)


def _from_file(path: Path, name: str) -> Any:
    if not name:
        raise RedQueenError(f"say which class of {path} is the game: {path}:MyGame")
    return _member(module_from_file(path), name, str(path))


def _member(module: Any, name: str, place: str) -> Any:
    found = getattr(module, name, None) if name else None
    if found is None:
        own = [
            key for key, value in vars(module).items() if inspect.isclass(value) and value.__module__ == module.__name__
        ]
        close = get_close_matches(name, own, n=1)
        hint = f"did you mean {close[0]}?" if close else f"its classes are {', '.join(own) or 'none'}"
        raise RedQueenError(f"{place} has no {name!r}; {hint}")
    return found


def _built(made: Any, parameters: str, spec: str) -> Any:
    """The game itself: a class or function is called with the parameters, an object is taken as it is."""
    if not callable(made):
        if parameters:
            raise RedQueenError(f"{spec!r} names a finished game, which takes no parameters")
        return made
    signature = inspect.signature(made)
    hints = _hints(made)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for part in _parts(parameters):
        match = re.match(r"(\w+)=(.*)", part, re.DOTALL)
        if match is None and len(positional) >= len(signature.parameters):
            raise RedQueenError(f"{spec!r} has more parameters than {_takes(signature)}")
        key = match[1] if match else list(signature.parameters)[len(positional)]
        if key not in signature.parameters:
            raise RedQueenError(f"the game {spec!r} has no parameter {key!r}; it takes {_takes(signature)}")
        value = _read(match[2] if match else part, hints.get(key, str), key, spec)
        if match:
            named[key] = value
        else:
            positional.append(value)
    try:
        signature.bind(*positional, **named)
    except TypeError as error:
        raise RedQueenError(f"the game {spec!r} cannot be made: {error}; it takes {_takes(signature)}") from None
    try:
        return made(*positional, **named)
    except RedQueenError:
        raise
    except Exception as error:
        raise RedQueenError(f"the game {spec!r} cannot be made: {_one_line(error)}") from error


def _hints(made: Any) -> dict[str, Any]:
    """The types of the parameters, as far as their names can be found."""
    try:
        return get_type_hints(made.__init__ if inspect.isclass(made) else made)
    except NameError:
        return {}


def _parts(parameters: str) -> list[str]:
    """The parameters apart at their commas, but not at those inside brackets."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(parameters):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(parameters[start:place])
            start = place + 1
    return [part.strip() for part in [*parts, parameters[start:]]] if parameters else []


def _read(word: str, kind: Any, key: str, spec: str) -> Any:
    try:
        return READERS[kind](word)
    except (KeyError, TypeError, ValueError):
        wanted = getattr(kind, "__name__", str(kind))
        raise RedQueenError(f"{key} of the game {spec!r} must be of type {wanted}, not {word!r}") from None


def _takes(signature: inspect.Signature) -> str:
    return ", ".join(signature.parameters) or "no parameters"


def _checked(game: Any, spec: str) -> Game:
    """The object, if it has the shape of a game."""
    missing = [part for part in ("name", "roles", "tasks", "play") if getattr(game, part, None) is None]
    if missing:
        raise RedQueenError(f"{spec!r} is not a game: {type(game).__name__} has no {' and no '.join(missing)}")
    if not isinstance(game.name, str):
        raise RedQueenError(f"the name of the game {spec!r} must be a string, not {game.name!r}")
    roles = game.roles
    if not isinstance(roles, tuple) or not roles or not all(isinstance(role, str) for role in roles):
        raise RedQueenError(f"the roles of the game {spec!r} must be a tuple of strings, not {roles!r:.80}")
    for part in ("tasks", "play"):
        if not callable(getattr(game, part)):
            raise RedQueenError(f"{part} of the game {spec!r} must be a method")
    return cast(Game, game)


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
