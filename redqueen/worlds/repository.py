"""Functions of a small real package, each with one planted fault, which its own tests are to find passing again.

    itertoolz.py                                             edit 4: if n < 0:
    1 def nth(n, seq):                                       edit 4: if n != 0:
    2     fails: test_nth                                          done

The package is toolz (BSD), read from where it is installed and not imported. A fault is one change of a comparison, an
`and`, a sign of arithmetic or a number, such that a test fails; all changes of the same kinds are listed, the right one
among them. Tests run in the jail. What an agent may run are some of the tests of the function, the oracle are all.
"""

from __future__ import annotations

import ast
import re
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any

from redqueen.chance import derive
from redqueen.checks.repository.edits import Repository
from redqueen.checks.repository.unit_tests import discover, passed, run_tests
from redqueen.checks.sandbox.jail import Jail, why_not
from redqueen.games.talk import titled
from redqueen.protocols import Tool
from redqueen.types import Assessment, Observation, RedQueenError, Task

PACKAGE, MODULES, SHARED = "toolz", ("itertoolz", "dicttoolz"), ("utils", "compatibility")
SWAPS = (
    *(("<=", "<"), (">=", ">"), ("==", "!="), ("+", "-"), ("and", "or"), ("is", "is not"), ("in", "not in")),
    *(("if", "if not"), ("True", "False"), ("append", "extend")),
)
LONGEST = 30  # lines of a function
MOST = 16  # changes that are listed
HELD = 4  # every fourth function is held out
DONE = "done"
EDIT = re.compile(r"edit (\d{1,3}): ?(.*)")
# what the tests of the package need pickle for, which no jailed program may import, written as what it comes to
UNPICKLED = (("from pickle import dumps, loads", ""), ("loads(dumps('__no__default__'))", "'__no__default__'"))


