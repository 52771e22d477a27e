"""SQL queries that a model wrote: run on a database in memory, which they can read and nothing else, and compared.

A query may read tables and call functions that depend on nothing but their arguments. It may not write, attach a file,
read the schema's own tables, draw random numbers, read a clock or make a text of any size, and it is stopped after a
number of steps of SQLite's machine, the same on every computer.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from typing import Any

Table = Mapping[str, Any]  # {"columns": [name, ...], "rows": [[value, ...], ...]}
Rows = list[tuple[Any, ...]]

STEPS = 200_000  # of SQLite's machine
MOST_ROWS = 1_000  # of a result; more are wrong
LONGEST = 4_000  # characters of a query
LARGEST = 100_000  # bytes of a value
_EACH = 100  # steps between two looks at their number
_NOT = frozenset(
    (
        *("random", "randomblob", "zeroblob", "load_extension", "readfile", "writefile", "fts3_tokenizer", "printf"),
        *("format", "changes", "total_changes", "last_insert_rowid", "sqlite_version", "sqlite_source_id"),
        *("date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"),
        *("current_date", "current_time", "current_timestamp", "sqlite_log", "sqlite_compileoption_get"),
        *("sqlite_compileoption_used", "sqlite_offset", "group_concat", "string_agg", "replace"),
    )
)
_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE)


class QueryError(Exception):
    """A query that cannot be run, with what is wrong in one line."""


class Database:
    """Tables in memory. `close` frees them."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, cached_statements=0
        )
        self._read = set[str]()
        for name, table in tables.items():
            columns = ", ".join(_quoted(column) for column in table["columns"])
            self._connection.execute(f"create table {_quoted(name)} ({columns})")
            marks = ", ".join("?" for _ in table["columns"])
            self._connection.executemany(f"insert into {_quoted(name)} values ({marks})", table["rows"])
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, LONGEST)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 20)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 100)
        self._connection.set_authorizer(self._authorized)
        self._left = 0
        self._connection.set_progress_handler(self._stepped, _EACH)

    def _stepped(self) -> int:
        self._left -= _EACH
        return int(self._left < 0)

    def _authorized(
        self, action: int, first: str | None, second: str | None, place: str | None, trigger: str | None
    ) -> int:
        """Whether a statement may do this, and takes note of the tables and columns that it reads."""
        table, column = (first or "").lower(), (second or "").lower()
        if action == sqlite3.SQLITE_READ and not table.startswith("sqlite_"):
            self._read |= {table, f"{table}.{column}"} if column else {table}
            return sqlite3.SQLITE_OK
        function = action == sqlite3.SQLITE_FUNCTION and column not in _NOT
        return sqlite3.SQLITE_OK if action in _ALLOWED or function else sqlite3.SQLITE_DENY

    def used(self, query: str) -> frozenset[str]:
        """The tables, and the columns as "table.column", that a query reads. Raises QueryError for one that cannot be
        run."""
        self._read = set()
        self.rows(query)
        return frozenset(self._read)

    def rows(self, query: str) -> Rows:
        """The rows of a query, at most one more than `MOST_ROWS`. Raises QueryError."""
        if not query.lstrip(" \n\t(").lower().startswith(("select", "with", "values")):
            raise QueryError("a query begins with select, with or values")
        if len(query) > LONGEST:
            raise QueryError(f"a query has {LONGEST} characters at most, not {len(query)}")
        self._left = STEPS
        try:
            with closing(self._connection.execute(query)) as cursor:
                return cursor.fetchmany(MOST_ROWS + 1)
        except sqlite3.OperationalError as error:
            stopped = str(error) == "interrupted"
            raise QueryError("the query takes too long" if stopped else _one_line(error)) from None
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            raise QueryError(_one_line(error)) from None

    def close(self) -> None:
        self._connection.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _one_line(error: Exception) -> str:
    return " ".join(str(error).encode("utf-8", "replace").decode().split()) or type(error).__name__


def same_rows(first: Rows, second: Rows, ordered: bool = False) -> bool:
    """Whether two results are equal: the same rows equally often, in the same order where that counts. Numbers are
    compared to nine digits, and 1 is 1.0; the names of columns do not count. Results of more than `MOST_ROWS` rows are
    not."""
    if max(len(first), len(second)) > MOST_ROWS:
        return False
    left, right = ([tuple(map(_plain, row)) for row in rows] for rows in (first, second))
    return left == right if ordered else Counter(left) == Counter(right)


def _plain(value: Any) -> tuple[str, str]:
    match value:
        case int() | float():
            return "number", f"{value:.9g}"
        case bytes():
            return "bytes", value.hex()
        case None:
            return "null", ""
    return "text", str(value)


def as_table(rows: Rows, most: int = 10) -> str:
    """The first `most` rows as text, a line each, values with a bar between them."""
    lines = [" | ".join("null" if value is None else str(value)[:80] for value in row) for row in rows[:most]]
    more = [f"... {len(rows) - most} more"] if len(rows) > most else []
    return "\n".join([*lines, *more]) or "No rows."


def schema_of(tables: Mapping[str, Table]) -> str:
    """The tables and their columns, a line each: "team(name, city)"."""
    return "\n".join(f"{name}({', '.join(_names(table['columns']))})" for name, table in tables.items())


def _names(columns: Sequence[str]) -> list[str]:
    return [str(column) for column in columns]


_WORD = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\w+(?:\.\w+)*|<=|>=|<>|!=|==|\|\||[^\s\w]")


def words_of(query: str) -> list[str]:
    """The words and signs of a query, those of the language in small letters; a value between quotes is one word."""
    return [word if word[0] in "'\"" else word.lower() for word in _WORD.findall(query)]


def bigrams_of(query: str) -> frozenset[str]:
    """Each two neighbouring words of a query."""
    words = words_of(query)
    return frozenset(f"{first} {second}" for first, second in pairwise(words))


def used(query: str, tables: Mapping[str, Table]) -> frozenset[str]:
    """The tables, and the columns as "table.column", that a query reads; of one that cannot be run those that it
    names, a column without a table in each table named that has it."""
    with closing(Database(tables)) as database:
        try:
            return database.used(query)
        except QueryError:
            return _named(set(words_of(query)), tables)


def _named(words: set[str], tables: Mapping[str, Table]) -> frozenset[str]:
    owners = {word.partition(".")[0] for word in words}
    found = [(name.lower(), _names(table["columns"])) for name, table in tables.items() if name.lower() in owners]
    columns = ((name, column.lower()) for name, own in found for column in own)
    read = {f"{name}.{column}" for name, column in columns if words & {column, f"{name}.{column}"}}
    return frozenset({name for name, _ in found} | read)
