"""Absolute Zero's tasks: what a proposer writes is run and refused for a reason, what a solver says is checked."""

from random import Random

import pytest

from redqueen.checks.sandbox import jail
from redqueen.checks.sandbox.literals import parse
from redqueen.checks.sandbox.runs_of_programs import Program
from redqueen.questions.expressions import expressions
from redqueen.questions.programs import _shipped, programs
from redqueen.questions.triplets import ABDUCTION, DEDUCTION, INDUCTION, KINDS
from redqueen.types import RedQueenError, Refusal, Task

WHY_NOT = jail.why_not()
needs_jail = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
pytestmark = pytest.mark.filterwarnings("ignore:programs that need the jail")


@pytest.fixture(scope="module")
def lines():
    domain = expressions()
    yield domain
    domain.runner.close()


@pytest.fixture(scope="module")
def blocks():
    if WHY_NOT:
        pytest.skip(WHY_NOT)
    domain = programs()
    yield domain
    domain.runner.close()


def read(domain, kind, *replies):
    invitation = domain.invite(kind, domain.seeds(), 0)
    return [
        each.reason if isinstance(each, Refusal) else each
        for each in domain.read([invitation] * len(replies), list(replies))
    ]


@pytest.mark.parametrize("domain", ["lines", "blocks"])
def test_everything_starts_from_the_identity_once_of_each_kind(domain, request):
    domain = request.getfixturevalue(domain)
    seeds = domain.seeds()
    assert [task.kind for task in seeds] == list(KINDS)
    assert domain.right(seeds, [task.answer for task in seeds]) == [True] * 3
    assert len({task.id for task in seeds}) == 3


def test_a_line_becomes_a_task_with_its_value(lines):
    (task,) = read(lines, DEDUCTION, "x*3+1 for x=4")
    assert (task.prompt, task.answer) == ("What is x*3+1 for x=4?", "13")
    (task,) = read(lines, ABDUCTION, "x*3+1 for x=4")
    assert (task.prompt, task.answer) == ("For which x is x*3+1 equal to 13?", "4")
    (task,) = read(lines, ABDUCTION, "x[::-1] for x='abc'")
    assert task.prompt == "For which x is x[::-1] equal to 'cba'?"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "malformed"),
        ("x*3", "malformed"),
        ("x for x=y", "malformed"),
        ("x for x=1+1", "malformed"),
        ("x for x=__import__('os')", "malformed"),
        ("x for x=1\nfor x=2", "malformed"),
        ("x+ for x=3", "exception"),
        ("x/0 for x=3", "exception"),
        pytest.param("y for x=3", "exception", marks=needs_jail),
        ("open('/etc/passwd').read() for x=3", "forbidden"),
        pytest.param("[i for i in {'a','b','c'}] for x=3", "nondeterministic", marks=needs_jail),
        ("x**9**9**9 for x=9", "memory"),
        ("(lambda: x) for x=3", "unsupported"),
    ],
)
def test_what_is_no_task_is_refused_for_a_reason(lines, reply, reason):
    assert read(lines, DEDUCTION, reply) == [reason]


def test_the_inputs_of_induction_are_four_different_ones(lines):
    (task,) = read(lines, INDUCTION, "1, 2, 3, 4")
    assert task.facts["pairs"] == [["(1,)", "1"], ["(2,)", "2"], ["(3,)", "3"], ["(4,)", "4"]]
    assert task.prompt == "Which expression of x is 1 for x=1 and 2 for x=2?"
    assert read(lines, INDUCTION, "1, 2, 3", "1, 2, 3, 3", "1, 2, 3, y", "1, 2, 3, 4, 5") == [
        "wrong number of inputs",
        "wrong number of inputs",
        "malformed",
        "wrong number of inputs",
    ]


