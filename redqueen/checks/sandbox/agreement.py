"""The part of Python on which Monty and CPython agree, told from the text of a program.

Monty is another interpreter, and some of what it runs it runs otherwise. It walks sets in the order of insertion,
numbers its objects from 0, makes lists of generator expressions, `map`, `filter`, `zip`, `enumerate` and `reversed` at
once, rounds decimals another way, and lacks attributes, names and modules, which a program that catches the error takes
for its answer. `read` lets through what is known to agree and names the first thing that is not; the rest of Python is
the jail's.

What it does not see: a list that is changed through a second name or by a function while `enumerate`, `zip` or
`reversed` walk it; which of two things fails first where one is made lazily and the other adds or compares it; keys of
a dict that are equal but of two types (`True` and `1`: CPython keeps the first, Monty the last); digits of other
scripts, which Monty's `int` does not read; NaN that comes from floats which grow beyond all bounds, one step after
another. Sums of floats are those of CPython 3.11.
"""

from __future__ import annotations

import ast
import builtins
import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from redqueen.checks.sandbox.scopes import is_own
from redqueen.checks.sandbox.set_order import shows_order
from redqueen.checks.sandbox.syntax import Entangled, Text, parsed
from redqueen.checks.sandbox.vocabulary import (
    ADDRESSED,
    BUILTINS,
    CHANGES,
    CODECS,
    CONSUMERS,
    EXCEPTIONS,
    LAZY,
    METHODS,
    MODULES,
    NODES,
    NUMBERS_AND_TEXT,
    OUT_MODULES,
    OUT_NAMES,
    READS,
    REFUSALS,
    SET_MAKERS,
    TAKERS,
    VIEWS,
)


@dataclass(frozen=True)
class Reading:
    """What the source of a program tells about Monty's answer."""

    outside: str = ""  # the first thing on which Monty and CPython may differ; "" where they agree
    values_only: bool = False  # Monty does at once what CPython does when asked: an end without a value proves nothing
    reads_floats: bool = False  # from something else than a number that stands there: from a text it may read NaN


@lru_cache(maxsize=1024)
def read(source: str) -> Reading:
    """Whether Monty's answer is CPython's. Raises `syntax.Unread`."""
    try:
        return _read(parsed(source).counted(), source)
    except Entangled:
        return Reading("a program too entangled to be read")


def _read(text: Text, source: str) -> Reading:
    unknown = sorted(text.kinds - NODES)
    outside = unknown[0] if unknown else "the order of a set" if shows_order(source) else ""
    outside = outside or next(filter(None, (_outside(text, node) for node in text.nodes)), "")
    if not outside and any(_has_address(text, node) for node in text.nodes) and any(map(_makes_text, text.nodes)):
        outside = "the text of a function or an iterator"  # it holds an address
    outside = outside or next((name for name in text.bound if name.startswith(RESERVED)), "")
    reads_floats = "float" in text.used and any(map(_reads_float, text.nodes))
    if not outside and (any(map(_is_huge, text.nodes)) or (reads_floats and any(map(_is_text, text.nodes)))):
        outside = "a float that may be NaN"  # two of them are equal in Monty's lists, and their keys
    values_only = bool("GeneratorExp" in text.kinds or text.used & LAZY or _has_formats(text))
    return Reading(outside, values_only, reads_floats)


@lru_cache(maxsize=1024)
def reaches_out(source: str) -> bool:
    """Whether a program uses files or the system, so that Monty's refusal means just that. Raises
    `syntax.Unread`."""
    text = parsed(source)
    asks = {name.partition(".")[0] for name in text.imports} & OUT_MODULES or text.used & OUT_NAMES - text.bound
    return bool(asks) and not text.used & REFUSALS


HUGE = 1e150  # of two such floats the product is infinite, and from infinities comes NaN
RESERVED = "redqueen_"  # the names of what Monty is handed
TYPED = tuple("bcdeEfFgGnosxX%,_")  # ends of a format for numbers or text: Monty too refuses other values
PYTHONS = frozenset(dir(builtins))
_QUIET = BUILTINS - {"next", "print"}
_ONLY_CALLED = LAZY | {"format", "pow"}
_CONDITIONS = frozenset(("bytes", "format", "pow", "str", ".decode", ".encode", ".format"))

