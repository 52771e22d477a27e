"""Rows of data sets on disk: JSON lines, JSON, CSV, Parquet, and folders that `datasets` has saved.

Parquet and folders need the extra `data`. A column that is null in a row counts as missing in that row.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from redqueen.types import RedQueenError

Columns = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """One row, or the reason why it cannot be read."""

    place: str  # "data.jsonl, line 3"
    columns: Columns
    fault: str = ""


def read_rows(path: Path, split: str = "") -> list[Row]:
    """The rows of a file or folder, in order. `split` names one of several that a folder holds ("train").

    Raises RedQueenError if the path cannot be read; a single line that is not JSON is a row with a fault."""
    if path.is_dir():
        return _numbered(path, _saved(path, split))
    if split:
        raise RedQueenError(f"{path} is one file and has no split {split!r}: leave split out")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        known = ", ".join(_READERS)
        raise RedQueenError(f"{path} is not a data set that can be read: name a file of {known} or a saved folder")
    if not path.is_file():
        raise RedQueenError(
            f"there is no file {path}: a data set is a file of {', '.join(_READERS)} with a column prompt, messages, "
            "or chosen and rejected; or a saved folder"
        )
    try:
        return list(reader(path))
    except OSError as error:
        raise RedQueenError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise RedQueenError(f"{path} is not UTF-8 text: byte {error.start} is wrong") from None


def _json_lines(path: Path) -> Iterator[Row]:
    lines = path.read_text(encoding="utf-8-sig").split("\n")  # a prompt may hold other line ends, such as U+2028
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _line(f"{path}, line {number}", line)


def _line(place: str, line: str) -> Row:
    try:
        found = json.loads(line)
    except ValueError as error:
        return Row(place, {}, f"this is not JSON ({error}): write one object a line")
    return _row(place, found)


def _json(path: Path) -> Iterator[Row]:
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise RedQueenError(f"{path} is not JSON ({error}): one object a line is .jsonl, .json is a list") from None
    if type(found) is not list:
        raise RedQueenError(f"{path} must hold a list of objects, one for each row")
    for number, each in enumerate(found, 1):
        yield _row(f"{path}, row {number}", each)


def _csv(path: Path) -> Iterator[Row]:
    """The rows, counted without the header; an empty field counts as missing."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        table = csv.reader(file, strict=True)
        try:
            names = next(table, [])
            if not names or len(set(names)) < len(names) or "" in names:
                raise RedQueenError(f"{path}, line 1: the first line must name the columns, each once")
            for number, fields in enumerate((fields for fields in table if fields), 1):
                place = f"{path}, row {number}"
                fault = f"{len(fields)} fields under {len(names)} names: put a text with a comma into quotes"
                right = len(fields) == len(names)
                columns = {name: text for name, text in zip(names, fields, strict=right) if text}
                yield Row(place, columns, "" if right else fault)
        except csv.Error as error:
            raise RedQueenError(f"{path}, line {table.line_num}: this is not CSV ({error})") from None


def _parquet(path: Path) -> Iterator[Row]:
    try:
        from pyarrow import ArrowException, parquet  # type: ignore
    except ImportError:
        raise _no_library("Parquet") from None
    try:
        found = parquet.read_table(path).to_pylist()
    except (ArrowException, OSError) as error:
        raise RedQueenError(f"{path} cannot be read as Parquet: {' '.join(str(error).split())[:160]}") from None
    yield from _numbered(path, found)


def _saved(folder: Path, split: str) -> Iterator[Any]:
    """The rows of a folder that `save_to_disk` wrote."""
    try:
        from datasets import load_from_disk
    except ImportError:
        raise _no_library("a saved data set") from None
    try:
        found: Any = load_from_disk(str(folder))
    except (OSError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())[:160]
        raise RedQueenError(f"the folder {folder} is not a data set that save_to_disk wrote: {reason}") from None
    splits: dict[str, Any] = {"": found} if not isinstance(found, Mapping) else dict(found)
    if len(splits) == 1 and not split:
        (split,) = splits
    if split not in splits:
        named = ", ".join(name for name in splits if name) or "none"
        raise RedQueenError(f"say which split of {folder} is meant, split=NAME: it has {named}")
    return iter(splits[split])


def _numbered(path: Path, found: Any) -> list[Row]:
    return [_row(f"{path}, row {number}", each) for number, each in enumerate(found, 1)]


def _row(place: str, found: Any) -> Row:
    if type(found) is not dict:
        return Row(place, {}, "this is not an object with columns: write {...}")
    return Row(place, {name: value for name, value in found.items() if value is not None})


def _no_library(what: str) -> RedQueenError:
    return RedQueenError(f"reading {what} needs the library datasets: pip install 'redqueen[data]', or use .jsonl")


_READERS: Mapping[str, Callable[[Path], Iterator[Row]]] = MappingProxyType(
    {".jsonl": _json_lines, ".json": _json, ".csv": _csv, ".parquet": _parquet}
)
