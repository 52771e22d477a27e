"""The tests of a program in a row, one by one, and the lines that stand before the program.

What a function `check(candidate)` or `test_...()` asserts as `candidate(2) == 4` is a test of its own; what is left of
it, if it still asks the program, is one test. Imports of the solution itself, and of what is not used, are dropped.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from redqueen.checks.sandbox.jail import OFFERED
from redqueen.checks.sandbox.literals import quiet
from redqueen.questions.by_tests import literal_call
from redqueen.questions.replied_programs import read_names

_SOLUTIONS = ("solution", "solutions", "submission", "program", "main")  # modules by which tests name the program
_IMPORT = re.compile(r"(?m)^(?:import|from) [^\n]+$")


class CannotBeRun(ValueError):
    """Tests that no program can pass, in one line."""


def asserts_in(value: Any, entry_point: str) -> tuple[str, ...]:
    """The tests of a column: statements of assert, or texts that are run whole. A function `check(candidate)` is called
    with the function `entry_point`, and every `test_...()` as it is. () if there are none. Raises CannotBeRun for a
    line that is no Python, and a module that the sandbox does not have."""
    found: list[str] = []
    for text in (str(each).strip() for each in (value if isinstance(value, list) else [value])):
        try:
            tree = _parsed(text)
        except CannotBeRun:
            lines = [line.strip() for line in text.splitlines() if line.strip().startswith("assert ")]
            found += [ast.unparse(_parsed(line)) for line in lines]
            continue
        _drop_imports(tree)
        if tree.body and all(isinstance(each, ast.Assert) for each in tree.body):
            found += [ast.get_source_segment(text, each) or "" for each in tree.body]
        elif (calls := _calls(tree.body, entry_point)) or any(isinstance(each, ast.Assert) for each in tree.body):
            found += _one_by_one(tree, calls, entry_point)
    return tuple(found)


def setup_in(column: Any, question: str, entry_point: str) -> str:
    """The lines that stand before a program that is tested: those of a column, and where the question begins the
    program what stands in it before the function `entry_point`. Raises CannotBeRun as `asserts_in`."""
    lines = "\n".join(map(str, column)) if isinstance(column, list) else str(column or "")
    _drop_imports(_parsed(lines))
    return "\n".join([*(_begun(question, entry_point) if entry_point else ()), lines]).strip()


def _begun(question: str, entry_point: str) -> list[str]:
    """What a question defines besides the function that is asked for; its imports where it is not all a program."""
    try:
        body = _parsed(f"{question}\n    pass").body
    except CannotBeRun:
        return _IMPORT.findall(question)
    wanted = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign
    return [ast.unparse(each) for each in body if isinstance(each, wanted) and getattr(each, "name", "") != entry_point]


def _parsed(text: str) -> ast.Module:
    try:
        with quiet():
            return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        said = getattr(error, "msg", "") or type(error).__name__
        raise CannotBeRun(f"{' '.join(text.split())[:60]!r} is no Python ({said[:60]})") from None


def _drop_imports(tree: ast.Module) -> None:
    """Takes imports out that a sandbox without the module can do without. Raises CannotBeRun where it cannot."""
    read = read_names(ast.unparse(tree))
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                kept = [each for each in statements if not _is_idle(each, read)]
                statements[:] = kept or ([ast.Pass()] if statements and node is not tree else [])


def _is_idle(statement: ast.stmt, read: set[str]) -> bool:
    match statement:
        case ast.ImportFrom(module=module, level=level):
            modules, ours = [module or "."], level > 0 or module in _SOLUTIONS
        case ast.Import(names=names):
            modules, ours = [each.name for each in names], False
        case _:
            return False
    missing = [each for each in modules if each.partition(".")[0] not in OFFERED]
    bound = {(each.asname or each.name).partition(".")[0] for each in statement.names}
    if missing and not ours and (bound & read or "*" in bound):
        raise CannotBeRun(f"they need the module {missing[0]!r}, which the sandbox does not have")
    return bool(missing)


def _calls(body: Sequence[ast.stmt], entry_point: str) -> Mapping[str, str]:
    """The functions in which tests stand, and the calls of them."""
    names = {each.name: bool(each.args.args) for each in body if isinstance(each, ast.FunctionDef)}
    calls = {name: f"{name}()" for name, takes in names.items() if name.startswith("test") and not takes}
    return calls | ({"check": f"check({entry_point})"} if names.get("check") and entry_point.isidentifier() else {})


def _one_by_one(tree: ast.Module, calls: Mapping[str, str], entry_point: str) -> list[str]:
    """The tests of a text: each comparison of a call with a literal, and then the rest, if it asks for anything."""
    bound = _bound(tree)
    found: list[str] = []
    asks = False
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name in calls]
    blocks: list[ast.Module | ast.FunctionDef] = [tree, *functions]
    for block in blocks:
        given = block.args.args[0].arg if isinstance(block, ast.FunctionDef) and block.args.args else ""
        literal = [each for each in block.body if (read := literal_call(each)) and read[0] not in bound - {given}]
        found += [_named(each, {given: entry_point}) for each in literal if isinstance(each, ast.Assert)]
        block.body[:] = [each for each in block.body if each not in literal] or [ast.Pass()]
        asks |= any(isinstance(node, ast.Name) and node.id == given for node in ast.walk(block))
    rest = ast.unparse(tree)
    asks |= bool(read_names(rest) - bound)
    return [*found, *(["\n".join([rest, *calls.values()])] if asks or not found else [])]


def _named(test: ast.Assert, names: Mapping[str, str]) -> str:
    """A test of the function under its own name, without the message."""
    for node in ast.walk(test):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    test.msg = None
    return ast.unparse(test)


def _bound(tree: ast.Module) -> set[str]:
    """The names that a text binds somewhere."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found.add((other or name).partition(".")[0])
    return found
