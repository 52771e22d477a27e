"""Questions about databases: what a query may do, and when it is right."""

import json
import sqlite3
import time
from contextlib import closing

import pytest

from redqueen.checks.queries import LONGEST, Database, QueryError, as_table, same_rows, used, words_of
from redqueen.contracts.worlds import check_world
from redqueen.types import RedQueenError
from redqueen.worlds.sql import Sql, posed, schemas

TABLES = {"team": {"columns": ["name", "city"], "rows": [["a1", "rome"], ["a2", "oslo"], ["a3", "rome"]]}}


@pytest.fixture
def database():
    with closing(Database(TABLES)) as opened:
        yield opened


@pytest.mark.parametrize(
    "query",
    [
        "",
        "attach 'x' as y",
        "pragma table_info(team)",
        "select 1; select 2",
        "insert into team values (1, 2)",
        "with a as (select 1) insert into team select 1, 2",
        "select * from sqlite_master",
        "select * from sqlite_schema",
        "select * from pragma_table_info('team')",
        "select random()",
        "select hex(randomblob(9))",
        "select hex(zeroblob(99))",
        "select load_extension('x')",
        "select date('now')",
        "select current_timestamp",
        "select printf('%9999999s', 'a')",
        "select group_concat(a.name) from team a, team b, team c",
        "vacuum into '/tmp/x'",
        "explain select 1",
        "begin",
        "select \x00 1",
        "select '\ud800'",
        "select " + "(" * 500 + "1" + ")" * 500,
        "select 1 -- " + "x" * LONGEST,
        "select name fro team",
    ],
)
def test_a_query_reads_tables_and_does_nothing_else(database, query):
    with pytest.raises(QueryError) as raised:
        database.rows(query)
    assert "\n" not in str(raised.value)
    assert database.rows("select count(*) from team") == [(3,)]


@pytest.mark.parametrize(
    "query",
    [
        "with recursive a(x) as (select 1 union all select x + 1 from a) select count(*) from a",
        "select count(*) from team a, team b, team c, team d, team e, team f, team g, team h, team i, team j, team k",
        "with recursive a(x) as (select 'ab' union all select x || x from a) select max(length(x)) from a",
    ],
)
def test_a_query_that_does_not_end_is_stopped(database, query):
    began = time.process_time()
    with pytest.raises(QueryError, match=r"too long|too big"):
        database.rows(query)
    assert time.process_time() - began < 5.0


@pytest.mark.parametrize(
    ("first", "second", "ordered", "same"),
    [
        ([(1, "a"), (2, "b")], [(2, "b"), (1, "a")], False, True),
        ([(1, "a"), (2, "b")], [(2, "b"), (1, "a")], True, False),
        ([(1,), (1,)], [(1,)], False, False),
        ([(0.1 + 0.2,)], [(0.3,)], False, True),
        ([(1,)], [(1.0,)], False, True),
        ([("1",)], [(1,)], False, False),
        ([(None,)], [("",)], False, False),
        ([(b"a",)], [("a",)], False, False),
        ([(1,)] * 1001, [(1,)] * 1001, False, False),
        ([], [], False, True),
    ],
)
def test_rows_are_compared_as_often_as_they_occur(first, second, ordered, same):
    assert same_rows(first, second, ordered) is same


def test_rows_as_text():
    assert as_table([(1, None), ("x", 2.5)], most=1) == "1 | null\n... 1 more"
    assert as_table([]) == "No rows."


def test_a_query_that_meets_the_rows_by_luck_is_wrong():
    world = Sql("filter")
    task = next(task for task in world.tasks() if task.prompt.startswith("Which name"))
    with closing(world.open(task, 0)) as visit:
        rows = [line.split(" | ") for line in visit.act(task.facts["query"]).shown.splitlines()]
        lucky = "values " + ", ".join(f"('{row[0]}')" for row in rows)
        found = visit.assess(lucky)
        assert (found.score, dict(found.parts)) == (0.0, {"runs": 1.0, "rows": 1.0})
        assert visit.assess("select name").parts == {"runs": 0.0, "rows": 0.0}
        assert visit.assess(f"  {task.facts['query']} ;\n").score == 1.0


def test_held_out_tasks_are_on_other_schemas():
    world = Sql()
    names = [
        {tuple((name, *table["columns"]) for name, table in task.facts["tables"].items()) for task in tasks}
        for tasks in (world.tasks(), world.held_out())
    ]
    assert [len(each) for each in names] == [20, 6]
    assert not names[0] & names[1]


