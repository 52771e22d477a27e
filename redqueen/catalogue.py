"""Finding a thing by its name: one that is shipped, one of the user's own in a file or module, or an entry point."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_type_hints

from redqueen.trust.door import enter
from redqueen.types import RedQueenError
from redqueen.user_code import module_from_file

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

COUNTS = frozenset(("count", "tests"))  # parameters that say how many tasks there are
MOST_TASKS = 1_000_000
MOST_SIZE = 10_000  # of a part of what is shipped: a folder may name it, and it is made before anything is asked
UNLIMITED = COUNTS | {"seed", "longest", "port"}  # they make nothing, or have limits of their own
_REST = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Catalogue:
    """The names of one kind of thing ("game"), each with its place, "module:Name". `adapters` are found but not
    listed among the names; `group` is the group of the entry points, `older` its former name. A thing that is called
    with `takes` arguments may be a function of so many."""

    noun: str
    shipped: Mapping[str, str]
    group: str
    adapters: Mapping[str, str] = field(default_factory=dict)
    older: str = ""
    takes: int = 0

    def find(self, spec: str) -> Any:
        """The object that `spec` names: "name", "name:4,drop=true", "path/to/file.py:MyThing", "some.module:MyThing",
        or an entry point; each may be followed by a colon and parameters. Raises RedQueenError with one line that
        says what is wrong."""
        place, _, rest = spec.strip().partition(":")
        if place in ("http", "https"):
            raise RedQueenError(f"{spec} is an address: a {self.noun} is named, or is path/to/file.py:NAME")
        known, limited = {**self.shipped, **self.adapters}, False
        if place in known:
            made, parameters = self._imported(known[place], spec), rest
            limited = True
        elif place.endswith(".py") or "/" in place:
            name, _, parameters = rest.partition(":")
            made = self._from_file(Path(place), name, spec)
        elif (found := self._entry_point(place, spec)) is not None:
            made, parameters = found, rest
        elif rest:
            name, _, parameters = rest.partition(":")
            enter(place, name, f"the {self.noun} {spec!r}")
            made = self._imported(f"{place}:{name}", spec)
        else:
            raise RedQueenError(self.unknown(place))
        return self._built(made, parameters, spec, limited)

    def unknown(self, name: str) -> str:
        """The message for a name that is not found, with the names nearest to it."""
        names = [*self.shipped, *(point.name for point in self._points())]
        close = get_close_matches(name, names, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"the {self.noun}s are {', '.join(names)}"
        return f"there is no {self.noun} {name!r}; {hint}"

    def _points(self) -> list[EntryPoint]:
        groups = [self.group, self.older] if self.older else [self.group]
        return [point for group in groups for point in entry_points(group=group)]

    def _entry_point(self, name: str, spec: str) -> Any:
        for point in self._points():
            if point.name == name:
                enter(name, "", f"the {self.noun} {spec!r}")
                try:
                    return point.load()
                except Exception as error:
                    raise RedQueenError(f"the {self.noun} {spec!r} cannot be imported: {one_line(error)}") from error
        return None

    def _imported(self, target: str, spec: str) -> Any:
        """The object that "module:Name" names."""
        place, _, name = target.partition(":")
        try:
            module = importlib.import_module(place)
        except ModuleNotFoundError as error:
            if error.name is not None and (place == error.name or place.startswith(f"{error.name}.")):
                raise RedQueenError(self.unknown(place)) from None
            raise RedQueenError(f"the {self.noun} {spec!r} cannot be imported: {one_line(error)}") from error
        except Exception as error:
            raise RedQueenError(f"the {self.noun} {spec!r} cannot be imported: {one_line(error)}") from error
        return _member(module, name, place)

    def _from_file(self, path: Path, name: str, spec: str) -> Any:
        if not name:
            raise RedQueenError(f"say which class of {path} is the {self.noun}: {path}:MyName")
        return _member(module_from_file(path, name, f"the {self.noun} {spec!r}"), name, str(path))

    def _built(self, made: Any, parameters: str, spec: str, limited: bool) -> Any:
        """The object: a class or function is called with the parameters, any other object is returned unchanged.
        `limited` are the sizes that are shipped."""
        if not (inspect.isclass(made) or isinstance(made, partial) or inspect.isroutine(inspect.unwrap(made))):
            if parameters:
                raise RedQueenError(f"{spec!r} names a finished {self.noun}, which takes no parameters")
            return made
        signature = inspect.signature(made)
        needed = [
            each for each in signature.parameters.values() if each.default is each.empty and each.kind not in _REST
        ]
        if self.takes and len(needed) == self.takes and not (parameters or inspect.isclass(made)):
            return made
        hints = _hints(made)
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for part in _parts(parameters):
            match = re.match(r"(\w+)=(.*)", part, re.DOTALL)
            if match is None and named:
                raise RedQueenError(f"{part!r} in {spec!r} has no name: parameters without names come first")
            if match is None and len(positional) >= len(signature.parameters):
                raise RedQueenError(f"{spec!r} has more parameters than {_takes(signature)}")
            key = match[1] if match else list(signature.parameters)[len(positional)]
            if key not in signature.parameters:
                raise RedQueenError(f"the {self.noun} {spec!r} has no parameter {key!r}; it takes {_takes(signature)}")
            value = self._read(match[2] if match else part, hints.get(key, str), key, spec)
            if limited and type(value) is int and key not in UNLIMITED and abs(value) > MOST_SIZE:
                raise RedQueenError(f"{key} of the {self.noun} {spec[:80]!r} is at most {MOST_SIZE:,}")
            if match:
                named[key] = value
            else:
                positional.append(value)
        try:
            signature.bind(*positional, **named)
        except TypeError as error:
            raise RedQueenError(
                f"the {self.noun} {spec!r} cannot be made: {error}; it takes {_takes(signature)}"
            ) from None
        try:
            return made(*positional, **named)
        except RedQueenError:
            raise
        except Exception as error:
            raise RedQueenError(f"the {self.noun} {spec!r} cannot be made: {one_line(error)}") from error

    def _read(self, word: str, kind: Any, key: str, spec: str) -> Any:
        try:
            value = READERS[kind](word)
        except (KeyError, TypeError, ValueError):
            wanted = getattr(kind, "__name__", str(kind))
            raise RedQueenError(f"{key} of the {self.noun} {spec!r} must be of type {wanted}, not {word!r}") from None
        if kind is int and key in COUNTS and value > MOST_TASKS:
            raise RedQueenError(
                f"{key} of the {self.noun} {spec[:80]!r} is at most {MOST_TASKS:,}: its tasks are held in memory"
            )
        return value


def in_brackets(spec: str) -> str:
    """A name whose parameters stand in brackets, "site(shop,20)", as one with a colon, "site:shop,20"; others
    unchanged."""
    return re.sub(r"^(\w+)\((.*)\)$", r"\1:\2", spec.strip())


def _member(module: Any, name: str, place: str) -> Any:
    found = getattr(module, name, None) if name else None
    if found is None:
        own = [
            key
            for key, value in vars(module).items()
            if (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__ == module.__name__
            if not key.startswith("_")
        ]
        close = get_close_matches(name, own, n=1)
        hint = f"did you mean {close[0]}?" if close else f"its classes and functions are {', '.join(own) or 'none'}"
        raise RedQueenError(f"{place} has no {name!r}; {hint}")
    return found


def _hints(made: Any) -> dict[str, Any]:
    """The types of the parameters, as far as their names can be found."""
    try:
        made = made.func if isinstance(made, partial) else made
        return get_type_hints(made.__init__ if inspect.isclass(made) else made)
    except NameError:
        return {}


def _parts(parameters: str) -> list[str]:
    """The parameters split at their commas, except at those inside brackets."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(parameters):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(parameters[start:place])
            start = place + 1
    return [part.strip() for part in [*parts, parameters[start:]]] if parameters else []


def _takes(signature: inspect.Signature) -> str:
    return ", ".join(signature.parameters) or "no parameters"


def one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
