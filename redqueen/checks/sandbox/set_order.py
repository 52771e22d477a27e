"""Whether a program's result can depend on the iteration order of a set, read from its source.

CPython walks a set of strings in another order in every process, and Monty in the order of insertion. A set's order is
hidden where the set is only asked, counted, compared, changed, sorted, or given back as the value of the program,
which is written in one order. A set keeps its name when it is assigned, is passed to a function of the program, or
becomes an attribute; then every use of that name is looked at. Any other use counts as showing the order.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from redqueen.checks.sandbox.syntax import Text, parsed
from redqueen.checks.sandbox.vocabulary import MODULES, SET_CHANGES, SET_MAKERS, SETS, VIEWS

_WALKERS = (  # functions and methods that take what an iterable gives, and do not keep it
    (MODULES["collections"] | MODULES["itertools"] | MODULES["math"] | SET_CHANGES | SET_MAKERS)
    | {"extend", "extendleft", "fromkeys", "join", "subtract", "update"}
) - {"add", "remove", "discard", "repeat"}

# what a class of the program's own may do with a set that it is compared or combined with, or with two of its elements
_COMPARISONS = {f"__{name}__" for name in ("lt", "le", "gt", "ge", "eq", "ne")}
_OPERATORS = {f"__{before}{name}__" for before in ("", "r", "i") for name in ("and", "or", "xor", "sub")}


@lru_cache(maxsize=1024)
def shows_order(source: str, function: str = "", given: tuple[int, ...] = ()) -> bool:
    """Whether the order of a set may show in what the program does, where the arguments of `function` at the places
    `given` are or hold sets. Raises `syntax.Unread`."""
    text = parsed(source)
    if not (given or text.kinds & {"Set", "SetComp"} or text.used & SETS or text.attributes & VIEWS):
        return False
    parameters = text.functions.get(function, [])
    if any(place >= len(parameters) for place in given):
        return True
    known = _known(text, [parameters[place] for place in given])
    if "dataclasses" in text.imports and any(label.startswith(".") for label in known):
        return True  # it writes its attributes out
    return any(_shows(text, known, node) for node in text.nodes)


def _known(text: Text, given: list[str]) -> set[str]:
    """The labels that may hold a set: those `given` one, and all that take their value from them."""
    feeds: dict[str, list[str]] = {}  # a label, or "" for a set that is written there -> the labels that take from it
    for node in text.nodes:
        for label, value in _taught(text, node):
            for source in _sources(value):
                feeds.setdefault(source, []).append(label)
    known: set[str] = set()
    found = [*given, *feeds.get("", [])]
    while found:
        label = found.pop()
        if label not in known:
            known.add(label)
            found += feeds.get(label, [])
    return known


def _label(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=attr):
            return f".{attr}"
    return ""


def _taught(text: Text, node: ast.AST) -> list[tuple[str, ast.AST]]:
    """The labels that a node gives to values."""
    match node:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
            return [(_label(target), value)]
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return [(_label(target), value)]
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in text.functions:
            return list(zip(text.functions[name], arguments, strict=False))
    return []


def _shows(text: Text, known: set[str], node: ast.AST) -> bool:
    if node in text.annotations:
        return False
    match node:
        case ast.Name(id="set" | "frozenset", ctx=ast.Load()):
            return not text.is_called(node) and not _asks_for_type(text, node)
        case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()):
            return _label(node) in known and not _is_hidden(text, known, node)
        case ast.Set() | ast.SetComp() | ast.Call(func=ast.Name(id="set" | "frozenset")):
            return not _is_hidden(text, known, node)
        case ast.Call(func=ast.Attribute(attr="keys" | "items")):  # of which two make a set
            return not _is_walked(text, node)
    return False


def _leaves(text: Text, end: ast.Return) -> bool:
    """Whether what is returned leaves the program: nothing in it calls the function, or could."""
    function = text.around(end, ast.FunctionDef | ast.AsyncFunctionDef)
    return (
        isinstance(function, ast.FunctionDef)
        and isinstance(text.parents[function], ast.Module)
        and not function.decorator_list
        and function.name not in text.used | text.attributes
    )


def _is_walked(text: Text, view: ast.AST) -> bool:
    """Whether the keys or items of a dict are only walked, in the order of the dict, or asked."""
    match text.parents[view]:
        case ast.For() | ast.comprehension() | ast.Compare():
            return True
        case ast.Call(func=ast.Name(id="max" | "min"), args=[_, _, *_]):
            return False  # which gives one of them back
        case ast.Call(func=ast.Name(id=name)) if name in text.bound:
            return name in _WALKERS and name not in text.functions
        case ast.Call(func=ast.Name(id=name)):
            return name != "next"
        case ast.Call(func=ast.Attribute(attr=attr)):
            return attr not in text.functions and attr in _WALKERS
    return False


def _asks_for_type(text: Text, node: ast.AST) -> bool:
    around = text.parents[node]
    around = text.parents[around] if isinstance(around, ast.Tuple) else around
    match around:
        case ast.Call(func=ast.Name(id="isinstance")):
            return True
    return False


def _sources(value: ast.AST) -> list[str]:
    """What makes a value a set: the labels of which one would have to hold one, and "" for a set."""
    match value:
        case ast.Set() | ast.SetComp() | ast.Call(func=ast.Name(id="set" | "frozenset")):
            return [""]
        case ast.Name() | ast.Attribute():
            return [_label(value)]
        case ast.BinOp(left=left, right=right, op=ast.BitOr() | ast.BitAnd() | ast.BitXor() | ast.Sub()):
            return _sources(left) + _sources(right)
        case ast.Call(func=ast.Attribute(attr=attr, value=made_of)) if attr in SET_MAKERS:
            return _sources(made_of)
    return []


def _is_hidden(text: Text, known: set[str], node: ast.AST) -> bool:
    """Whether the order of the set at a node stays hidden."""
    match text.parents[node]:
        case ast.Call(func=ast.Name(id="len" | "bool" | "set" | "frozenset" | "isinstance" as name), args=[first, *_]):
            return first is node and name not in text.bound
        case ast.Call(func=ast.Name(id="sorted" | "min" | "max" as name), args=[only], keywords=words) if only is node:
            plain = all(word.arg == "reverse" for word in words)
            return plain and name not in text.bound and not text.bound & _COMPARISONS
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in text.functions and node in arguments:
            parameters = text.functions[name][: len(arguments)]
            starred = any(isinstance(argument, ast.Starred) for argument in arguments)
            place = arguments.index(node)
            return not starred and place < len(parameters) and parameters[place] in known
        case ast.Compare(left=left, ops=ops):
            asked = left is not node or not isinstance(ops[0], ast.In | ast.NotIn)
            return asked and not text.bound & _COMPARISONS
        case (ast.Assign(targets=[ast.Name() | ast.Attribute() as target]) | ast.AnnAssign(target=target)) as statement:
            in_class = isinstance(text.parents[statement], ast.ClassDef)  # where it gets a second label
            return _label(target) in known and not in_class
        case ast.AugAssign(target=target, op=ast.BitOr() | ast.BitAnd() | ast.BitXor() | ast.Sub()):
            return _label(target) in known and not text.bound & _OPERATORS
        case ast.Return() as end:
            return _leaves(text, end)
        case ast.If(test=test) | ast.While(test=test):
            return test is node
        case ast.Expr() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BinOp(op=ast.BitOr() | ast.BitAnd() | ast.BitXor() | ast.Sub()) as made:
            return not text.bound & _OPERATORS and _is_hidden(text, known, made)
        case ast.Attribute(attr=attr) as method if text.is_called(method):
            return attr in SET_CHANGES or (attr in SET_MAKERS and _is_hidden(text, known, text.parents[method]))
    return False
