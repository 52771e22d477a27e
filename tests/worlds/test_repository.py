"""Functions of a real package with a planted fault: what a fault is, what is shown, and what repairs it."""

from __future__ import annotations

from contextlib import closing
from importlib.util import find_spec

import pytest

from redqueen.checks.sandbox.jail import why_not
from redqueen.contracts.worlds import check_world
from redqueen.types import RedQueenError
from redqueen.worlds.catalogue import find_world
from redqueen.worlds.repository import Sources, _faults, changes

WHY = why_not() or ("" if find_spec("toolz") else "toolz is missing: pip install 'redqueen[repository]'")
needs_all = pytest.mark.skipif(bool(WHY), reason=WHY or "there")
SMALL = "repository(count=2,tests=1)"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("    if a < b:", ["    if not a < b:", "    if a <= b:"]),
        ("x = y is not None", ["x = y is None"]),
        ("x = y is None", ["x = y is not None"]),
        ("x = y not in z", ["x = y in z"]),
        ("return n + 10", ["return n - 10", "return n + 11", "return n + 9"]),
        ("x = a == b and 'is 5'", ["x = a != b and 'is 5'", "x = a == b or 'is 5'", "x = a == b and 'is not 5'"]),
        ("for x in y:", []),  # no line otherwise
        ("else:", []),
        ("x = a[-1:]", ["x = a[-0:]", "x = a[-2:]"]),
    ],
)
def test_a_change_is_one_of_a_kind_and_a_line_of_python(line, found):
    assert list(changes(line)) == found


CODE = '''
def nth(n, seq):
    """The n-th."""
    if n < 0:
        raise ValueError
    return seq[n]


def long(x):
    return x
'''
TESTS = """
def helper():
    return 1


def test_nth():
    assert nth(0, "ab") == "a"


def test_nth_of_less():
    pass


def test_other():
    pass
"""


def test_a_function_has_the_tests_of_its_name_and_no_others():
    sources = Sources({"tools": CODE}, {"tools": TESTS})
    (function,) = sources.functions()
    assert (function.name, function.tests, function.shown) == ("nth", ("test_nth", "test_nth_of_less"), ("test_nth",))
    lines = sources.lines(function)
    assert lines == ("def nth(n, seq):", "    if n < 0:", "        raise ValueError", "    return seq[n]")
    files = sources.with_lines(function, (*lines[:-1], "    return seq[0]")).files
    assert files["toolz/tools.py"] == CODE.replace("seq[n]", "seq[0]")
    kept = files["toolz/tests/test_tools.py"]
    assert "def helper" in kept and "def test_nth_of_less" in kept and "def test_other" not in kept
    for at, text, all_lines in _faults(function, lines):
        assert all_lines[at] == text != lines[at]
        assert lines[at] in changes(text)  # the way back is listed


@needs_all
def test_a_repair_is_judged_by_all_tests_of_the_function():
    world = find_world(SMALL)
    names = {task.facts["function"] for task in world.tasks()}
    assert not names & {task.facts["function"] for task in world.held_out()}
    task = world.tasks()[0]
    (right,) = world.expert(task)
    with closing(world.open(task, 0)) as visit:
        first = visit.look()
        assert "fails: test_" in first.shown
        assert right in first.choices
        assert visit.assess().score == 0.0
        assert visit.act("edit 99: pass").shown.startswith("An act is: edit LINE: TEXT")
        number, old = int(right.split()[1][:-1]), first.shown.splitlines()
        broken = visit.act(f"edit {number}: raise ValueError")
        assert "raise ValueError" in broken.shown and not broken.over
        assert visit.act(f"edit {number}: {old[number].partition(' ')[2]}") == first
        assert visit.state() == world.open(task, 0).state()
        assert visit.act(right).over
        assert visit.assess().score == 1.0
    free = find_world("repository(count=2,tests=1,listed=false)")
    with closing(free.open(task, 0)) as visit:
        assert visit.look().choices == ()
        assert not visit.act("edit 1: import os").over  # breaks the function, and its tests say so
        assert visit.assess().score == 0.0


@needs_all
def test_it_keeps_the_contract():
    assert "keeps the contract of worlds: 2 tasks, 1 held out" in check_world(find_world(SMALL))


@needs_all
def test_more_than_there_are_is_one_line():
    with pytest.raises(RedQueenError, match="a fault to train on and one to hold out"):
        find_world("repository:0")
