"""Limits `eval` in libraries that evaluate a model's text: only calculations are allowed.

sympy's parser turns a text into Python and evaluates it, with all built-in functions in reach; reasoning-gym evaluates
some answers as they stand. What is checked is the Python that reaches `eval`, after all rewriting.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CALLERS = ("reasoning_gym", "sympy.parsing")  # other modules define classes with it
FUNCTIONS = re.compile(
    "Symbol|Integer|Float|Rational|Add|Mul|Pow|factorial2?|sqrt|exp|log|ln|Abs|a?(?:sin|cos|tan)h?|sec|csc|cot"
)
_SAFE = (
    *(ast.Expression, ast.Constant, ast.Name, ast.Load, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.keyword, ast.Call),
    *(ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop),
)


@contextmanager
def guarded_eval() -> Iterator[None]:
    """A context in which `eval`, called by `CALLERS`, raises ValueError for anything but a calculation. It changes the
    whole process, so it is for a `worker` of its own."""
    plain = builtins.eval

    def guarded(source: Any, *where: Any) -> Any:
        caller = sys._getframe(1)
        if not str(caller.f_globals.get("__name__")).startswith(CALLERS):
            return plain(source, *where)
        check_calculation(source)
        return plain(source, *(where or ({"__builtins__": {}},)))

    builtins.eval = guarded
    try:
        yield
    finally:
        builtins.eval = plain


def check_calculation(source: Any) -> None:
    """Raises ValueError for a text that is more than literals, names, arithmetic and calls of `FUNCTIONS`."""
    for node in ast.walk(ast.parse(source, mode="eval")):
        called = isinstance(node, ast.Call) and not (
            isinstance(node.func, ast.Name) and FUNCTIONS.fullmatch(node.func.id)
        )
        if called or not isinstance(node, _SAFE):
            raise ValueError(f"{str(source)[:40]!r} is more than a calculation")
