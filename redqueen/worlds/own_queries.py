"""Questions about databases in a file of the user's own, for the world `sql`: `working:sql(file=train.jsonl)`.

    {"question": "Who is in rome?", "query": "select name from team where city = 'rome'",
     "tables": {"team": {"columns": ["name", "city"], "rows": [["a1", "rome"], ["a2", "oslo"]]}}}

one object a line. `database`, a file of SQLite beside it, may stand in place of `tables`. `other`, tables or a file
too, is a database of the same schema with other rows, in which the rows of a query must be right as well. Lines with
`"held_out": true` are held out, or where there are none every fifth schema (of one schema every fifth question).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from redqueen.checks.queries import LARGEST, Database, QueryError
from redqueen.protocols import shaped
from redqueen.texts import file_text
from redqueen.types import Damaged, RedQueenError, Task

MOST_VALUES = 20_000  # of a database: each visit makes one anew
MOST_LOOKS = 10_000  # thousands of steps of SQLite's machine to read one
FIFTH = 5
_LINE = {"question": str, "query": str, "tables?": dict, "database?": str, "other?": (dict, str), "held_out?": bool}
_TABLES = {...: {"columns": [str], "rows": [[(str, int, float, type(None))]]}}

Tables = Mapping[str, Mapping[str, Any]]


def own_tasks(file: str) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """The tasks of a file that are held out, and those to train on. Raises RedQueenError with the line that is
    wrong."""
    path = Path(file).expanduser()
    try:
        lines = [line for line in file_text(path).splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise RedQueenError(f"cannot read the questions {path}: {error}") from None
    rows = [_row(path, number, line) for number, line in enumerate(lines, 1)]
    held = [held for _, held in rows] if any(held for _, held in rows) else _every_fifth([task for task, _ in rows])
    parts = tuple(
        tuple(task for (task, _), own in zip(rows, held, strict=True) if own == which) for which in (True, False)
    )
    if not all(parts):
        raise RedQueenError(f"{path} must have questions to train on and questions to hold out: it has {len(rows)}")
    return parts[0], parts[1]


def _row(path: Path, number: int, line: str) -> tuple[Task, bool]:
    where = f"{path}, line {number}"
    try:
        row = shaped(json.loads(line), _LINE, "it")
        known = row.get("tables", row.get("database"))
        tables = _tables(path.parent, known)
        other = _tables(path.parent, row["other"]) if "other" in row else tables
        for each in (tables, other):
            with closing(Database(each)) as database:
                found = database.rows(row["query"])
    except (ValueError, OverflowError, RecursionError, sqlite3.Error, Damaged, QueryError) as error:
        raise RedQueenError(f"{where}: {error}") from None
    if not found:
        raise RedQueenError(f"{where}: the query finds no rows, so that many wrong ones would be right")
    facts = {"tables": tables, "other": other, "query": row["query"], "hidden": (row["query"],)}
    return Task(f"line {number}", kind=_schema(tables), prompt=row["question"], facts=facts), row.get("held_out", False)


def _tables(folder: Path, known: Any) -> Tables:
    """The tables of a line: as they stand there, or those of a file of SQLite."""
    if known is None:
        raise Damaged("it has neither tables nor database")
    tables = _of_sqlite(folder, known) if isinstance(known, str) else known
    shaped(tables, _TABLES, "tables")
    for name, table in tables.items():
        if not table["columns"] or any(len(row) != len(table["columns"]) for row in table["rows"]):
            raise Damaged(f"each row of {name} has as many values as the table has columns")
    values = sum(len(table["columns"]) * len(table["rows"]) for table in tables.values())
    if not values or values > MOST_VALUES:
        raise Damaged(f"a database has 1 to {MOST_VALUES} values, not {values}")
    return tables


def _of_sqlite(folder: Path, name: str) -> Tables:
    """The tables of a file below `folder`: of virtual ones and of what computes for long there is nothing to read."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise Damaged(f"there is no database {name} below {folder}")
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as found:
        found.execute("pragma trusted_schema = off")
        found.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
        left = iter(range(MOST_LOOKS))
        found.set_progress_handler(lambda: next(left, -1) < 0, 1_000)
        names = found.execute(
            "select name from sqlite_master where type = 'table' and rootpage > 0 and name not like 'sqlite_%'"
        )
        return {str(name): _table(found, str(name)) for (name,) in names.fetchall()}


def _table(database: sqlite3.Connection, name: str) -> Mapping[str, Any]:
    quoted = name.replace('"', '""')
    cursor = database.execute(f'select * from "{quoted}" limit {MOST_VALUES + 1}')
    return {"columns": [each[0] for each in cursor.description], "rows": [list(row) for row in cursor.fetchall()]}


def _schema(tables: Tables) -> str:
    return " ".join(sorted(tables))


def _every_fifth(tasks: Sequence[Task]) -> list[bool]:
    """Whether each task is held out: those of every fifth schema, where there are several."""
    schemas = {task.kind: number for number, task in enumerate({task.kind: task for task in tasks}.values())}
    numbers = [schemas[task.kind] for task in tasks] if len(schemas) > 1 else list(range(len(tasks)))
    return [number % FIFTH == 0 for number in numbers]
