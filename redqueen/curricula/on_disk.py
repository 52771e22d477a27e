"""Tasks on disk: JSON lines to read and write, and a store as a Hugging Face data set.

One task a line. `id` and `prompt` are needed; `kind`, `answer`, `facts` (an object), `weight`, `choices` (a list of the
replies to choose from), `messages` (a list of `["system" | "user" | "assistant", text]`, shown instead of the prompt)
and `schema` (the version of this format, 1) may be left out:

    {"schema": 1, "id": "sum-7", "prompt": "3 + 4 = ?", "answer": "7", "kind": "sums", "facts": {"digits": 1}}

Lists among the facts are read as tuples. Empty lines are passed over.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from redqueen.curricula.history import TaskHistory, storable
from redqueen.records import message_from_json, message_to_json, plain, task_from_json, task_to_json
from redqueen.texts import file_text
from redqueen.types import RedQueenError, Task

SCHEMA = 1
_NEEDED = ("id", "prompt")
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "schema": ((int,), "a whole number"),
    "id": ((str,), "a string"),
    "prompt": ((str,), "a string"),
    "answer": ((str,), "a string"),
    "kind": ((str,), "a string"),
    "facts": ((dict,), "an object"),
    "weight": ((int, float), "a number"),
    "choices": ((list,), "a list of strings"),
    "messages": ((list,), "a list of messages [speaker, text]"),
}


def read_tasks(path: Path) -> list[Task]:
    """The tasks of a file, in order. Raises RedQueenError with file and line for any error in it."""
    try:
        text = file_text(path, "utf-8-sig")
    except OSError as error:
        raise RedQueenError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise RedQueenError(f"{path} is not UTF-8 text: byte {error.start} is wrong") from None
    tasks: list[Task] = []
    lines: dict[str, int] = {}  # id -> line
    for number, line in enumerate(text.split("\n"), 1):  # a prompt may hold other line ends, such as U+2028
        if not line.strip():
            continue
        try:
            task = _task(line, f"{path}:{number}")
        except RecursionError:
            raise RedQueenError(f"{path}:{number}: this is nested too deeply to be read") from None
        if task.id in lines:
            raise RedQueenError(
                f"{path}:{number}: the id {task.id!r} is that of line {lines[task.id]}: every task needs its own"
            )
        lines[task.id] = number
        tasks.append(task)
    if not tasks:
        raise RedQueenError(f'{path} holds no task: write one a line, such as {{"id": "1", "prompt": "3 + 4 = ?"}}')
    return tasks


def write_tasks(path: Path, tasks: Sequence[Task]) -> None:
    """Writes a file that reads back as the same tasks; the file appears whole or not at all. Raises RedQueenError for
    two tasks with one id, and for what cannot be written."""
    task_id, times = Counter(task.id for task in tasks).most_common(1)[0] if tasks else ("", 1)
    if times > 1:
        raise RedQueenError(f"{times} tasks have the id {task_id!r}: every task needs an id of its own")
    records = [{"schema": SCHEMA, **task_to_json(storable(task))} for task in tasks]
    try:
        lines = [json.dumps(record, ensure_ascii=False, allow_nan=False) for record in records]
    except ValueError:
        raise RedQueenError(f"cannot write {path}: a fact is not a finite number, for which JSON has no word") from None
    try:
        content = "".join(line + "\n" for line in lines).encode()
    except UnicodeEncodeError as error:
        raise RedQueenError(f"cannot write {path}: a task holds half a character ({error.reason})") from None
    temporary = path.with_name(f".{path.name}.writing")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise RedQueenError(f"cannot write {path}: {error.strerror}") from error


def export_dataset(histories: Sequence[TaskHistory], folder: Path) -> None:
    """Writes tasks with their histories as a Hugging Face data set: `folder/dataset` for `datasets.load_from_disk`,
    and `folder/tasks.parquet`. Facts and messages are JSON text. The folder must not exist; it appears whole or not
    at all.

    Raises RedQueenError without the extra `hub`, without tasks, and if the folder cannot be written."""
    try:
        from datasets import Dataset
    except ImportError as error:
        raise RedQueenError("data sets need the library datasets: pip install 'redqueen[hub]'") from error
    if not histories:
        raise RedQueenError("there is no task to export")
    if folder.exists():
        raise RedQueenError(f"{folder} exists already: name a new folder")
    writing = folder.with_name(f".{folder.name}.writing")
    try:
        shutil.rmtree(writing, ignore_errors=True)
        writing.mkdir(parents=True)
        dataset = Dataset.from_list([_row(history) for history in histories], features=_features())
        dataset.save_to_disk(str(writing / "dataset"))
        dataset.to_parquet(str(writing / "tasks.parquet"))
        os.replace(writing, folder)
    except UnicodeEncodeError as error:
        raise RedQueenError(f"cannot write {folder}: a task holds half a character ({error.reason})") from None
    except OSError as error:
        raise RedQueenError(f"cannot write {folder}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(writing, ignore_errors=True)  # exists only after an error


def _task(line: str, where: str) -> Task:
    try:
        data = json.loads(line, object_pairs_hook=_once_each, parse_constant=_no_number)
    except ValueError as error:
        raise RedQueenError(f"{where}: this is not JSON ({error}): write one object a line") from None
    if not isinstance(data, dict):
        raise RedQueenError(f"{where}: this is not an object: write one, such as {{...}}, a line")
    missing = [name for name in _NEEDED if name not in data]
    if missing:
        raise RedQueenError(f"{where}: the task has no {' and no '.join(missing)}: it needs {' and '.join(_NEEDED)}")
    for name, value in data.items():
        _check(name, value, where)
    fields = {name: value for name, value in data.items() if name != "schema"}
    for name in ("choices", "messages"):  # older files hold them among the facts
        if name in fields.get("facts", {}):
            if name in fields:
                raise RedQueenError(f"{where}: {name} stand there twice: leave them out of the facts")
            _check(name, fields["facts"][name], where)
    return task_from_json({"facts": {}, **fields, "weight": float(fields.get("weight", 1.0))})


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    name, times = Counter(key for key, _ in pairs).most_common(1)[0] if pairs else ("", 1)
    if times > 1:
        raise ValueError(f"{name!r} stands there {times} times")
    return dict(pairs)


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number")


def _check(name: str, value: Any, where: str) -> None:
    if name not in _KINDS:
        raise RedQueenError(
            f"{where}: {name!r} is no field of a task: they are {', '.join(_KINDS)}; put what is your own under facts"
        )
    kinds, wanted = _KINDS[name]
    if type(value) not in kinds:  # a bool is not a number here
        raise RedQueenError(f"{where}: {name} must be {wanted}, not {json.dumps(value)[:40]}")
    if name == "choices" and not all(isinstance(choice, str) for choice in value):
        raise RedQueenError(f"{where}: choices must be {wanted}, not {json.dumps(value)[:40]}")
    if name == "messages":
        _check_messages(value, where)
    if name == "id" and not value:
        raise RedQueenError(f"{where}: id must not be empty")
    if name == "schema" and value != SCHEMA:
        raise RedQueenError(f"{where}: this is version {value} of the format, and this redqueen reads version {SCHEMA}")
    if name == "weight" and not 0 <= value <= sys.float_info.max:  # whole numbers of JSON may be larger
        raise RedQueenError(f"{where}: weight must be a finite number of at least 0, not {str(value)[:40]}")


def _check_messages(value: list[Any], where: str) -> None:
    for message in value:
        match message:
            case [("system" | "user" | "assistant"), str()]:
                continue
            case [("system" | "user" | "assistant"), list()]:
                try:
                    message_from_json(message)
                except RedQueenError as error:
                    raise RedQueenError(f"{where}: {error}") from None
            case _:
                found = json.dumps(message)[:40]
                raise RedQueenError(f'{where}: a message must be ["system", "user" or "assistant", text], not {found}')


def _row(history: TaskHistory) -> dict[str, Any]:
    task = history.task
    return {
        "id": task.id,
        "kind": task.kind,
        "prompt": task.prompt,
        "answer": task.answer,
        "facts": json.dumps(plain(task.facts), ensure_ascii=False),
        "weight": task.weight,
        "choices": list(task.choices),
        "messages": json.dumps([message_to_json(message) for message in task.messages], ensure_ascii=False),
        "origin": history.origin,
        "parents": list(history.parents),
        "gates": list(history.gates),
        "added": history.added,
        "author_version": history.author_version,
        "depth": history.depth,
        "tries": history.tries,
        "solved": history.solved,
        "solve_rate": history.solve_rate,
        "mean_result": history.total / history.tries if history.tries else None,
        "last_seen": history.last_seen,
        "solver_version": history.solver_version,
        "credit": history.credit,
    }


def _features() -> Any:
    """The type of every column, since columns of only None or empty lists have none that could be inferred."""
    from datasets import Features, List, Value

    texts = dict.fromkeys(("id", "kind", "prompt", "answer", "facts", "messages", "origin"), Value("string"))
    lists = dict.fromkeys(("choices", "parents", "gates"), List(Value("string")))
    counts = ("added", "author_version", "depth", "tries", "solved", "last_seen", "solver_version")
    numbers = ("weight", "solve_rate", "mean_result", "credit")
    whole = dict.fromkeys(counts, Value("int64"))
    return Features(texts | lists | whole | dict.fromkeys(numbers, Value("float64")))
