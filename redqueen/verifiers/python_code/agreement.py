"""The part of Python on which Monty and CPython agree, told from the text of a program.

Monty is another interpreter, and some of what it runs it runs otherwise. It walks sets in the order of insertion,
numbers its objects from 0, makes lists of generator expressions, `map`, `filter`, `zip`, `enumerate` and `reversed` at
once, rounds decimals another way, and lacks attributes, names and modules, which a program that catches the error takes
for its answer. `read` lets through what is known to agree and names the first thing that is not; the rest of Python is
the jail's.

What it does not see: a list that is changed through a second name or by a function while `enumerate`, `zip` or
`reversed` walk it; keys of a dict that are equal but of two types (`True` and `1`: CPython keeps the first, Monty the
last); digits of other scripts, which Monty's `int` does not read. Sums of floats are those of CPython 3.11.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from redqueen.verifiers.python_code.set_order import shows_order
from redqueen.verifiers.python_code.syntax import Text, parsed
from redqueen.verifiers.python_code.vocabulary import (
    BUILTINS,
    CHANGES,
    CONSUMERS,
    EXCEPTIONS,
    LAZY,
    METHODS,
    MODULES,
    NODES,
    READS,
    SET_MAKERS,
    VIEWS,
)


@dataclass(frozen=True)
class Reading:
    """What the text of a program says of Monty's answer."""

    outside: str = ""  # the first thing on which Monty and CPython may differ; "" where they agree
    values_only: bool = False  # Monty does at once what CPython does when asked: an end without a value proves nothing


@lru_cache(maxsize=1024)
def read(source: str) -> Reading:
    """Whether Monty's answer is CPython's. Raises `syntax.Unread`."""
    text = parsed(source)
    unknown = sorted(text.kinds - NODES)
    outside = unknown[0] if unknown else "the order of a set" if shows_order(source) else ""
    outside = outside or next(filter(None, (_outside(text, node) for node in text.nodes)), "")
    if not outside and any(_is_function_value(text, node) for node in text.nodes) and any(map(_makes_text, text.nodes)):
        outside = "the text of a function"  # it has an address
    return Reading(outside, bool("GeneratorExp" in text.kinds or text.used & LAZY))


_HARMLESS = frozenset(  # on their own
    (
        ast.Assign,
        ast.AugAssign,
        ast.BinOp,
        ast.Compare,
        ast.Constant,
        ast.Expr,
        ast.If,
        ast.List,
        ast.Subscript,
        ast.Tuple,
    )
)


def _outside(text: Text, node: ast.AST) -> str:
    """Why Monty may differ at a node, or ""."""
    if type(node) in _HARMLESS:
        return ""
    if _is_lazy(node) and not _is_consumed(text, node):
        return "something lazy that is kept"
    match node:
        case ast.FunctionDef(name=name) | ast.arg(arg=name) if name in BUILTINS:
            return f"{name} bound anew"
        case ast.Name(id=name):
            return _name(text, node, name)
        case ast.Attribute():
            return _attribute(text, node)
        case ast.Import(names=names) if any(alias.name not in MODULES for alias in names):
            return f"import {names[0].name}"
        case ast.ImportFrom(module=module, names=names):
            lacking = [alias.name for alias in names if alias.name not in MODULES.get(module or "", ())]
            return f"{module}.{lacking[0]}" if lacking else ""
        case ast.alias() if (node.asname or node.name) in BUILTINS:
            return f"{node.asname or node.name} bound anew"
        case ast.ExceptHandler(type=caught, name=name):
            kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
            if name or any(not (isinstance(kind, ast.Name) and kind.id in EXCEPTIONS) for kind in kinds):
                return "except"  # what it caught may be for something that Monty lacks, and its words are Monty's
        case (
            ast.Call(func=ast.Name(id="round"), args=[_, _, *_]) | ast.Call(func=ast.Name(id="round"), keywords=[_, *_])
        ):
            return "round to decimals"
        case ast.Return() if not text.around(node, ast.FunctionDef):
            return "return outside a function"
        case ast.NamedExpr() if text.around(node, ast.GeneratorExp):
            return "an assignment in a generator expression"
    return ""


