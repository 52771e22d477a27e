"""Rows of data sets: JSON lines, JSON, CSV, Parquet, folders that `datasets` has saved, names on the Hugging Face hub.

Parquet and folders need the extra `data`, a name on the hub (owner/name, or owner/name:config) a network too. A column
that is null in a row counts as missing in that row.
"""

from __future__ import annotations

import codecs
import csv
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from redqueen.texts import MOST_NESTED, file_text, is_deep, is_hollow
from redqueen.types import RedQueenError

Columns = Mapping[str, Any]
_HALF = re.compile("[\ud800-\udfff]")
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+(?::[\w.-]+)?")


@dataclass(frozen=True)
class Row:
    """One row, or the reason why it cannot be read."""

    place: str  # "data.jsonl, line 3"
    columns: Columns
    fault: str = ""
    empty: tuple[str, ...] = ()  # columns in which it says nothing


def names_data(spec: str) -> bool:
    """Whether `spec` is a file or folder of a data set, or looks like a name on the hub: owner/name."""
    path = Path(spec).expanduser()
    if path.suffix.lower() in _READERS:
        return True
    if path.is_dir():
        return ("/" in spec and not any(path.glob("*.py"))) or any(
            (path / name).is_file() for name in ("dataset_info.json", "dataset_dict.json")
        )
    return _HUB_NAME.fullmatch(spec) is not None and ".py" not in spec


def read_parts(spec: str, split: str = "") -> tuple[list[Row], list[Row]]:
    """The rows to train on and those to test on, of a file, a folder or a name on the hub. There are tests where it has
    several splits of which one is called train and one test or validation, and no `split` is named. Raises
    RedQueenError if it cannot be read."""
    path = Path(spec).expanduser()
    if path.is_dir() or (path.suffix.lower() not in _READERS and _HUB_NAME.fullmatch(spec)):
        splits = _splits(path) if path.is_dir() else _on_the_hub(spec)
        tests = next((name for name in ("test", "validation") if name in splits), "")
        if not split and "train" in splits and tests:
            if empty := next((name for name in ("train", tests) if not len(splits[name])), ""):
                full = "train" if empty == tests else tests
                raise RedQueenError(
                    f"the part {empty} of {spec} is empty: --columns split={full} holds out a share of {full}, --test "
                    "FILE tests on another file"
                )
            return _numbered(path, splits["train"]), _numbered(Path(f"{spec} ({tests})"), splits[tests])
        return _numbered(path, _chosen(path, splits, split)), []
    return read_rows(path), []


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
        where = "" if path.is_absolute() else f" in {Path.cwd()}"
        raise RedQueenError(
            f"there is no file {path}{where}: a data set is a file of {', '.join(_READERS)} with a column question, "
            "prompt or messages, or chosen and rejected; or a saved folder"
        )
    try:
        if is_hollow(path.stat()):
            raise RedQueenError(f"{path} is nearly all holes, which take no room on a disk and years to read")
        return list(reader(path))
    except OSError as error:
        raise RedQueenError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        with path.open("rb") as file:
            found = "utf-16" if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "latin1"
        raise RedQueenError(
            f"{path} is not UTF-8 text: byte {error.start} is wrong; save it as UTF-8 (iconv -f {found} -t utf-8)"
        ) from None


def _json_lines(path: Path) -> Iterator[Row]:
    lines = file_text(path, "utf-8-sig", MOST_BYTES).split("\n")  # a prompt may hold other line ends, such as U+2028
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _line(f"{path}, line {number}", line)


def _line(place: str, line: str) -> Row:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Row(place, {}, f"this is not JSON ({error}): write one object a line")
    return _row(place, found)


def _json(path: Path) -> Iterator[Row]:
    text = file_text(path, "utf-8-sig", MOST_BYTES)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        if all(
            line.lstrip().startswith("{") and line.rstrip().endswith("}") for line in text.split("\n") if line.strip()
        ):
            yield from _json_lines(path)  # as many programs call it
            return
        raise RedQueenError(f"{path} is not JSON ({error}): one object a line is .jsonl, .json is a list") from None
    rows = [found] if type(found) is list else _lists_of_objects(found)
    if len(rows) != 1:
        several = f": it has {len(rows)}; write each to a file of its own (--test FILE names the one with the tests)"
        raise RedQueenError(
            f"{path} must hold a list of objects, one for each row, or one object with one such list"
            + (several if rows else "")
        )
    for number, each in enumerate(rows[0], 1):
        yield _row(f"{path}, row {number}", each)


def _lists_of_objects(found: Any) -> list[list[Any]]:
    """The entries of an object that can be rows: {"version": 1, "data": [{...}, ...]} has one."""
    entries = list(found.values()) if isinstance(found, dict) else []
    return [entry for entry in entries if isinstance(entry, list) and entry and isinstance(entry[0], dict)]


