"""Unit tests and calls of a repository, each in a jailed process of its own.

Tests are functions `test_*` at the top of files `test_*.py`, without parameters and decorators; each is run alone, by
`inside`. They may use `pytest.raises` and `pytest.fail`. A test that returns before its last line has not passed.

What a pass is worth: the code cannot pass by leaving early, by putting other functions, builtins or a `pytest` in the
place of the test's, or by printing. But it shares the process, and Python has no walls: code that returns objects
equal to everything, changes a module that the test imports, or walks frames up to the token, passes what it should
not. A `Case` cannot be forged: neither the expected value nor the tests' files enter the process.
"""

from __future__ import annotations

import ast
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from redqueen.checks.repository.edits import Repository, is_test_file
from redqueen.checks.sandbox.literals import NotPlain, literal, quiet
from redqueen.checks.sandbox.runs_of_programs import Kind, Program, Tier, Verdict
from redqueen.types import RedQueenError

Results = Mapping[str, Verdict]  # test -> how it ended

PASSED = "None"  # the value of a test that passed
ABSENT = Verdict(Kind.EXCEPTION, detail="LookupError", message="there is no such test")


@dataclass(frozen=True)
class Found:
    """The tests of a repository."""

    tests: tuple[str, ...]  # such as "tests/test_core.py::test_adds"
    refused: Mapping[str, str]  # what looks like a test and is not run: why


@dataclass(frozen=True)
class Case:
    """A call of a repository's function, and the value that it must return."""

    call: str  # module and function, such as "pkg.core:add" or "pkg.core:Stack.size"
    arguments: tuple[Any, ...]
    expected: Any  # plain data, as the arguments

    def __post_init__(self) -> None:
        names = self.call.replace(":", ".").split(".")
        if self.call.count(":") != 1 or not all(name.isidentifier() for name in names):
            raise RedQueenError(f"a case calls a function such as 'pkg.core:add', not {self.call!r}")
        try:
            literal((self.arguments, self.expected))
        except NotPlain as error:
            raise RedQueenError(
                f"a case of {self.call} has arguments and a value that are plain data: {error}"
            ) from error


def discover(repository: Repository) -> Found:
    """The tests of a repository, file by file, and the refused ones with reasons."""
    tests: list[str] = []
    refused: dict[str, str] = {}
    for path, text in sorted(repository.files.items()):
        name = path.rpartition("/")[2]
        if name.startswith("test_") and name.endswith(".py"):
            for function, reason in _functions(text):
                test = f"{path}::{function}" if function else path
                if reason:
                    refused[test] = reason
                else:
                    tests.append(test)
    return Found(tuple(tests), refused)


def run_tests(
    tier: Tier, repositories: Sequence[Repository], tests: Sequence[Sequence[str]], hash_seed: int = 0
) -> list[dict[str, Verdict]]:
    """How the tests of each repository ended. VALUE is a pass, EXCEPTION with the detail AssertionError a failure, and
    every other verdict no pass either; a test that the repository lacks ends in ABSENT, so deleting none helps.
    `tier` is a `Jail`, or a runner that has one. Raises RedQueenError where it cannot run repositories."""
    jobs: list[tuple[dict[str, Verdict], str, str]] = []
    programs = []
    results: list[dict[str, Verdict]] = []
    for repository, names in zip(repositories, tests, strict=True):
        ended = dict.fromkeys(names, ABSENT)
        results.append(ended)
        for test in sorted(ended.keys() & set(discover(repository).tests)):
            token = secrets.token_hex(16)
            jobs.append((ended, test, token))
            programs.append(_test_program(repository, test, token))
    for (ended, test, token), verdict in zip(jobs, _run(tier, programs, hash_seed), strict=True):
        ended[test] = _told(verdict, token)
    return results


def run_cases(
    tier: Tier, repositories: Sequence[Repository], cases: Sequence[Sequence[Case]], hash_seed: int = 0
) -> list[list[bool]]:
    """Whether each call returns what it should, the same literal, for each repository. Raises as `run_tests` does."""
    jobs = [(repository, case) for repository, mine in zip(repositories, cases, strict=True) for case in mine]
    verdicts = iter(_run(tier, [_case_program(repository, case) for repository, case in jobs], hash_seed))
    return [[next(verdicts).value == literal(case.expected) for case in mine] for mine in cases]


def passed(results: Results) -> set[str]:
    """The tests that passed."""
    return {test for test, verdict in results.items() if verdict.kind is Kind.VALUE}


def _told(verdict: Verdict, token: str) -> Verdict:
    """The verdict on a test from the one on its program."""
    if verdict.kind is not Kind.VALUE:
        return verdict
    if verdict.value == literal(token):
        return Verdict(Kind.VALUE, PASSED, verdict.printed)
    return Verdict(
        Kind.EXCEPTION, printed=verdict.printed, detail="EarlyReturn", message="it left before its last line"
    )


def _run(tier: Tier, programs: list[Program], hash_seed: int) -> list[Verdict]:
    verdicts = tier.run(programs, hash_seed) if programs else []
    if any(verdict.kind is Kind.UNSUPPORTED for verdict in verdicts):  # the code may claim that, or the tier mean it
        nothing = Program(_text("inside.py"), "call", ({"a.py": "def b(): return 1"}, "", "a", "b", ()))
        (probe,) = tier.run([nothing], hash_seed)
        if probe.value != "1":
            raise RedQueenError(f"repositories run in a Jail, and this tier has none: {probe.detail or probe.kind}")
    return verdicts


def _test_program(repository: Repository, test: str, token: str) -> Program:
    path, _, name = test.partition("::")
    sent = (dict(repository.files), _text("pytest_stand_in.py"), path, name, token)
    return Program(_text("inside.py"), "test", sent)


def _case_program(repository: Repository, case: Case) -> Program:
    """Without the files of the tests, in which the expected value may stand."""
    code = {path: text for path, text in repository.files.items() if not is_test_file(path)}
    module, _, name = case.call.partition(":")
    return Program(_text("inside.py"), "call", (code, _text("pytest_stand_in.py"), module, name, case.arguments))


@cache
def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


@lru_cache(maxsize=1024)
def _functions(text: str) -> tuple[tuple[str, str], ...]:
    """The names that look like tests at the top of a file, each with why it is refused, or ""; a file that does not
    parse has one without a name."""
    try:
        with quiet():
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return (("", f"it does not parse: {type(error).__name__}"),)
    found: dict[str, str] = {}
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) if name.startswith("test_"):
                found[name] = _unfit(node)
            case ast.AsyncFunctionDef(name=name) if name.startswith("test_"):
                found[name] = "it is async"
            case ast.ClassDef(name=name) if name.startswith("Test"):
                found[name] = "it is a class"
    return tuple(found.items())


def _unfit(function: ast.FunctionDef) -> str:
    if function.decorator_list:
        return "it is decorated"
    if any(ast.iter_child_nodes(function.args)):
        return "it has parameters"
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function)):
        return "it yields"
    return ""