@dataclass(frozen=True)
class Function:
    """A function of the package, the places of its lines in the module without its docstring, and its tests."""

    module: str
    name: str
    places: tuple[int, ...]
    tests: tuple[str, ...]

    @property
    def shown(self) -> tuple[str, ...]:
        """The tests that an agent is told the results of; the oracle are all."""
        return self.tests[: (len(self.tests) + 1) // 2]


@dataclass(frozen=True)
class Sources:
    """The files of the package that are read, by their names."""

    code: Mapping[str, str]
    tests: Mapping[str, str]

    def functions(self) -> list[Function]:
        """Those that are short and have a test of their own."""
        found = list[Function]()
        for module, text in self.code.items():
            named = _tests_of(self.tests[module]) if module in self.tests else {}
            for node in ast.parse(text).body:
                if isinstance(node, ast.FunctionDef) and (tests := named.get(node.name)):
                    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                    if (
                        body
                        and len(places := (*range(node.lineno - 1, node.body[0].lineno - 1), *_lines(body))) <= LONGEST
                    ):
                        found.append(Function(module, node.name, places, tuple(tests)))
        return found

    def lines(self, function: Function) -> tuple[str, ...]:
        """The code of a function."""
        text = self.code[function.module].split("\n")
        return tuple(text[place] for place in function.places)

    def with_lines(self, function: Function, lines: Sequence[str]) -> Repository:
        """The package with other lines in a function, and with the tests of that function alone."""
        text = self.code[function.module].split("\n")
        for place, line in zip(function.places, lines, strict=True):
            text[place] = line
        files = {f"{PACKAGE}/{name}.py": code for name, code in self.code.items()}
        tests = _only(self.tests[function.module], function.tests)
        return Repository(
            {
                **files,
                f"{PACKAGE}/__init__.py": "",
                f"{PACKAGE}/{function.module}.py": "\n".join(text),
                _path(function): tests,
            }
        )


def sources() -> Sources:
    """Raises RedQueenError where the package is not installed."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise RedQueenError("repository needs a package to repair: pip install 'redqueen[repository]'")
    root = Path(found.origin).parent
    code = {name: (root / f"{name}.py").read_text(encoding="utf-8") for name in (*MODULES, *SHARED)}
    tests = {name: (root / "tests" / f"test_{name}.py").read_text(encoding="utf-8") for name in MODULES}
    for old, new in UNPICKLED:
        tests = {name: text.replace(old, new) for name, text in tests.items()}
    return Sources(code, tests)


def _path(function: Function) -> str:
    return f"{PACKAGE}/tests/test_{function.module}.py"


def _lines(body: Sequence[ast.stmt]) -> range:
    return range(body[0].lineno - 1, body[-1].end_lineno or 0)


def _tests_of(text: str) -> dict[str, list[str]]:
    """The test functions of each function: those of its name, `test_nth` and `test_nth_of_none` for `nth`."""
    found = dict[str, list[str]]()
    names = [test.partition("::")[2] for test in discover(Repository({"test_it.py": text})).tests]
    for name in names:
        words = name.removeprefix("test_").split("_")
        for count in range(len(words), 0, -1):
            found.setdefault("_".join(words[:count]), []).append(name)
    return found


def _only(text: str, tests: Sequence[str]) -> str:
    """A file of tests without those that are not named."""
    lines = text.split("\n")
    for node in ast.parse(text).body:
        if (
            isinstance(node, ast.FunctionDef | ast.ClassDef)
            and node.name.lower().startswith("test")
            and node.name not in tests
        ):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1
            lines[first : node.end_lineno] = [""] * ((node.end_lineno or 0) - first)
    return "\n".join(lines)


def changes(line: str) -> Iterator[str]:
    """The line with one change of the kinds of faults, each once, in the order of its text."""
    indent, code = line[: len(line) - len(line.lstrip())], line.strip()
    found = list[tuple[int, str]]()
    for one, other in SWAPS:
        for old, new in ((one, other), (other, one)):
            if old[0] in "<>=!+-":
                words = rf"(?<![\w<>=!+*/.-]){re.escape(old)}(?![\w<>=!+-])"
            else:  # "is" is no part of "is not"
                words = rf"(?<!not )\b{old}\b(?! not\b)"
            found += [(at.start(), code[: at.start()] + new + code[at.end() :]) for at in re.finditer(words, code)]
    for at in re.finditer(r"(?<![\w.'\"])\d+(?![\w.'\"])", code):
        found += [(at.start(), f"{code[: at.start()]}{int(at[0]) + step}{code[at.end() :]}") for step in (1, -1)]
    for _, text in sorted(found):
        if text != code and _parses(text):
            yield indent + text


def _parses(code: str) -> bool:
    """Whether a line of code is one, alone or with a body."""
    for whole in (code, f"{code}\n    pass", f"if 1:\n    pass\n{code}\n    pass", f"while 1:\n    {code}"):
        try:
            ast.parse(whole)
        except SyntaxError:
            continue
        return True
    return False


@dataclass(frozen=True)
class Workshop:
    """`count` faults to repair and `tests` held out, in functions of their own. `listed` lists the changes; without it
    an edit is free text."""

    count: int = 64
    tests: int = 16
    listed: bool = True
    repeatable = True

    def __post_init__(self) -> None:
        if min(self.count, self.tests) < 1:
            raise RedQueenError("repository needs a fault to train on and one to hold out")
        sources()
        if reason := why_not():
            raise RedQueenError(f"repository runs tests in the jail: {reason}")

    @property
    def name(self) -> str:
        return titled("repository", self)

    def tasks(self) -> Sequence[Task]:
        return self._dealt[0]

    def held_out(self) -> Sequence[Task]:
        return self._dealt[1]

    @cached_property
    def bench(self) -> Bench:
        return Bench(sources())

    @cached_property
    def _dealt(self) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
        functions = self.bench.sources.functions()
        held = [each for number, each in enumerate(functions) if number % HELD == 0]
        trained = [each for number, each in enumerate(functions) if number % HELD]
        return self._posed(trained, self.count), self._posed(held, self.tests)

    def _posed(self, functions: Sequence[Function], count: int) -> tuple[Task, ...]:
        """Faults of the functions in turn, of which each lets a test fail that is shown."""
        drawn = [_faults(each, self.bench.sources.lines(each)) for each in functions]
        waiting = [
            (each, fault) for turn in zip_longest(*drawn) for each, fault in zip(functions, turn, strict=True) if fault
        ]
        found = list[Task]()
        while len(found) < count and waiting:
            tried, waiting = waiting[: count - len(found)], waiting[count - len(found) :]
            self.bench.run([(each, fault[2]) for each, fault in tried])
            for each, (line, text, lines) in tried:
                if self.bench.fails(each, lines) & set(each.shown):
                    found.append(self._task(each, line, text))
        if len(found) < count:
            raise RedQueenError(f"{PACKAGE} has {len(found)} such faults in these functions, not {count}")
        return tuple(found)

    def _task(self, function: Function, line: int, text: str) -> Task:
        hidden = tuple(name for name in function.tests if name not in function.shown)
        facts = {"function": function.name, "line": line, "text": text, "hidden": hidden}
        prompt = f"Repair {function.name} so that its tests pass."
        return Task(f"{function.name} {line}: {text.strip()}", kind=function.module, prompt=prompt, facts=facts)

    def open(self, task: Task, seed: int) -> RepairVisit:
        function = self.bench.functions[str(task.facts["function"])]
        return RepairVisit(self.bench, function, int(task.facts["line"]), str(task.facts["text"]), self.listed)

    def expert(self, task: Task) -> tuple[str, ...]:
        """The line as it was."""
        line = int(task.facts["line"])
        right = self.bench.sources.lines(self.bench.functions[str(task.facts["function"])])[line]
        return (f"edit {line + 1}: {right.strip()}",)


def _faults(function: Function, lines: Sequence[str]) -> list[tuple[int, str, tuple[str, ...]]]:
    """Each fault of a function: its line, from 0, what stands there then, and all lines with it; in an order drawn by
    its name. A fault is left out from which no change of the same kinds leads back."""
    found = [
        (at, text, (*lines[:at], text, *lines[at + 1 :]))
        for at, line in enumerate(lines)
        for text in dict.fromkeys(changes(line))
        if line in changes(text)
    ]
    Random(derive(0, "faults", function.name)).shuffle(found)
    return found


class Bench:
    """Runs the tests of functions in the jail; what was run once is known."""

    def __init__(self, found: Sources) -> None:
        self.sources = found
        self.functions = {each.name: each for each in found.functions()}
        self._failed, self._lock = dict[tuple[str, tuple[str, ...]], frozenset[str]](), Lock()

    @cached_property
    def _jail(self) -> Jail:
        jail = Jail()
        weakref.finalize(self, jail.close)
        return jail

    def run(self, versions: Sequence[tuple[Function, tuple[str, ...]]]) -> None:
        """Runs all tests of functions with these lines."""
        with self._lock:
            new = [each for each in dict.fromkeys(versions) if (each[0].name, each[1]) not in self._failed]
            places = [[f"{_path(each)}::{test}" for test in each.tests] for each, _ in new]
            results = run_tests(self._jail, [self.sources.with_lines(*each) for each in new], places) if new else []
            for (function, lines), result in zip(new, results, strict=True):
                names = {place.partition("::")[2] for place in result.keys() - passed(result)}
                self._failed[function.name, lines] = frozenset(names)

    def fails(self, function: Function, lines: tuple[str, ...]) -> frozenset[str]:
        """The tests of a function that do not pass with these lines."""
        self.run([(function, lines)])
        return self._failed[function.name, lines]


class RepairVisit:
    """One function with a fault. It is over where no test fails that is shown, and where somebody is done."""

    tools: tuple[Tool, ...] = ()

    def __init__(self, bench: Bench, function: Function, line: int, text: str, listed: bool) -> None:
        self._bench, self._function = bench, function
        right = bench.sources.lines(function)
        self._lines = (*right[:line], text, *right[line + 1 :])
        self._choices = (*_listed(function, self._lines, line, right[line]), DONE) if listed else ()

    def look(self) -> Observation:
        return self._view()

    def act(self, said: str) -> Observation:
        if said.strip() == DONE:
            return Observation("The end.", over=True)
        found = EDIT.fullmatch(said.strip())
        number = int(found[1]) if found else 0
        if found is None or not 1 <= number <= len(self._lines) or not found[2].isprintable():
            return self._view(f"An act is: edit LINE: TEXT, with a line from 1 to {len(self._lines)}, or {DONE}.\n")
        old = self._lines[number - 1]
        line = old[: len(old) - len(old.lstrip())] + found[2].strip()
        self._lines = (*self._lines[: number - 1], line, *self._lines[number:])
        return self._view()

    @property
    def _failing(self) -> list[str]:
        fails = self._bench.fails(self._function, self._lines)
        return [test for test in self._function.shown if test in fails]

    def _view(self, before: str = "") -> Observation:
        failing = self._failing
        if not failing:
            return Observation("All tests that are shown pass.", over=True)
        numbered = [f"{number} {line}" for number, line in enumerate(self._lines, 1)]
        shown = "\n".join(
            (f"{before}{self._function.module}.py", *numbered, f"fails: {', '.join(failing)}", *self._choices)
        )
        return Observation(shown, self._choices)

    def state(self) -> Mapping[str, Any]:
        return {"lines": list(self._lines), "fails": self._failing}

    def assess(self, answer: str = "") -> Assessment:
        """Score 1 where every test of the function passes. Parts: the shares of those that are shown and of those that
        are `hidden` which pass."""
        fails, shown = self._bench.fails(self._function, self._lines), self._function.shown
        hidden = self._function.tests[len(shown) :]
        parts = {"shown": 1.0 - len(fails & set(shown)) / len(shown)}
        parts |= {"hidden": 1.0 - len(fails & set(hidden)) / len(hidden)} if hidden else {}
        return Assessment(float(not fails), parts)

    def close(self) -> None:
        return None


def _listed(function: Function, lines: Sequence[str], line: int, right: str) -> list[str]:
    """Changes of the function as acts, the right one among them, in the order of its lines."""
    wanted = f"edit {line + 1}: {right.strip()}"
    every = [f"edit {at}: {text.strip()}" for at, old in enumerate(lines, 1) for text in dict.fromkeys(changes(old))]
    others = [each for each in dict.fromkeys(every) if each != wanted]
    kept = {wanted, *Random(derive(0, function.name, *lines)).sample(others, min(MOST - 1, len(others)))}
    return [each for each in dict.fromkeys(every) if each in kept]
