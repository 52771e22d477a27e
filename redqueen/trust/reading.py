"""Reading files of a folder that may be damaged or made to do damage: each failure is one line that names the file, the
place in it and what was expected there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from redqueen.texts import MOST_BYTES, MOST_NESTED, file_bytes, is_deep
from redqueen.texts import is_hollow as is_hollow  # for those who read with this module
from redqueen.types import Damaged, is_moderate, kind_named, shown

MOST_VALUES = 20_000_000  # of one text of JSON: each takes some 60 bytes of memory, and as few as two of the text
DEEPEST = 16  # folders in folders


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
        return file_bytes(path, most)
    except OSError as error:
        raise Damaged(f"cannot read {path}: {error.strerror}") from error
    except MemoryError:
        raise Damaged(f"{path} does not fit into the memory") from None


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """The text of a file. Raises as `read_bytes`, and for what is not UTF-8."""
    try:
        return read_bytes(path, most).decode()
    except UnicodeDecodeError as error:
        raise Damaged(f"{path} is not UTF-8 text: byte {error.start} is wrong") from error
    except MemoryError:
        raise Damaged(f"{path} does not fit into the memory") from None


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file of JSON. Raises as `read_text`, and for what is no object."""
    return as_object(read_text(path), str(path))


def files_below(folder: Path) -> list[str]:
    """The names, relative to `folder`, of what lies in it and in folders below it, but for folders. Links are not
    followed. Raises Damaged for folders that are nested deeper than DEEPEST."""
    found, waiting = [], [("", 0)]
    while waiting:
        above, depth = waiting.pop()
        if depth > DEEPEST:
            raise Damaged(f"{folder} has folders nested more than {DEEPEST} deep")
        with os.scandir(folder / above) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((f"{above}{entry.name}/", depth + 1))
                else:
                    found.append(f"{above}{entry.name}")
    return found


def as_object(text: str | bytes, place: str) -> dict[str, Any]:
    """The object that JSON text holds; `place` names it in errors. Raises Damaged for anything else, and for one of
    more than MOST_VALUES values, or nested more than MOST_NESTED deep."""
    signs = (",", "[", "{") if isinstance(text, str) else (b",", b"[", b"{")
    if len(text) > MOST_VALUES and sum(map(text.count, signs)) > MOST_VALUES:  # type: ignore[arg-type]
        raise Damaged(f"{place} has more than {MOST_VALUES} values")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise Damaged(f"{place} is not JSON: {' '.join(str(error).split())[:100]}") from None
    if is_deep(found):
        raise Damaged(f"{place} has lists or objects nested more than {MOST_NESTED} deep")
    if not isinstance(found, dict):
        raise Damaged(f"{place} must hold an object, {{...}}, not {shown(found)}")
    return found


def mismatch(value: object, hint: Any) -> str:
    """Where a value is not of its annotated type, what it must be: ".lora_rank must be a whole number, not 'x'"; ""
    where it fits. Dataclasses, tuples, sequences and mappings are looked into; other annotations fit anything."""
    if isinstance(hint, str | TypeVar) or hint in (Any, object, None):
        return "" if hint is not None or value is None else f" must be null, not {shown(value)}"
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return mismatch(value, inner[0])
    if origin is Literal:
        return "" if value in inner else f" must be {' or '.join(map(repr, inner))}, not {shown(value)}"
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
        return f" must be {kind_named(kind)}, not {shown(value)}"
    if isinstance(value, float | int) and not isinstance(value, bool) and not is_moderate(value):
        return f" must be a number that a float can hold, not {shown(value)}"
    if is_dataclass(value) and not isinstance(value, type):
        hints = _hints(type(value))
        names = [each.name for each in fields(value)]
        return _first(f".{name}{mismatch(getattr(value, name), hints[name])}" for name in names)
    if isinstance(value, Mapping) and len(inner) == 2:
        return _first(
            f"[{shown(key)}]{mismatch(key, inner[0]) or mismatch(each, inner[1])}" for key, each in value.items()
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