def test_all_known_queries_have_rows_that_differ():
    for number, schema in enumerate(schemas(26)):
        for level in ("filter", "count", "join"):
            assert posed(str(number), schema, level).facts["query"]


@pytest.mark.parametrize(("made", "said"), [({"level": "hard"}, "no level 'hard'"), ({"trained": 60}, "there are 42")])
def test_what_cannot_be_is_one_line(made, said):
    with pytest.raises(RedQueenError, match=said):
        Sql(**made).tasks()


def test_a_query_uses_the_tables_and_columns_that_it_reads():
    assert used("select t.city from team as t", TABLES) == {"team", "team.city"}
    assert used("select count(*) from team", TABLES) == {"team"}
    assert used("select * from team", TABLES) == {"team", "team.name", "team.city"}
    assert used("select city form team", TABLES) == {"team", "team.city"}
    assert used("city", TABLES) == frozenset()


def test_words_are_those_of_the_language_and_values_are_whole():
    assert words_of("SELECT Name FROM t WHERE a.b>='New  York' and c<>\"x y\"") == [
        *("select", "name", "from", "t", "where", "a.b", ">=", "'New  York'", "and", "c", "<>", '"x y"')
    ]


OWN = {"question": "Who is in rome?", "query": "select name from team where city = 'rome'", "tables": TABLES}


def own(folder, *rows):
    path = folder / "train.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Sql(file=str(path))


def test_questions_of_a_file_are_a_world(tmp_path):
    with closing(sqlite3.connect(tmp_path / "ships.sqlite")) as database:
        database.executescript("create table ship(name, port); insert into ship values ('s1', 'lima'), ('s2', null)")
    ship = {"question": "Where is s1?", "query": "select port from ship where name = 's1'", "database": "ships.sqlite"}
    world = own(tmp_path, OWN, ship, ship)
    assert [task.prompt for task in world.held_out()] == ["Who is in rome?"]  # the first of two schemas
    assert len(world.tasks()) == 2
    assert "keeps the contract" in check_world(own(tmp_path, {**OWN, "held_out": True}, ship), ["select 1"])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "it has 0"),
        ([OWN], "it has 1"),
        ([{**OWN, "query": "select nme from team"}], "line 1: no such column: nme"),
        ([{**OWN, "query": "select name from team where city = 'x'"}], "line 1: the query finds no rows"),
        ([{**OWN, "query": 3}], "line 1: it.query must be a text"),
        ([{"question": "a", "query": "b"}], "line 1: it has neither tables nor database"),
        ([{"question": "a", "query": "b", "database": "no.sqlite"}], "line 1: there is no database"),
        ([{"question": "a", "query": "b", "database": "train.jsonl"}], "line 1: file is not a database"),
        ([{**OWN, "tables": {"team": {"columns": ["a"], "rows": [[1, 2]]}}}], "line 1: each row of team"),
        ([{**OWN, "tables": {}}], "line 1: a database has 1 to"),
        ([{**OWN, "tables": {"team": {"columns": ["a"], "rows": [[10**30]]}}}], "line 1: Python int too large"),
        (
            [{"question": "a", "query": "b", "database": "/etc/passwd"}],
            "line 1: there is no database /etc/passwd below",
        ),
        ([{"question": "a", "query": "b", "database": "../x.sqlite"}], "line 1: there is no database"),
    ],
)
def test_a_line_that_is_wrong_is_named(rows, said, tmp_path):
    with pytest.raises(RedQueenError, match=said):
        own(tmp_path, *rows).tasks()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("create virtual table t using fts4(a); insert into t values ('x')", "line 1: tables.t_segdir"),
        (
            "create table t(a, b as (zeroblob(900000000))); insert into t(a) values (1)",
            "line 1: string or blob too big",
        ),
        ("create table t(a); insert into t values (x'00')", "line 1: tables"),
    ],
)
def test_a_database_of_a_stranger_computes_nothing(script, said, tmp_path):
    with closing(sqlite3.connect(tmp_path / "theirs.sqlite")) as database:
        database.executescript(script)
    with pytest.raises(RedQueenError, match=said):
        own(tmp_path, {"question": "a", "query": "select a from t", "database": "theirs.sqlite"}).tasks()


def test_a_database_beside_the_questions_leads_nowhere_else(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    with closing(sqlite3.connect(tmp_path / "private.sqlite")) as database:
        database.executescript("create table t(a); insert into t values (1)")
    (inner / "link.sqlite").symlink_to(tmp_path / "private.sqlite")
    with pytest.raises(RedQueenError, match="there is no database"):
        own(inner, {"question": "a", "query": "select a from t", "database": "link.sqlite"}).tasks()
