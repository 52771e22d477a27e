"""Programs are right where they pass their tests."""

import json

import pytest

from redqueen.checks.sandbox import jail
from redqueen.questions.by_tests import ByTests
from redqueen.questions.catalogue import find_questions
from redqueen.questions.reference_answers import doubts_about
from redqueen.questions.tests_in_rows import asserts_in
from redqueen.types import RedQueenError, Task

pytestmark = pytest.mark.skipif(bool(jail.why_not()), reason="this machine has no jail")
LOOP = "def check(candidate):\n    for i in [1]:\n        assert candidate(i) == 2"
POINT = "from collections import namedtuple\nP = namedtuple('P', 'x y')"
EQUAL = "class A:\n    def __eq__(self, other):\n        return True\n"


@pytest.fixture(scope="module")
def grading():
    return ByTests()


def right(grading, source, tests, setup="", entry_point=""):
    task = Task("t", facts={"tests": asserts_in(tests, entry_point), "setup": setup})
    return grading.verdicts([task], [f"```python\n{source}\n```"])[0]


@pytest.mark.parametrize(
    ("source", "test"),
    [
        ("import collections\ndef f(l):\n    return collections.Counter(l)", "assert f([1, 1, 2]) == {1: 2, 2: 1}"),
        ("from collections import OrderedDict\ndef f(l):\n    return OrderedDict(l)", "assert f([(1, 2)]) == {1: 2}"),
        (f"{POINT}\ndef f(a):\n    return P(a, 2)", "assert f(1) == (1, 2)"),
        ("def f(l):\n    return frozenset(l)", "assert f([1, 2]) == {1, 2}"),
        ("from enum import IntEnum\nclass C(IntEnum):\n    A = 1\ndef f():\n    return C.A", "assert f() == 1"),
        ("from decimal import Decimal\ndef f():\n    return [Decimal(3)]", "assert f() == [3]"),
        ("from fractions import Fraction\ndef f():\n    return Fraction(1, 2)", "assert f() == 0.5"),
        ("def f():\n    return complex(1, 2)", "assert f() == 1 + 2j"),
        ("def f():\n    return bytearray(b'a')", "assert f() == b'a'"),
        ("def f(d):\n    return d.keys()", "assert f({'a': 1}) == {'a'}"),
    ],
)
def test_a_value_counts_by_its_content(grading, source, test):
    assert right(grading, source, test) is True


@pytest.mark.parametrize(
    ("source", "test"),
    [
        ("def f(n):\n    return list(range(n))", f"assert f(2000) == {list(range(2000))}"),
        ("def f(n):\n    return 10**n", f"assert f(1500) == {10**1500}"),
        ("def f(n):\n    return [f(n - 1)] if n else []", f"assert f(25) == {'[' * 26}{']' * 26}"),
        ("def f(n):\n    print('x' * 200_000)\n    return n", "assert f(3) == 3"),
        ("def f(n):\n    return 0 if n == 0 else f(n - 1) + 1", "assert f(900) == 900"),
    ],
)
def test_what_is_large_or_deep_can_be_right(grading, source, test):
    assert right(grading, source, test) is True


@pytest.mark.parametrize(
    "source",
    [
        "import sys, time\ndef f(n):\n    return min(n, sys.maxsize)",
        "from random import choice\ndef f(n):\n    return n",
        "def f(n):\n    return n\nif __name__ == '__main__':\n    print(f(int(input())))",
        "def f(n):\n    return getattr(n, '__abs__')()",
        "import datetime\ndef f(n):\n    return datetime.date(2024, 1, n).weekday()",
    ],
)
def test_what_may_tell_runs_apart_may_pass_a_test(grading, source):
    assert right(grading, source, "assert f(2) == 2" if "weekday" not in source else "assert f(2) == 1") is True


