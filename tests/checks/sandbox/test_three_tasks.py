"""Answers to deduction, abduction and induction: right ones, wrong ones, and those that try to be evaluated."""

import pytest

from redqueen.checks.sandbox import jail
from redqueen.checks.sandbox.literals import NotPlain
from redqueen.checks.sandbox.runner import PythonRunner
from redqueen.checks.sandbox.runs_of_programs import Kind, Limits, Program, Verdict
from redqueen.checks.sandbox.three_tasks import Pair, arguments, reaches_output, reproduces, same_output
from redqueen.types import RedQueenError

TRICKS = [
    "1) or (True",
    "5) == 5 or f(1",
    "(y := 25)",
    "x",
    "f(5)",
    "lambda: 25",
    "f'{25}'",
    "__import__('os').getpid()",
    "5 if True else 1",
    "[5 for _ in '1'][0]",
    "5, **{}",
    "*[5]",
    "x=5",
    "5)\nprint(1",
    "5; 1",
    "nan",
    "...",
    "",
    "a" * 5000,
]
SQUARE = Program("def f(x): return x * x", "f")


@pytest.fixture(scope="module")
def running():
    with PythonRunner(Limits(seconds=0.5)) as made:
        yield made


def truth(literal):
    return Verdict(Kind.VALUE, literal)


@pytest.mark.parametrize(
    ("value", "answer", "right"),
    [
        ("25", "25", True),
        ("25", "  25\n", True),
        ("25", "0x19", True),
        ("25", "25.0", False),
        ("2.0", "2", False),
        ("True", "1", False),
        ("1", "True", False),
        ("[1, 2]", "[1,2]", True),
        ("[1, 2]", "(1, 2)", False),
        ("{'a', 'b'}", "{'b', 'a'}", True),
        ("{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}", True),
        ("'a'", '"a"', True),
        ("'1'", "1", False),
        ("0.0", "-0.0", True),
        ("None", "None", True),
    ],
)
def test_an_output_is_right_when_it_is_the_same_literal(value, answer, right):
    assert same_output([truth(value)], [answer]) == [right]


@pytest.mark.parametrize("trick", TRICKS, ids=ascii)
def test_an_output_that_is_no_literal_is_wrong(trick):
    assert same_output([truth("25"), truth("25")], [trick, "25"]) == [False, True]


def test_odd_escapes_in_an_answer_are_read_without_a_warning():
    assert same_output([truth(r"'\\d'")], [r"'\d'"]) == [True]


def test_there_is_nothing_to_deduce_from_a_program_without_a_value():
    with pytest.raises(RedQueenError, match="ended in timeout"):
        same_output([Verdict(Kind.TIMEOUT)], ["1"])


def test_any_arguments_that_lead_to_the_output_will_do(running):
    answers = ["5", "-5", " 5 ,", "5.0", "4", "'5'", "5, 5", "[5]"]
    checks = reaches_output(running, [SQUARE] * 8, ["25"] * 8, answers)
    assert checks == [True, True, True, False, False, False, False, False]


@pytest.mark.parametrize("trick", TRICKS, ids=ascii)
def test_arguments_that_are_no_literals_are_wrong_and_never_run(trick):
    class Untouched:
        def run(self, programs, hash_seed=0):
            assert programs == []
            return []

        def close(self): ...

    assert reaches_output(PythonRunner(tiers=[Untouched()]), [SQUARE], ["25"], [trick]) == [False]


def test_arguments_are_literals_between_commas():
    assert arguments("1, [2, 3], 'a'") == (1, [2, 3], "a")
    assert arguments("(1, 2)") == ((1, 2),)
    assert arguments("(1), (2)") == (1, 2)
    assert arguments("'a, b)'  # so") == ("a, b)",)
    assert arguments("1,") == (1,)
    for wrong in ("1), (2", "1,,2", ",", "1 2", "(1", "1\n2"):
        with pytest.raises(NotPlain):
            arguments(wrong)


def test_an_answer_that_ends_in_no_value_is_wrong(running):
    loop = Program("def f(x):\n    while x: pass\n    return 25", "f")
    crash = Program("def f(x): return 25 // x", "f")
    assert reaches_output(running, [loop, loop, crash], ["25"] * 3, ["1", "0", "0"]) == [False, True, False]


def test_a_program_reproduces_all_of_its_hidden_pairs_or_is_wrong(running):
    pairs = [Pair((2,), "4"), Pair((3,), "9")]
    answers = [
        "def f(x): return x * x",
        "def f(x): return x + 2",
        "def f(x): return x ** 2.0",
        "def g(x): return x * x",
    ]
    answers += ["def f(x: return", "class Yes(int):\n    def __eq__(self, other): return True\ndef f(x): return Yes()"]
    checks = reproduces(running, [Program(answer, "f") for answer in answers], [pairs] * 6)
    assert checks[:5] == [True, False, False, False, False]
    assert not checks[5]


CHANCE = [
    "import random\ndef f(x): return random.choice([x, x])",
    "import time\ndef f(x): return x if time.time() else 0",
    "def f(x): return x if id(x) else 0",
    "def f(x): return x if hash('a') else 0",
    "class A: pass\ndef f(x): return x if int(str(A())[-2], 16) < 16 else 0",
]


@pytest.mark.parametrize("source", CHANCE)
@pytest.mark.skipif(bool(jail.why_not()), reason="nobody can tell without a jail")
def test_a_program_that_could_give_another_value_is_wrong(running, source):
    assert reproduces(running, [Program(source, "f")], [[Pair((1,), "1"), Pair((2,), "2")]]) == [False]
    assert reaches_output(running, [Program(source, "f")], ["1"], ["1"]) == [False]


def test_pairs_of_many_lengths_are_kept_apart(running):
    tasks = [[Pair((1,), "2")], [Pair((1,), "2"), Pair((5,), "7")], [Pair((1,), "2"), Pair((5,), "6"), Pair((0,), "1")]]
    assert reproduces(running, [Program("def f(x): return x + 1", "f")] * 3, tasks) == [True, False, True]


def test_mistakes_in_a_task_are_not_wrong_answers(running):
    with pytest.raises(RedQueenError, match="hidden pair"):
        reproduces(running, [SQUARE], [[]])
    with pytest.raises(RedQueenError, match="plain literal, not 'x'"):
        reaches_output(running, [SQUARE], ["x"], ["1"])
    with pytest.raises(RedQueenError, match="plain literal"):
        reproduces(running, [SQUARE], [[Pair((1,), "len")]])


def test_what_needs_a_jail_where_there_is_none_is_not_judged(monkeypatch):
    monkeypatch.setattr(jail, "why_not", lambda: "no walls here")
    source = "import heapq\ndef f(x):\n    return heapq.nlargest(1, x)"
    with PythonRunner(Limits(seconds=0.5)) as alone:
        assert reaches_output(alone, [Program(source, "f")] * 2, ["[1]"] * 2, ["[1]", "len"]) == [None, False]
        pairs = [Pair(([1],), "[1]")]
        assert reproduces(alone, [Program(source, "f"), SQUARE], [pairs, [Pair((2,), "4")]]) == [None, True]