def test_answers_are_checked_by_what_programs_do(lines):
    (deduction,) = read(lines, DEDUCTION, "x*x for x=3")
    assert lines.right([deduction] * 5, ["9", " 9 ", "9.0", "3*3", "True"]) == [True, True, False, False, False]
    (abduction,) = read(lines, ABDUCTION, "x*x for x=3")
    assert lines.right([abduction] * 4, ["3", "-3", "4", "3) or (3"]) == [True, True, False, False]
    (induction,) = read(lines, INDUCTION, "1, 2, 3, 4")
    answers = ["x", "x+0", "1 if x==1 else 2", "", "x\nx", "min(x, 4)"]
    assert lines.right([induction] * 6, answers) == [True, True, False, False, False, True]


def test_programs_without_a_jail_are_refused_at_the_start(monkeypatch):
    monkeypatch.setattr(jail, "why_not", lambda: "no walls here")
    with pytest.raises(RedQueenError, match="programs needs the jail, as expressions does not: no walls here"):
        programs()


def test_expressions_go_on_without_a_jail_and_a_warning_says_so_once(monkeypatch):
    domain = expressions()
    induction = domain.seeds()[2]
    monkeypatch.setattr(jail, "why_not", lambda: "no walls for expressions")
    with pytest.warns(UserWarning, match="count as wrong answers: no walls for expressions") as said:
        for _ in range(2):
            assert domain.right([induction] * 2, ["x", "x.strip(**{})"]) == [True, False]
            assert read(domain, DEDUCTION, "x.nothing for x=4", "x+1 for x=4")[0] == "unsupported"
    domain.runner.close()
    assert len(said) == 1


def test_an_expression_that_is_chance_is_wrong(lines):
    induction = lines.seeds()[2]
    assert lines.right([induction] * 2, ["x if id(x) else 0", "x"]) == [False, True]


def test_programs_for_induction_come_from_the_other_kinds(lines):
    assert lines.sources(INDUCTION) == (DEDUCTION, ABDUCTION)
    assert lines.sources(DEDUCTION) == (DEDUCTION,)


def test_problems_and_demonstrations_are_right_as_often_as_meant(lines):
    for kind in KINDS:
        problems = lines.problems(kind, 40, Random(kind))
        assert lines.right(problems, [task.answer for task in problems]) == [True] * 40
    shown = lines.demonstrations(1200, Random(0))
    proposed = [one for one in shown if one.role == "proposer"]
    written = lines.read([one.task for one in proposed], [one.text for one in proposed])
    assert sum(isinstance(each, Task) for each in written) / len(written) == pytest.approx(0.6, abs=0.05)
    solved = [one for one in shown if one.role == "solver" and one.task.kind == DEDUCTION]
    right = lines.right([one.task for one in solved], [one.text for one in solved])
    assert 0.02 < sum(right) / len(right) < 0.15


def test_to_copy_the_value_never_solves_a_dealt_abduction(lines):
    dealt = lines.problems(ABDUCTION, 300, Random(1))
    assert not any(lines.right(dealt, [task.facts["pairs"][0][1] for task in dealt]))


FUNCTION = "Here you are.\n```python\ndef f(a, b=1):\n    return sorted(a)[b]\n```\nAnd\n```input\n[3, 1, 2], 2\n```"


def test_fenced_blocks_become_a_task(blocks):
    (task,) = read(blocks, DEDUCTION, FUNCTION)
    assert task.answer == "3"
    assert task.prompt.endswith("What does f([3, 1, 2], 2) give?")
    (task,) = read(blocks, ABDUCTION, FUNCTION)
    assert blocks.right([task] * 3, ["[3], 0", "[3, 1, 2], 2", "[1, 2], 0"]) == [True, True, False]


def test_a_lone_function_of_another_name_is_called_f_and_its_calls_too(blocks):
    text = "```python\ndef fact(n):\n    return 1 if n < 2 else n * fact(n - 1)\n```\n```input\n5\n```"
    (task,) = read(blocks, DEDUCTION, text)
    assert task.answer == "120"


