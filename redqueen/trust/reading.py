"""Reading files of a folder that may be damaged or made to do damage: each failure is one line that names the file, the
place in it and what was expected there."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from redqueen.types import RedQueenError

MOST_BYTES = 4 << 30  # of one file


class Damaged(RedQueenError):
    """A file of a folder does not hold what it should."""


@contextmanager
def within(place: str) -> Iterator[None]:
    """What is found damaged here stands at this place."""
    try:
        yield
    except Damaged as error:
        raise Damaged(f"{place}{error}") from error


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """The bytes of a regular file of up to `most` bytes. Raises Damaged for anything else, a pipe or a device among
    them, and for a file that cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise Damaged(f"{path} is no regular file")
            if found.st_size > most:
                raise Damaged(f"{path} has {found.st_size} bytes, more than {most}")
            return file.read()
    except OSError as error:
        raise Damaged(f"cannot read {path}: {error.strerror}") from error


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """The text of a file. Raises as `read_bytes`, and for what is not UTF-8."""
    try:
        return read_bytes(path, most).decode()
    except UnicodeDecodeError as error:
        raise Damaged(f"{path} is not UTF-8 text: byte {error.start} is wrong") from error


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file of JSON. Raises as `read_text`, and for what is no object."""
    return as_object(read_text(path), str(path))


def as_object(text: str | bytes, place: str) -> dict[str, Any]:
    """The object that JSON text holds; `place` names it in errors. Raises Damaged for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{place} is not JSON: {' '.join(str(error).split())[:100]}") from None
    if not isinstance(found, dict):
        raise Damaged(f"{place} must hold an object, {{...}}, not {_shown(found)}")
    return found


def _named(kind: type | tuple[type, ...]) -> str:
    names = {
        dict: "an object",
        Mapping: "an object",
        Sequence: "a list",
        tuple: "a list",
        list: "a list",
        str: "a text",
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        type(None): "null",
    }
    kinds = kind if isinstance(kind, tuple) else (kind,)
    said = list(
        dict.fromkeys(names.get(each, each.__name__) for each in kinds if each is not int or float not in kinds)
    )
    return " or ".join(said)


def _shown(value: object) -> str:
    kind = str(getattr(value, "dtype", "")).removeprefix("torch.")
    if kind:
        return f"an array of {kind} {list(getattr(value, 'shape', ()))}"
    try:
        return repr(value)[:60]
    except ValueError:  # an integer of thousands of digits
        return type(value).__name__


def mismatch(value: object, hint: Any) -> str:
    """Where a value is not of its annotated type, what it must be: ".lora_rank must be a whole number, not 'x'"; ""
    where it fits. Dataclasses, tuples, sequences and mappings are looked into; other annotations fit anything."""
    if isinstance(hint, str | TypeVar) or hint in (Any, object, None):
        return "" if hint is not None or value is None else f" must be null, not {_shown(value)}"
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return mismatch(value, inner[0])
    if origin is Literal:
        return "" if value in inner else f" must be {' or '.join(map(repr, inner))}, not {_shown(value)}"
    if origin in (Union, UnionType):
        found = [mismatch(value, each) for each in inner]
        return "" if "" in found else next((each for each in found if each.startswith((".", "["))), found[0])
    if origin is tuple and isinstance(value, tuple) and inner and inner[-1] is not Ellipsis:
        if len(value) != len(inner):
            return f" must have {len(inner)} parts, not {len(value)}"
        return _first(f"[{n}]{mismatch(each, kind)}" for n, (each, kind) in enumerate(zip(value, inner, strict=True)))
    kind = origin or hint
    if not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return ""
    if not isinstance(value, (int, float) if kind is float else kind) or (
        isinstance(value, bool) and kind in (int, float)
    ):
        return f" must be {_named(kind)}, not {_shown(value)}"
    if isinstance(value, float | int) and not isinstance(value, bool) and not _is_moderate(value):
        return f" must be a number that a float can hold, not {_shown(value)}"
    if is_dataclass(value) and not isinstance(value, type):
        hints = _hints(type(value))
        names = [each.name for each in fields(value)]
        return _first(f".{name}{mismatch(getattr(value, name), hints[name])}" for name in names)
    if isinstance(value, Mapping) and len(inner) == 2:
        return _first(
            f"[{_shown(key)}]{mismatch(key, inner[0]) or mismatch(each, inner[1])}" for key, each in value.items()
        )
    if isinstance(value, tuple | list) and inner:
        return _first(f"[{n}]{mismatch(each, inner[0])}" for n, each in enumerate(value))
    return ""


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _first(found: Iterable[str]) -> str:
    """The first that says more than where it looked."""
    return next((each for each in found if " must " in each), "")


