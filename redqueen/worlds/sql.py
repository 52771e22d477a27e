"""Questions about small databases, answered by a query.

The tool `sql` reads the tables, the last reply is the query.

    team(name, city, coach)
    player(name, team, age)
    Which name has the team whose city is rome?      select name from team where city = 'rome'

Right is a query whose rows are those of the known query, in the database that the seat may read and in one of the same
schema with other rows, which it never sees: a query that meets the rows by luck is wrong (Zhong et al. 2020,
arXiv:2010.02840, test-suite accuracy). Schemas of held-out tasks are in no task to train on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from random import Random
from string import Formatter
from types import MappingProxyType
from typing import Any

from redqueen.chance import derive
from redqueen.checks.queries import Database, QueryError, Rows, as_table, same_rows, schema_of
from redqueen.games.talk import titled
from redqueen.games.tools import ToolError
from redqueen.protocols import State, Tool
from redqueen.types import Assessment, Observation, RedQueenError, Task
from redqueen.worlds.own_queries import own_tasks

# a kind of thing, what belongs to it, and the columns of both, of which each schema has some
KINDS = (
    ("team", "player", ("city", "coach", "color"), ("age", "goals")),
    ("shop", "item", ("city", "owner", "street"), ("price", "weight")),
    ("school", "class", ("city", "head", "type"), ("size", "room")),
    ("band", "song", ("city", "style", "label"), ("length", "year")),
    ("ship", "cargo", ("port", "captain", "flag"), ("weight", "price")),
    ("farm", "animal", ("county", "owner", "crop"), ("age", "weight")),
    ("library", "book", ("city", "keeper", "floor"), ("pages", "year")),
)
WORDS = ("rome", "oslo", "lima", "cairo", "ada", "bob", "eve", "kim", "red", "blue", "green", "jazz", "north", "south")
NAMES = ("a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2")
# a question and the query that answers it, of each level
FORMS: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "filter": (
            (
                "Which {other} has the {owner} whose {word} is {value}?",
                "select {other} from {owner} where {word} = '{value}'",
            ),
            ("Which {owned} has {number} above {limit}?", "select name from {owned} where {number} > {limit}"),
        ),
        "count": (
            (
                "How many {owner} rows have the {word} {value}?",
                "select count(*) from {owner} where {word} = '{value}'",
            ),
            ("How many {owned} rows has each {owner}?", "select {owner}, count(*) from {owned} group by {owner}"),
            (
                "What is the highest {number} of each {owner}?",
                "select {owner}, max({number}) from {owned} group by {owner}",
            ),
        ),
        "join": (
            (
                "Which {owned} belongs to a {owner} whose {word} is {value}?",
                "select {owned}.name from {owned} join {owner} on {owned}.{owner} = {owner}.name "
                "where {owner}.{word} = '{value}'",
            ),
        ),
    }
)
LEVELS = tuple(FORMS)
LONGEST = 2_000  # characters of a query that are kept
TRIES = 200  # databases that are drawn until the answer is neither empty nor the same in both

Tables = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Schema:
    """Two tables: things, and what belongs to them."""

    owner: str
    owned: str
    words: tuple[str, ...]  # columns of the first, with words
    numbers: tuple[str, ...]  # columns of the second, with numbers

    def tables(self, rng: Random) -> Tables:
        """Rows for both tables."""
        names = rng.sample(NAMES, rng.randint(4, 6))
        drawn = {word: rng.sample(WORDS, 3) for word in self.words}
        things = [[name, *(rng.choice(drawn[word]) for word in self.words)] for name in names]
        parts = [
            [f"{self.owned[0]}{number}", rng.choice(names), *(rng.randint(1, 30) for _ in self.numbers)]
            for number in range(1, rng.randint(7, 10))
        ]
        return {
            self.owner: {"columns": ["name", *self.words], "rows": things},
            self.owned: {"columns": ["name", self.owner, *self.numbers], "rows": parts},
        }

    def question(self, level: str, tables: Tables, rng: Random) -> tuple[str, str]:
        """A question of this level and the query that answers it, which is about a value that occurs."""
        owner, owned = self.owner, self.owned
        word, number = rng.choice(self.words), rng.choice(self.numbers)
        row = rng.choice(tables[owner]["rows"])
        value = row[tables[owner]["columns"].index(word)]
        limit, other = rng.randint(8, 22), word
        if level == "filter":
            other = rng.choice([each for each in ("name", *self.words) if each != word])
        forms = FORMS[level]
        asked, query = rng.choice(forms) if len(forms) > 1 else forms[0]
        names = {"owner": owner, "owned": owned, "word": word, "number": number}
        names |= {"value": value, "limit": str(limit), "other": other}
        return asked.format(**names), query.format(**names)


def asked_by(query: str) -> tuple[str, str]:
    """The level and the question of a query that has one of the forms; "" for any other."""
    said = " ".join(query.strip().removesuffix(";").split())
    for level, forms in FORMS.items():
        for asked, form in forms:
            if (found := re.fullmatch(_pattern(form), said)) is not None:
                return level, asked.format(**found.groupdict())
    return "", ""


def _pattern(form: str) -> str:
    """What a query of a form looks like: names and numbers are words, the same one for the same field."""
    known, found = set[str](), ""
    for text, name, _, _ in Formatter().parse(form):
        found += re.escape(text)
        if name:
            kind = r"[^']*" if name == "value" else r"\w+"
            found += f"(?P={name})" if name in known else f"(?P<{name}>{kind})"
            known.add(name)
    return found


def schemas(count: int) -> list[Schema]:
    """`count` schemas that differ, the same each time: every kind of thing with some of its columns."""
    rng = Random(derive(0, "schemas"))
    found = [
        Schema(owner, owned, tuple(kept), numbers[:size])
        for owner, owned, words, numbers in KINDS
        for left in range(len(words))
        for size in (1, 2)
        if (kept := [word for place, word in enumerate(words) if place != left])
    ]
    rng.shuffle(found)
    if count > len(found):
        raise RedQueenError(f"there are {len(found)} schemas, not {count}")
    return found[:count]


@dataclass(frozen=True)
class Sql:
    """`count` tasks on `trained` schemas, and `tests` on `held` others; of one level, or of all three. With a `file` of
    questions (`worlds.own_queries`) those of the file."""

    level: str = ""  # filter, count or join
    count: int = 400
    tests: int = 100
    trained: int = 20
    held: int = 6
    file: str = ""
    repeatable = True

    def __post_init__(self) -> None:
        if self.level and self.level not in LEVELS:
            raise RedQueenError(f"there is no level {self.level!r} of sql: the levels are {', '.join(LEVELS)}")
        if min(self.count, self.tests, self.trained, self.held) < 1:
            raise RedQueenError("sql needs at least one task and one schema, to train on and to hold out")
        if self.file and replace(self, file="") != Sql():
            raise RedQueenError("a file of questions has its own levels and schemas: sql(file=FILE) alone")

    @property
    def name(self) -> str:
        return titled("sql", self)

    def tasks(self) -> Sequence[Task]:
        return self._dealt[1]

    def held_out(self) -> Sequence[Task]:
        return self._dealt[0]

    @cached_property
    def _dealt(self) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
        return own_tasks(self.file) if self.file else _drawn(self)

    def open(self, task: Task, seed: int) -> SqlVisit:
        return SqlVisit(task)

    def expert(self, task: Task) -> tuple[str, ...]:
        """The known query, at once."""
        return (str(task.facts["query"]),)

    def with_goal(self, task: Task, after: State, prompt: str) -> Task:
        """The task whose known query is the last one of a visit."""
        query = str(after["asked"][-1]) if after["asked"] else ""
        held = any(each.facts["tables"] == task.facts["tables"] for each in self.held_out())
        if held or not _tells(task.facts, query):
            raise RedQueenError(f"no query was run that may be the goal of a task that begins as {task.id}")
        facts = {**task.facts, "query": query, "hidden": (query, json.dumps(task.facts["other"]))}
        return Task(f"{task.id.partition(' ')[0]} {query}", asked_by(query)[0] or task.kind, prompt, facts=facts)

    def worded(self, task: Task, after: State) -> str:
        """ "" for a query that has none of the forms of the questions here."""
        return asked_by(str(after["asked"][-1]))[1] if after["asked"] else ""


@lru_cache(maxsize=4)  # it takes seconds, and the same settings deal the same tasks
def _drawn(world: Sql) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    found = schemas(world.held + world.trained)
    levels = [world.level] if world.level else list(LEVELS)

    def drawn(which: str, among: Sequence[Schema], count: int) -> tuple[Task, ...]:
        return tuple(
            posed(f"{which}{number}", among[number % len(among)], levels[number % len(levels)])
            for number in range(count)
        )

    return drawn("held", found[: world.held], world.tests), drawn("", found[world.held :], world.count)


def posed(name: str, schema: Schema, level: str) -> Task:
    """A task whose known query has rows in both of its databases, and not the same."""
    rng = Random(derive(0, "sql", name, level))
    for _ in range(TRIES):
        shown, other = schema.tables(rng), schema.tables(rng)
        prompt, query = schema.question(level, shown, rng)
        if _tells({"tables": shown, "other": other}, query):
            facts = {"tables": shown, "other": other, "query": query, "hidden": (query, json.dumps(other))}
            return Task(f"{level}_{name}", kind=level, prompt=prompt, facts=facts)
    raise RedQueenError(f"no question of the level {level} was found about {schema.owner} and {schema.owned}")


def _tells(facts: Mapping[str, Any], query: str) -> bool:
    """Whether a query has rows in both databases of a task, and not the same, as every known query must."""
    try:
        first, second = (_known(facts[which], query) for which in ("tables", "other"))
    except QueryError:
        return False
    empty = any(not rows or rows == [(0,)] for rows in (first, second))
    return not empty and not same_rows(first, second)


def _known(tables: Mapping[str, Any], query: str) -> Rows:
    with closing(Database(tables)) as database:
        return database.rows(query)


@dataclass(frozen=True)
class Querying:
    """The tool `sql`: the rows of a query as text."""

    database: Database
    asked: list[str]
    name: str = "sql"
    usage: str = "<sql>select name from t</sql> shows rows. Reply with the query that answers."

    def __call__(self, text: str) -> str:
        self.asked.append(text[:LONGEST])
        try:
            return as_table(self.database.rows(text))
        except QueryError as error:
            raise ToolError(str(error)) from None


class SqlVisit:
    """The database of one task, which no query changes, and the queries that were tried."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._database = Database(task.facts["tables"])
        self._asked = list[str]()
        self.tools: tuple[Tool, ...] = (Querying(self._database, self._asked),)

    def look(self) -> Observation:
        return Observation(schema_of(self._task.facts["tables"]))

    def act(self, said: str) -> Observation:
        """The rows of a query, or what is wrong with it."""
        self._asked.append(said[:LONGEST])
        try:
            return Observation(as_table(self._database.rows(said)))
        except QueryError as error:
            return Observation(f"Error: {error}")

    def state(self) -> Mapping[str, Any]:
        return {"tables": self._task.facts["tables"], "asked": list(self._asked)}

    def assess(self, answer: str = "") -> Assessment:
        """Score 1 for a query with the known rows in both databases. Parts: `runs`, whether it runs; `rows`, whether
        its rows are right in the database that is shown."""
        facts, query = self._task.facts, answer.strip().removesuffix(";")
        ordered = " order by " in f" {' '.join(facts['query'].lower().split())} "
        try:
            own = self._database.rows(query)
            with closing(Database(facts["other"])) as other:
                elsewhere = other.rows(query)
        except QueryError as error:
            return Assessment(0.0, {"runs": 0.0, "rows": 0.0}, {"error": str(error)})
        here = same_rows(own, _known(facts["tables"], facts["query"]), ordered)
        there = same_rows(elsewhere, _known(facts["other"], facts["query"]), ordered)
        return Assessment(float(here and there), {"runs": 1.0, "rows": float(here)})

    def close(self) -> None:
        self._database.close()