@pytest.mark.parametrize(
    ("source", "given", "answer"),
    [
        ("def count(s, x): return s.count(x)", "'abca', 'a'", "2"),
        ("def deep(x): return 1 + max(map(deep, x), default=0) if isinstance(x, list) else 0", "[[1], [[2]]]", "3"),
        ("def letters(x): return set(x)", "'abb'", "{'a', 'b'}"),
        ("def g(g): return g + 1  # the end", "1", "2"),
        ("def g(x): return 'g (x)'", "1", "'g (x)'"),
    ],
)
def test_a_lone_function_keeps_its_text(blocks, source, given, answer):
    (task,) = read(blocks, DEDUCTION, f"```python\n{source}\n```\n```input\n{given}\n```")
    assert task.answer == answer
    assert task.facts["source"].startswith(source)


def test_an_input_is_shown_and_kept_as_it_is_run(blocks):
    """A dict in its order, a zero with its sign: both tiers and the solver see the same."""
    for head in ("", "class A: pass\n"):  # Monty's, and the jail's
        keys = f"```python\n{head}def f(d):\n    return list(d)\n```\n```input\n{{'b': 1, 'a': 2}}\n```"
        (task,) = read(blocks, DEDUCTION, keys)
        assert task.prompt.endswith("What does f({'b': 1, 'a': 2}) give?")
        assert (task.answer, task.facts["pairs"]) == ("['b', 'a']", [["({'b': 1, 'a': 2},)", "['b', 'a']"]])
        assert blocks.right([task] * 2, ["['b', 'a']", "['a', 'b']"]) == [True, False]
        (task,) = read(blocks, ABDUCTION, keys)
        assert blocks.right([task] * 3, [task.answer, "{'b': 0, 'a': 0}", "{'a': 0, 'b': 0}"]) == [True, True, False]
        (task,) = read(blocks, DEDUCTION, f"```python\n{head}def f(x): return str(x)\n```\n```input\n-0.0\n```")
        assert task.prompt.endswith("f(-0.0) give?") and task.answer == "'-0.0'"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("def f(x): return x", "malformed"),
        ("```python\ndef f(x): return x\n```", "malformed"),
        ("```python\nf = 3\n```\n```input\n1\n```", "no function f"),
        ("```python\ndef g(x): return x\ndef h(x): return x\n```\n```input\n1\n```", "no function f"),
        ("```python\ndef f(x): return x\n```\n```input\nx\n```", "malformed"),
        ("```python\nimport random\ndef f(x): return random.random()\n```\n```input\n1\n```", "forbidden"),
        ("```python\ndef f(x):\n    while True: pass\n```\n```input\n1\n```", "timeout"),
    ],
)
def test_what_is_no_program_is_refused_for_a_reason(blocks, reply, reason):
    assert read(blocks, DEDUCTION, reply) == [reason]


def test_half_of_the_examples_are_hidden_and_all_are_checked(blocks):
    inputs = "\n".join(str(n) for n in range(10))
    (task,) = read(blocks, INDUCTION, f"```input\n{inputs}\n```\n```message\nIt gives back\nwhat it gets.\n```")
    assert task.prompt.count("gives") == 6 and "It gives back what it gets." in task.prompt
    wrong = "```python\ndef f(a):\n    return a if a < 5 else 0\n```"
    right = "```python\ndef f(a):\n    return a\n```"
    assert blocks.right([task, task, task], [wrong, right, "def f(a): return a"]) == [False, True, True]


def test_the_shipped_programs_give_what_is_written_beside_them(blocks):
    asked = [(Program(source, "f", parse(x)), output) for source, pairs in _shipped() for x, output in pairs]
    verdicts = blocks.runner.certified([program for program, _ in asked])
    assert [verdict.value for verdict in verdicts] == [output for _, output in asked]
    assert len(asked) >= 100


def test_the_shipped_programs_are_many_and_different():
    assert len({source for source, _ in _shipped()}) == len(_shipped()) >= 60
    assert all(len({x for x, _ in pairs}) == 6 for _, pairs in _shipped())