def _csv(path: Path) -> Iterator[Row]:
    """The rows, counted without the header, which shows whether commas, semicolons or tabs part the fields; an empty
    field counts as missing, and so does NaN, as tables without a number are written."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = file.readline()
        separator = "," if "," in header else next((sign for sign in ";\t" if sign in header), ",")
        file.seek(0)
        table = csv.reader(file, strict=True, delimiter=separator)
        try:
            names = [name.strip() for name in next(table, [])]
            if not names or len(set(names)) < len(names) or "" in names:
                raise RedQueenError(f"{path}, line 1: the first line must name the columns, each once")
            for number, fields in enumerate((fields for fields in table if fields), 1):
                place = f"{path}, row {number}"
                fault = f"{len(fields)} fields under {len(names)} names: put a text with a comma into quotes"
                right = len(fields) == len(names)
                columns = {name: text for name, text in zip(names, fields, strict=right) if text not in _MISSING}
                yield Row(place, columns, "" if right else fault, tuple(set(names) - set(columns)))
        except csv.Error as error:
            raise RedQueenError(f"{path}, line {table.line_num}: this is not CSV ({error})") from None


def _parquet(path: Path) -> Iterator[Row]:
    try:
        from pyarrow import ArrowException, parquet  # type: ignore
    except ImportError:
        raise _no_library("Parquet") from None
    done, held = 0, 0
    try:
        with path.open("rb") as opened, parquet.ParquetFile(opened) as file:
            for batch in file.iter_batches(batch_size=1024):
                held += batch.nbytes + _ROW_BYTES * batch.num_rows
                if held > MOST_UNFOLDED:
                    raise RedQueenError(f"{path} unfolds to more than {MOST_UNFOLDED} bytes: write smaller files")
                for number, each in enumerate(batch.to_pylist(), done + 1):
                    yield _row(f"{path}, row {number}", each)
                done += batch.num_rows
    except (ArrowException, OSError) as error:
        raise RedQueenError(f"{path} cannot be read as Parquet: {' '.join(str(error).split())[:160]}") from None


def _saved(folder: Path, split: str) -> Iterator[Any]:
    """The rows of a folder that `save_to_disk` wrote."""
    return _chosen(folder, _splits(folder), split)


def _splits(folder: Path) -> dict[str, Any]:
    """The splits of a saved folder by their names; one without a name is called ""."""
    try:
        from datasets import load_from_disk
    except ImportError:
        raise _no_library("a saved data set") from None
    try:
        found: Any = load_from_disk(str(folder))
    except IndexError:  # of its list of tables, which has none
        raise RedQueenError(
            f"a part of {folder} is empty, which the library datasets cannot read: name the folder of a part that is "
            f"not, such as {folder}/train, or save it without the empty one"
        ) from None
    except (OSError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())[:160]
        raise RedQueenError(f"the folder {folder} is not a data set that save_to_disk wrote: {reason}") from None
    return {"": found} if not isinstance(found, Mapping) else dict(found)


def _on_the_hub(spec: str) -> dict[str, Any]:
    """The splits of a data set on the hub by their names."""
    try:
        from datasets import load_dataset
    except ImportError:
        raise _no_library(f"{spec} from the Hugging Face hub") from None
    name, _, config = spec.partition(":")
    place = f"{os.environ.get('HF_ENDPOINT', 'https://huggingface.co')}/api/datasets/{name}"
    try:
        urllib.request.urlopen(urllib.request.Request(place, method="HEAD"), timeout=5).close()
    except urllib.error.HTTPError as error:
        if error.code in (401, 403, 404):
            raise RedQueenError(
                f"there is no folder {name} here, and no data set {name} on the Hugging Face hub that is open to all"
            ) from None
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise RedQueenError(
            f"there is no folder {name} here, and the Hugging Face hub cannot be reached ({reason}): save "
            "the data set where there is a network (save_to_disk) and name its folder"
        ) from None
    try:
        return dict(load_dataset(name, config or None))
    except Exception as error:
        raise RedQueenError(f"{spec} cannot be loaded from the hub: {' '.join(str(error).split())[:200]}") from None


def _chosen(path: Path, splits: Mapping[str, Any], split: str) -> Iterator[Any]:
    """The rows of the split that is meant: the one that is named, or the only one."""
    if len(splits) == 1 and not split:
        (split,) = splits
    if split not in splits:
        named = ", ".join(name for name in splits if name) or "none"
        raise RedQueenError(f"say which split of {path} is meant, split=NAME: it has {named}")
    return iter(splits[split])


def _numbered(path: Path, found: Any) -> list[Row]:
    return [_row(f"{path}, row {number}", each) for number, each in enumerate(found, 1)]


def _half_in(found: Any) -> str:
    """A lone surrogate in the texts of a row, "" where there is none."""
    if isinstance(found, str):
        half = None if found.isascii() else _HALF.search(found)
        return half[0] if half else ""
    within = [*found, *found.values()] if isinstance(found, dict) else found if isinstance(found, list) else ()
    return next(filter(None, map(_half_in, within)), "")


def _row(place: str, found: Any) -> Row:
    if type(found) is not dict:
        return Row(place, {}, "this is not an object with columns: write {...}")
    if is_deep(found):
        return Row(place, {}, f"it is nested more than {MOST_NESTED} deep: write texts, numbers and messages")
    if half := _half_in(found):
        return Row(place, {}, f"it holds half of a character, {half!a}, which no model reads: was a text cut in two?")
    columns = {name: value for name, value in found.items() if value is not None and value == value}  # NaN
    return Row(place, columns, empty=tuple(name for name in found if name not in columns))


def _no_library(what: str) -> RedQueenError:
    return RedQueenError(f"reading {what} needs the library datasets: pip install 'redqueen[data]', or use .jsonl")


MOST_BYTES = 1 << 36  # of a file of text
_ROW_BYTES = 200  # of memory that a row takes besides its values
MOST_UNFOLDED = 4 << 30  # bytes of memory for a file that can say one text a million times in a few kilobytes
_MISSING = ("", "NaN", "nan")
_READERS: Mapping[str, Callable[[Path], Iterator[Row]]] = MappingProxyType(
    {".jsonl": _json_lines, ".json": _json, ".csv": _csv, ".tsv": _csv, ".parquet": _parquet}
)
