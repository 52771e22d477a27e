"""Whether a program passes the tests of its task, which are run in the sandbox.

A test `assert f(2) == 4` compares what f gives outside of the program, by the content of the value
(`sandbox.contents`), so that no class of the program can say what equal means. Any other test runs in a module of its
own next to the program, with the genuine builtins and modules; of the program it has the names that it reads.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from redqueen.checks.sandbox.contents import content
from redqueen.checks.sandbox.literals import literal, quiet
from redqueen.checks.sandbox.runner import PythonRunner
from redqueen.checks.sandbox.runs_of_programs import Kind as Ended
from redqueen.checks.sandbox.runs_of_programs import Limits, Program, Verdict
from redqueen.questions.replied_programs import program_in, read_names
from redqueen.texts import said_aloud
from redqueen.types import Task

ASSERTS = "tests"  # a fact of a task
SETUP = "setup"  # a fact: what stands before a program that is tested
LIMITS = Limits(seconds=3.0, memory=256 << 20, recursion=1000, output=1 << 16)


@dataclass(frozen=True)
class Tested:
    """How a program did on one test: None where that is unknown, and why it did not pass."""

    right: bool | None
    reason: str = ""


def tested_within(limits: Limits = LIMITS) -> PythonRunner:
    """The sandbox for programs that are tested."""
    return PythonRunner(limits, loose=True)


@dataclass(frozen=True)
class ByTests:
    """By the tests of the task, run in the sandbox on the program in the reply. Unknown where a program needs a jail
    that this machine has not."""

    runner: PythonRunner = field(default_factory=tested_within, repr=False, compare=False)

    def answers(self, tasks: Sequence[Task], replies: Sequence[str]) -> list[str]:
        return [
            program_in(said_aloud(each), task.prompt, _tested_names(task.facts.get(ASSERTS, ())))
            for task, each in zip(tasks, replies, strict=True)
        ]

    def verdicts(self, tasks: Sequence[Task], replies: Sequence[str]) -> list[bool | None]:
        return [each.right for each in self.tested(tasks, replies)]

    def tested(self, tasks: Sequence[Task], replies: Sequence[str]) -> list[Tested]:
        """The verdict on each reply, with the first test that was not passed and what came of it."""
        sources = self.answers(tasks, replies)
        calls = [
            (place, test, *_call(task.facts.get(SETUP, ""), source, test))
            for place, (task, source) in enumerate(zip(tasks, sources, strict=True))
            for test in task.facts.get(ASSERTS, ())
            if source
        ]
        ended = self.runner.run([program for _, _, program, _ in calls])
        found: list[list[Tested]] = [[] for _ in tasks]
        for (place, test, _, wanted), verdict in zip(calls, ended, strict=True):
            found[place].append(self._one(test, wanted, verdict))
        return [
            _all(each) if source or not task.facts.get(ASSERTS) else Tested(False, "it holds no program")
            for task, source, each in zip(tasks, sources, found, strict=True)
        ]

    def _one(self, test: str, wanted: Any, verdict: Verdict) -> Tested:
        if verdict.kind is Ended.UNSUPPORTED and self.runner.missing:
            return Tested(None, "it needs the jail")
        if verdict.kind is Ended.VALUE and _equal(verdict.value, wanted):
            return Tested(True)
        came = f"gives {verdict.value}" if verdict.kind is Ended.VALUE else f"{verdict.kind} {verdict.detail}"
        if verdict.kind is Ended.EXCEPTION:
            came = f"raises {verdict.detail}{f': {verdict.message}' if verdict.message else ''}"
        return Tested(False, f"{' '.join(test.split())[:60]}: {' '.join(came.split())[:80]}")


def _tested_names(tests: Sequence[str]) -> set[str]:
    """The names that tests read."""
    return {name for test in tests for name in read_names(test)}


def _call(setup: str, source: str, test: str) -> tuple[Program, Any]:
    """The program that a test runs, and the value that it should have."""
    with suppress(SyntaxError, ValueError, TypeError, MemoryError, RecursionError), quiet():
        node, *others = ast.parse(test).body
        if not others and (read := literal_call(node)):
            name, arguments, wanted = read
            if len(content(wanted)) <= LIMITS.output and literal(arguments, 1 << 16, ordered=True):
                return Program(f"{setup}\n\n{source}" if setup else source, name, arguments), wanted
    return Program(source, test=test, setup=setup), True


def literal_call(node: ast.stmt) -> tuple[str, tuple[Any, ...], Any] | None:
    """The function, its arguments and the expected value of a test `assert f(2) == 4`; None for any other."""
    match node:
        case ast.Assert(
            test=ast.Compare(
                left=ast.Call(func=ast.Name(id=name), args=given, keywords=[]), ops=[ast.Eq()], comparators=[wanted]
            )
        ):
            with suppress(ValueError, TypeError, MemoryError, RecursionError):
                return name, tuple(ast.literal_eval(each) for each in given), ast.literal_eval(wanted)
    return None


def _equal(text: str, wanted: Any) -> bool:
    try:
        with quiet():
            return bool(ast.literal_eval(text) == wanted)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return False


def _all(tested: Sequence[Tested]) -> Tested:
    """The verdict of all tests: of the first that was failed, else of the first that is unknown."""
    for right in (False, None):
        if found := next((each for each in tested if each.right is right), None):
            return found
    return Tested(True if tested else None)