_HARMLESS = frozenset(  # on their own
    (
        ast.Assign,
        ast.AugAssign,
        ast.BinOp,
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
        case ast.Compare(ops=ops) if not all(map(_is_plain, [node.left, *node.comparators], ops, node.comparators)):
            return "is"
        case ast.Call():
            return _call(text, node)
        case ast.FormattedValue(conversion=-1, format_spec=ast.JoinedStr() as format, value=value):
            return "" if _is_number_or_text(value) or _is_typed(text, _end(format)) else "a format for some values only"
        case ast.Return() if not text.around(node, ast.FunctionDef):
            return "return outside a function"
        case ast.NamedExpr() if text.around(node, ast.GeneratorExp):
            return "an assignment in a generator expression"
    return ""


def _name(text: Text, node: ast.Name, name: str) -> str:
    if isinstance(node.ctx, ast.Store):
        return f"{name} bound anew" if name in BUILTINS else ""
    if name not in BUILTINS and (name not in text.bound or (name in PYTHONS and not is_own(text, node))):
        return name
    if name in _ONLY_CALLED and not text.is_called(node):
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


# --- floats that are no numbers ----------------------------------------------------------------


def _reads_float(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="float"), args=[] | [ast.Constant(value=int() | float())]):
            return False
        case ast.Name(id="float", ctx=ast.Load()):
            return True
    return False


def _is_huge(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and abs(node.value) > HUGE


def _is_text(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=str() | bytes()) | ast.JoinedStr() | ast.Name(id="str" | "repr" | "chr" | "format"):
            return True
    return False


# --- calls and formats that agree for some arguments only ----------------------------------------


def _call(text: Text, node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name):
            pass
        case ast.Attribute(attr=attr):
            name = f".{attr}"
        case _:
            return ""
    if name not in _CONDITIONS or _is_agreed(text, name, node):
        return ""
    return f"{name} with such arguments"


def _is_agreed(text: Text, name: str, node: ast.Call) -> bool:
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return False
    match name, node.args, node.keywords:
        case "pow", [_, _] | [_, ast.Constant(), _], []:  # Monty lacks the inverse that a power below 0 asks for
            return True
        case "str" | "bytes" | "format", [] | [_], []:
            return True
        case "str" | "bytes", [_, ast.Constant(value=str(codec))], []:
            return codec.lower() in CODECS
        case ".encode" | ".decode", [], []:
            return True
        case ".encode" | ".decode", [ast.Constant(value=str(codec))], []:
            return codec.lower() in CODECS
        case ".encode" | ".decode", [ast.Constant(value=str(codec)), ast.Constant(value="ignore")], []:
            return codec.lower() in CODECS
        case ".encode" | ".decode", [], [ast.keyword(arg="encoding", value=ast.Constant(value=str(codec)))]:
            return codec.lower() in CODECS
        case "format", [value, ast.Constant(value=str(format))], []:
            return _is_number_or_text(value) or _is_typed(text, format)
        case ".format", _, _:
            return all(_is_typed(text, format) for format in _formats_in(node.func))
    return False


def _formats_in(method: ast.expr) -> list[str]:
    """What a text says of how its values are written. One that is not known may say anything."""
    match method:
        case ast.Attribute(value=ast.Constant(value=str(text))):
            try:
                fields = list(string.Formatter().parse(text))
            except ValueError:
                return ["?"]
            return [format for _, _, format, conversion in fields if format and not conversion]
    return ["?"]


def _has_formats(text: Text) -> bool:
    if "format" in text.used or "format" in text.attributes:
        return True
    return "FormattedValue" in text.kinds and any(
        isinstance(node, ast.FormattedValue) and node.format_spec is not None for node in text.nodes
    )


def _is_typed(text: Text, format: str) -> bool:
    """Whether Monty refuses with a format what CPython refuses, though with another exception."""
    return not format or (format.endswith(TYPED) and "Try" not in text.kinds)


def _end(format: ast.JoinedStr) -> str:
    match format.values:
        case []:
            return ""
        case [*_, ast.Constant(value=str(end))]:
            return end
    return "?"


def _is_number_or_text(value: ast.AST) -> bool:
    match value:
        case ast.Constant(value=str() | int() | float()) | ast.JoinedStr():
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in NUMBERS_AND_TEXT
    return False


def _is_plain(left: ast.AST, operation: ast.cmpop, right: ast.AST) -> bool:
    """Whether a comparison asks for identity only with what there is one of."""
    return not isinstance(operation, ast.Is | ast.IsNot) or any(
        isinstance(side, ast.Constant) and (side.value is None or isinstance(side.value, bool))
        for side in (left, right)
    )


# --- what is lazy ----------------------------------------------------------------------------


def _is_lazy(node: ast.AST) -> bool:
    match node:
        case ast.GeneratorExp() | ast.Call(func=ast.Name(id="enumerate" | "filter" | "map" | "reversed" | "zip")):
            return True
    return False


def _is_consumed(text: Text, node: ast.AST) -> bool:
    """Whether all of it is taken at once, so that it does not matter when it is made."""
    match text.parents[node]:
        case ast.Call(func=ast.Name(id="any" | "all"), args=[first]) if first is node:  # which stop early
            grows = "defaultdict" in text.bound | text.attributes
            return "Try" not in text.kinds and not any(
                _acts(text, part) or (grows and isinstance(part, ast.Subscript)) for part in _later(text, node)
            )
        case ast.Call(func=ast.Name(id="min" | "max"), args=[first, *others], keywords=words) if first is node:
            return not others and (not words or _is_alone(text, node, list(words)))
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in CONSUMERS and first is node:
            return True
        case ast.Call(func=ast.Name(id=name), args=taken) if name in LAZY:  # and that one is asked in its turn
            return _is_alone(text, node, [each for each in taken if each is not node])
        case ast.Call(func=ast.Attribute(attr="join")) | ast.Starred():
            return True
        case ast.Assign(targets=[ast.Tuple() | ast.List()]):
            return _is_alone(text, node, [])
        case ast.comprehension() as walk:
            around = text.parents[walk]
            beside = [each for part in (walk, around) for each in ast.iter_child_nodes(part)]
            return _is_alone(text, node, [each for each in beside if each is not node and each is not walk])
        case ast.For(iter=walked, body=body) if walked is node:
            return _walks_still(text, walked, body)
    return False


def _is_alone(text: Text, lazy: ast.AST, others: list[ast.AST]) -> bool:
    """Whether what is lazy may be made before the others are run, with which CPython would run it in turns."""
    later = _later(text, lazy)
    if any(_acts(text, part) for part in later):
        return False
    if later and "Try" in text.kinds:
        return False  # the first to fail may be another
    parts = text.walk(lazy)
    others = [part for each in others for part in text.walk(each)]
    computes = any(isinstance(part, ast.GeneratorExp | ast.Lambda) for part in parts)  # from what others may change
    if computes and any(_acts(text, part) for part in others):
        return False
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return not names & {root for part in others for root in _changed(part)}


def _later(text: Text, lazy: ast.AST) -> list[ast.AST]:
    """What CPython runs when something lazy is asked for what comes next, and not when it is made."""
    match lazy:
        case ast.GeneratorExp(elt=made, generators=[first, *others]):
            return [part for each in (made, *first.ifs, *others) for part in text.walk(each)] + _later(text, first.iter)
        case ast.Call(func=ast.Name(id="map" | "filter"), args=[function, *taken]):
            return [lazy, *text.walk(function)] + [part for each in taken for part in _later(text, each)]
        case ast.Call(func=ast.Name(id=name), args=taken) if name in LAZY:
            return [part for each in taken for part in _later(text, each)]
    return []


def _acts(text: Text, node: ast.AST) -> bool:
    """Whether a call may do something besides giving a value."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=given, keywords=words):
            called = [word.value for word in words if word.arg == "key"] + given[: name in {"map", "filter"}]
            return name not in _QUIET or not all(map(_is_quiet, called)) or (name == "iter" and len(given) > 1)
        case ast.Call(func=ast.Attribute(attr=attr, value=value)):
            from_module = isinstance(value, ast.Name) and value.id in text.modules
            return not from_module and attr not in READS | VIEWS | SET_MAKERS
        case ast.Call():
            return True
    return False


def _is_quiet(function: ast.AST) -> bool:
    """Whether a function does nothing besides giving a value; what a lambda calls is looked at on its own."""
    match function:
        case ast.Lambda() | ast.Constant():
            return True
        case ast.Name(id=name):
            return name in _QUIET
    return False


def _walks_still(text: Text, walked: ast.AST, body: list[ast.stmt]) -> bool:
    """Whether a loop leaves alone what it walks."""
    parts = text.walk(walked)
    if any(isinstance(part, ast.GeneratorExp) for part in parts):
        return False
    if any(isinstance(part, ast.Name) and part.id in {"map", "filter"} for part in parts):
        return False
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return not names & {root for statement in body for part in text.walk(statement) for root in _changed(part)}


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


# --- functions and iterators as values -------------------------------------------------------


def _makes_text(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Name(id="str" | "repr" | "format" | "print") | ast.Attribute(attr="format"):
            return True
        case ast.BinOp(op=ast.Mod(), left=left):
            return not isinstance(left, ast.Name)
    return False


def _has_address(text: Text, node: ast.AST) -> bool:
    return _is_function_value(text, node) or _is_iterator_value(text, node)


def _is_function_value(text: Text, node: ast.AST) -> bool:
    """Whether a function is used otherwise than by calling it, as a key, or as the function of map and its like."""
    is_function = isinstance(node, ast.Lambda) or (
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in text.functions
    )
    if not is_function or text.is_called(node) or node is text.second_name:
        return False
    match text.parents[node]:
        case ast.keyword(arg="key"):
            return False
        case ast.Call(func=ast.Name(id="map" | "filter" | "reduce"), args=[first, *_]) if first is node:
            return False
    return True


def _is_iterator_value(text: Text, node: ast.AST) -> bool:
    """Whether something of a module whose text holds an address, or what it makes, is used otherwise than by taking
    what it gives at once."""
    match node:
        case ast.alias(name=name, asname=str()) if name in ADDRESSED:
            return True
        case ast.Name(id=name, ctx=ast.Load()) if name in ADDRESSED and name not in text.modules:
            pass
        case ast.Attribute(attr=name) if name in ADDRESSED:
            pass
        case _:
            return False
    if (name != "iter" and not text.imports) or (text.is_called(node) and name in {"copy", "deepcopy"}):
        return False
    return name == "groupby" or not _is_taken(text.parents, text.parents[node] if text.is_called(node) else node)


def _is_taken(parents: Mapping[ast.AST, ast.AST], iterator: ast.AST) -> bool:
    match parents[iterator]:
        case ast.For() | ast.comprehension() | ast.Starred() | ast.FunctionDef() | ast.keyword(arg="key"):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in TAKERS
    return False
