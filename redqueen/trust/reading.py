"""Reading files of a folder that may be damaged or made to do damage: each failure is one line that names the file, the
place in it and what was expected there."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from redqueen.types import RedQueenError

MOST_BYTES = 4 << 30  # of one file

T = TypeVar("T")


class Damaged(RedQueenError):
    """A file of a folder does not hold what it should."""


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


def part(data: Mapping[str, Any], name: str, kind: type[T] | tuple[type, ...], place: str) -> T:
    """`data[name]`, which must be there and of that kind; true and false are no numbers. Raises Damaged with the place
    of `data` and of the name."""
    if name not in data:
        raise Damaged(f"{place} has no {name!r}, which must be {_named(kind)}")
    value = data[name]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise Damaged(f"{place}: {name} must be {_named(kind)}, not {_shown(value)}")
    return value  # type: ignore[return-value]


def _named(kind: type | tuple[type, ...]) -> str:
    names = {
        dict: "an object",
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
    return repr(value)[:60]