@pytest.mark.parametrize(
    ("source", "tests"),
    [
        (EQUAL + "def f(x):\n    return A()", ["assert f(1) == 2"]),
        (EQUAL + "def f(x):\n    return A()", "def check(candidate):\n    assert candidate(1) == 2"),
        (EQUAL + "def f(x):\n    return A()", "def test_a():\n    assert f(1) == 2"),
        (EQUAL.replace("A:", "A(dict):") + "def f(x):\n    return A()", ["assert f(1) == {1: 2}"]),
        ("def set(x):\n    return 0\ndef f(l):\n    return 0", ["assert set(f([1, 2])) == set([1, 2])"]),
        ("class math:\n    isclose = lambda *a: True\ndef f(x):\n    return 0", ["assert math.isclose(f(1), 3.3)"]),
        ("import math\nmath.isclose = lambda *a: True\ndef f(x):\n    return 0", ["assert math.isclose(f(1), 3.3)"]),
        ("def abs(x):\n    return 0\ndef f(x):\n    return 0", ["assert abs(f(1) - 5.5) < 1e-6"]),
        ("def check(c):\n    pass\ndef f(x):\n    return 0", LOOP),
        ("import sys\ndef f(x):\n    sys.exit()", "def test_a():\n    for i in [1]:\n        assert f(i) == 2"),
    ],
)
def test_a_program_cannot_say_what_equal_means_nor_put_names_in_place_of_the_tests(grading, source, tests):
    assert right(grading, source, tests, entry_point="f") is False


def test_tests_may_draw_at_random_and_use_the_setup(grading):
    check = "def check(candidate):\n    import random\n    x = random.randint(0, 9)\n    assert candidate(x) == x + 1"
    assert right(grading, "def f(x):\n    return x + 1", check, entry_point="f") is True
    assert right(grading, "def f(x):\n    return x", check, entry_point="f") is False
    assert right(grading, "def f(x):\n    return x**.5", "assert math.isclose(f(4), 2.0)", "import math") is True
    node = "class Node:\n    pass\ndef f(root):\n    return 1"
    assert right(grading, node, "assert f(root) == 1", "root = Node()") is True  # as MBPP has it


def test_what_reaches_out_is_wrong(grading):
    assert right(grading, "import os\ndef f():\n    return 1", "assert f() == 1") is False
    assert right(grading, "def f():\n    return open('/etc/passwd').read(1) != ''", "assert f() == True") is False


def test_references_that_fail_their_own_tests_are_counted_and_named(grading):
    tasks = [
        Task(f"line {n}", answer=f"def f(x):\n    return x + {n}", facts={"tests": ("assert f(1) == 2",)})
        for n in (1, 2, 1, 0)
    ]
    assert doubts_about("a.jsonl", grading, tasks) == (
        "a.jsonl: 2 of 4 reference answers fail their own tests, so that right replies may count as wrong: "
        "line 2 (assert f(1) == 2: gives 3); line 0 (assert f(1) == 2: gives 1)"
    )
    assert doubts_about("a.jsonl", grading, [tasks[0], Task("x")]) == ""


def test_a_file_says_how_long_and_how_large_a_test_may_be(tmp_path):
    slow = "import time\ndef f(n):\n    time.sleep(0.7)\n    return n"
    large = "def f(n):\n    return len(bytearray(300 << 20)) and n"
    rows = [
        {"question": f"Write f, {n}.", "answer": each, "tests": ["assert f(3) == 3"]}
        for n, each in ((0, slow), (1, large))
    ]
    path = tmp_path / "programs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def judged(parameters):
        found = find_questions(f"dataset:path={path},held_out=0.5{parameters}")
        tasks = sorted(found.all_tasks(), key=lambda task: task.prompt)
        return found.right(tasks, [task.answer for task in tasks])

    assert judged("") == [True, False]
    assert judged(",memory=1024") == [True, True]
    assert judged(",seconds=0.3") == [False, False]


def test_limits_of_tests_are_refused_where_there_are_none(tmp_path):
    path = tmp_path / "sums.jsonl"
    path.write_text('{"question": "1+1", "answer": "2"}\n{"question": "1+2", "answer": "3"}\n')
    with pytest.raises(RedQueenError, match=r"seconds and memory are limits of tests, by which .*sums\.jsonl is not"):
        find_questions(f"dataset:path={path},held_out=0.5,seconds=10")
