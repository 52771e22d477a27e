"""What a library may evaluate of a model's words: numbers, names, arithmetic, and the functions of algebra."""

from __future__ import annotations

import builtins

import pytest

from redqueen.checks.calculation import check_calculation, guarded_eval


@pytest.mark.parametrize(
    "text", ["f()", "open(1)", "x.real", "[a for a in b]", "(lambda: 1)()", "f'{x}'", "a[0]", "exec(chr(1))"]
)
def test_more_than_a_calculation_is_refused(text):
    with pytest.raises(ValueError, match="more than"):
        check_calculation(text)


def test_calculations_pass():
    for text in ("Integer (2 )*Symbol ('x' )**3 -sqrt (Integer (2 ))", "[[1, 'a'], (2,)]", "-1 + 2*3"):
        check_calculation(text)


def test_within_the_guard_sympy_calculates_and_does_not_run():
    parse_expr = pytest.importorskip("sympy.parsing.sympy_parser").parse_expr
    with guarded_eval():
        assert parse_expr("2*3 + sqrt(16) + 3!") == 16
        for text in ("exit()", "open(chr(47))", "print(1)", "(1).__class__"):
            with pytest.raises(ValueError, match="more than"):
                parse_expr(text)


def test_the_guard_covers_its_callers_only_and_is_taken_away():
    plain = builtins.eval
    theirs = {"__name__": "reasoning_gym.games.x"}
    with guarded_eval():
        assert eval("len([1, 2])") == 2
        exec("value = eval('[1, 2 * 3]')", theirs)
        with pytest.raises(ValueError, match="more than"):
            exec("eval('__import__(\\'os\\')')", theirs)
        with pytest.raises(NameError):
            exec("eval('open')", theirs)
    assert theirs["value"] == [1, 6]
    assert builtins.eval is plain