def _is_moderate(value: float) -> bool:
    try:
        float(value)
    except OverflowError:
        return False
    return True


@dataclass(frozen=True)
class Value:
    """The shape of what `holds` accepts; `said` says in words what that is."""

    said: str
    holds: Callable[[Any], bool]


@dataclass(frozen=True)
class Row:
    """The shape of a list or tuple with as many values as there are `shapes`, one of each."""

    shapes: tuple[Any, ...]

    def __init__(self, *shapes: Any) -> None:
        object.__setattr__(self, "shapes", shapes)


@dataclass(frozen=True)
class Maybe:
    """The shape of null, or of what has this `shape`."""

    shape: Any


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and _is_moderate(value)


COUNT = Value(
    "a whole number from 0 to 2^53", lambda value: _is_number(value) and isinstance(value, int) and 0 <= value <= 2**53
)
FINITE = Value("a finite number", lambda value: _is_number(value) and isfinite(value))
AMOUNT = Value("a finite number of at least 0", lambda value: _is_number(value) and isfinite(value) and value >= 0)
SHARE = Value("a number from 0 to 1", lambda value: _is_number(value) and 0 <= value <= 1)


def shaped(value: Any, shape: Any, place: str) -> Any:
    """`value`, which must have a shape as this one, else Damaged with the place: a type or a tuple of types, [shape of
    each], {"name": shape}; "name?" need not be there; {...: shape} is that of every value, whose keys are texts. See
    also `Value`, `Row` and `Maybe`."""
    if isinstance(shape, Value):
        if not shape.holds(value):
            raise Damaged(f"{place} must be {shape.said}, not {_shown(value)}")
    elif isinstance(shape, Maybe):
        return value if value is None else shaped(value, shape.shape, place)
    elif isinstance(shape, Row):
        _kind(value, (list, tuple), place)
        if len(value) != len(shape.shapes):
            raise Damaged(f"{place} must have {len(shape.shapes)} parts, not {len(value)}")
        for number, (each, inner) in enumerate(zip(value, shape.shapes, strict=True)):
            shaped(each, inner, f"{place}[{number}]")
    elif isinstance(shape, list):
        _kind(value, (list, tuple), place)
        for number, each in enumerate(value):
            shaped(each, shape[0], f"{place}[{number}]")
    elif isinstance(shape, dict):
        _kind(value, dict, place)
        for name, inner in shape.items():
            if name is ...:
                for key, each in value.items():
                    _kind(key, str, f"{place}: a name")
                    shaped(each, inner, f"{place}.{key[:40]}")
            elif name.removesuffix("?") in value:
                shaped(value[name.removesuffix("?")], inner, f"{place}.{name.removesuffix('?')}")
            elif not name.endswith("?"):
                raise Damaged(f"{place} has no {name!r}")
    else:
        _kind(value, shape, place)
        if isinstance(value, int) and not _is_moderate(value):
            raise Damaged(f"{place} must be a number that a float can hold, not {str(value)[:20]}...")
    return value


def _kind(value: Any, kind: Any, place: str) -> None:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds and object not in kinds):
        raise Damaged(f"{place} must be {_named(kind)}, not {_shown(value)}")