def _name(text: Text, node: ast.Name, name: str) -> str:
    if isinstance(node.ctx, ast.Store):
        return f"{name} bound anew" if name in BUILTINS else ""
    if name not in text.bound and name not in BUILTINS:
        return name
    if name in LAZY and not text.is_called(node):
        return f"{name} as a value"
    return ""


def _attribute(text: Text, node: ast.Attribute) -> str:
    if not isinstance(node.ctx, ast.Load):
        return "an attribute that is set"
    if isinstance(node.value, ast.Name) and node.value.id in text.modules:
        module = text.modules[node.value.id]
        return "" if node.attr in MODULES.get(module, ()) else f"{module}.{node.attr}"
    if node.attr not in METHODS or not text.is_called(node):
        return f".{node.attr}"
    return ""


# --- what is lazy ----------------------------------------------------------------------------


def _is_lazy(node: ast.AST) -> bool:
    match node:
        case ast.GeneratorExp() | ast.Call(func=ast.Name(id="enumerate" | "filter" | "map" | "reversed" | "zip")):
            return True
    return False


def _is_consumed(text: Text, node: ast.AST) -> bool:
    """Whether all of it is taken at once, so that it does not matter when it is made."""
    match text.parents[node]:
        case ast.Call(func=ast.Name(id="any" | "all"), args=[first]) if first is node:
            return not any(_acts(text, part) for part in ast.walk(node))
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in CONSUMERS and first is node:
            return True
        case ast.Call(func=ast.Name(id=name)) if name in LAZY:
            return True  # and that one is asked in its turn
        case ast.Call(func=ast.Attribute(attr="join")) | ast.Starred():
            return True
        case ast.Assign(targets=[ast.Tuple() | ast.List()]) | ast.comprehension():
            return True
        case ast.For(iter=walked, body=body) if walked is node:
            return _walks_still(walked, body)
    return False


def _acts(text: Text, node: ast.AST) -> bool:
    """Whether a call may do something besides giving a value."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name not in BUILTINS or name in {"print", "next"}
        case ast.Call(func=ast.Attribute(attr=attr, value=value)):
            from_module = isinstance(value, ast.Name) and value.id in text.modules
            return not from_module and attr not in READS | VIEWS | SET_MAKERS
        case ast.Call():
            return True
    return False


def _walks_still(walked: ast.AST, body: list[ast.stmt]) -> bool:
    """Whether a loop leaves alone what it walks."""
    parts = list(ast.walk(walked))
    if any(isinstance(part, ast.GeneratorExp) for part in parts):
        return False
    if any(isinstance(part, ast.Name) and part.id in {"map", "filter"} for part in parts):
        return False
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return not names & {root for statement in body for part in ast.walk(statement) for root in _changed(part)}


def _changed(node: ast.AST) -> list[str]:
    """The names of what a node changes in place."""
    match node:
        case ast.Call(func=ast.Attribute(attr=attr, value=value)) if attr in CHANGES:
            return _root(value)
        case ast.Subscript(ctx=ast.Store(), value=value) | ast.AugAssign(target=ast.Name() as value):
            return _root(value)
    return []


def _root(node: ast.AST) -> list[str]:
    while isinstance(node, ast.Subscript | ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return [node.id] if isinstance(node, ast.Name) else []


# --- functions as values ---------------------------------------------------------------------


def _makes_text(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Name(id="str" | "repr" | "format" | "print") | ast.Attribute(attr="format"):
            return True
        case ast.BinOp(op=ast.Mod(), left=left):
            return not isinstance(left, ast.Name)
    return False


def _is_function_value(text: Text, node: ast.AST) -> bool:
    """Whether a function is used otherwise than by calling it, as a key, or as the function of map and its like."""
    is_function = isinstance(node, ast.Lambda) or (
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in text.functions
    )
    if not is_function or text.is_called(node):
        return False
    match text.parents[node]:
        case ast.keyword(arg="key"):
            return False
        case ast.Call(func=ast.Name(id="map" | "filter" | "reduce"), args=[first, *_]) if first is node:
            return False
    return True
