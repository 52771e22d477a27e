"""Answers to the three tasks of Absolute Zero (Zhao et al., 2025, arXiv:2505.03335), checked many at once.

    deduction    a program and its arguments are given, the output is asked
    abduction    a program and an output are given, arguments are asked that lead there: any will do
    induction    pairs of arguments and outputs are given, a program is asked that reproduces others that are hidden

Equal means the same literal: `True` is not `1`, `[1]` is not `(1,)`. An answer is text and is read as literals, never
evaluated and never pasted into a program, so a name, a call, an operator or an unbalanced bracket is a wrong answer.

A program whose value could differ another time, by chance, a clock or an address, is a wrong answer.

A check is True or False, or None (unknown) if an answer runs only in the jail and this machine has none.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from redqueen.checks.sandbox.literals import LONGEST, NotPlain, literal, parse, quiet
from redqueen.checks.sandbox.runner import PythonRunner
from redqueen.checks.sandbox.runs_of_programs import Kind, Program, Verdict
from redqueen.types import RedQueenError


@dataclass(frozen=True)
class Pair:
    """Arguments and the literal of the value that they lead to."""

    arguments: tuple[Any, ...]
    output: str


def same_output(truths: Sequence[Verdict], answers: Sequence[str]) -> list[bool]:
    """Deduction: whether each answer is the value of its program. Runs nothing. Raises RedQueenError for a program
    that has no value, as there is nothing to deduce."""
    for truth in truths:
        if truth.kind is not Kind.VALUE:
            raise RedQueenError(f"a deduction task needs a program with a value, and this one ended in {truth.kind}")
    return [_normal(answer) == truth.value for truth, answer in zip(truths, answers, strict=True)]


def reaches_output(
    runner: PythonRunner, programs: Sequence[Program], outputs: Sequence[str], answers: Sequence[str]
) -> list[bool | None]:
    """Abduction: whether each program gives its output (a literal) for the arguments of its answer. A program's own
    arguments are not looked at."""
    claims = [_claim(program, answer) for program, answer in zip(programs, answers, strict=True)]
    verdicts = iter(runner.reproducible([claim for claim in claims if claim is not None]))
    found = [None if claim is None else next(verdicts) for claim in claims]
    wanted = [_output(output) for output in outputs]
    return [False if v is None else _is(runner, v, output) for v, output in zip(found, wanted, strict=True)]


def reproduces(runner: PythonRunner, answers: Sequence[Program], hidden: Sequence[Sequence[Pair]]) -> list[bool | None]:
    """Induction: whether each program gives the output of all its hidden pairs. Its own arguments are not looked at.
    Raises RedQueenError for a task that hides nothing."""
    if not all(hidden):
        raise RedQueenError("an induction task needs a hidden pair or more to check an answer with")
    tries = [(answer, pair) for answer, pairs in zip(answers, hidden, strict=True) for pair in pairs]
    verdicts = runner.reproducible([replace(answer, arguments=pair.arguments) for answer, pair in tries])
    checks = iter([_is(runner, v, _output(pair.output)) for v, (_, pair) in zip(verdicts, tries, strict=True)])
    return [_all([next(checks) for _ in pairs]) for pairs in hidden]


def arguments(text: str) -> tuple[Any, ...]:
    """The arguments in a text such as `[1, 2], "a"`. Raises NotPlain for anything but literals between commas."""
    text = text.strip().removesuffix(",")
    if len(text) > LONGEST:
        raise NotPlain(f"literals of more than {LONGEST} characters")
    try:
        with quiet():
            ast.parse(text, mode="eval")  # alone, so that no bracket of it pairs with the one added
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise NotPlain(f"{text[:40]!r} are no plain literals") from error
    with quiet():
        found = parse(f"({text}\n,)")
    assert type(found) is tuple, "a comma makes a tuple"
    return found


def _claim(program: Program, answer: str) -> Program | None:
    try:
        return replace(program, arguments=arguments(answer))
    except NotPlain:
        return None


def _normal(answer: str) -> str:
    """The literal of an answer; "", which is none, for what cannot be read."""
    try:
        with quiet():
            return literal(parse(answer))
    except NotPlain:
        return ""


def _output(text: str) -> str:
    """The literal of a task's output. Raises RedQueenError where it is none: then the task is wrong, not the answer."""
    normal = _normal(text)
    if not normal:
        raise RedQueenError(f"the output of a task is a plain literal, not {text[:40]!r}")
    return normal


def _is(runner: PythonRunner, verdict: Verdict, output: str) -> bool | None:
    if verdict.kind is Kind.UNSUPPORTED and runner.missing:
        return None
    return verdict.value == output  # which only a value has


def _all(checks: list[bool | None]) -> bool | None:
    if False in checks:
        return False
    return None if None in checks else True
