"""Whether the order in which a program walks a set can show, told from its text.

CPython walks a set of strings in another order in every process, and Monty in the order of insertion. A set's order is
hidden where the set is only asked, counted, compared, changed, sorted, or given back as the value of the program,
which is written in one order. A set keeps its name when it is assigned, is passed to a function of the program, or
becomes an attribute; then every use of that name is looked at. Any other use counts as showing the order.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from redqueen.verifiers.python_code.syntax import Text, parsed
from redqueen.verifiers.python_code.vocabulary import SET_CHANGES, SET_MAKERS, SETS, VIEWS


@lru_cache(maxsize=1024)
def shows_order(source: str) -> bool:
    """Whether the order of a set may show in what the program does. Raises `syntax.Unread`."""
    text = parsed(source)
    if not (text.kinds & {"Set", "SetComp"} or text.used & SETS or text.attributes & VIEWS):
        return False
    known: set[str] = set()
    while found := {label for node in text.nodes for label in _taught(text, known, node)} - known:
        known |= found
    return any(_shows(text, known, node) for node in text.nodes)


def _label(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=attr):
            return f".{attr}"
    return ""


def _taught(text: Text, known: set[str], node: ast.AST) -> list[str]:
    """What holds a set because of a node."""
    match node:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value) if _is_set(known, value):
            return [_label(target)]
        case ast.AnnAssign(target=target, value=ast.expr() as value) if _is_set(known, value):
            return [_label(target)]
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in text.functions:
            pairs = zip(text.functions[name], arguments, strict=False)
            return [parameter for parameter, argument in pairs if _is_set(known, argument)]
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
        case ast.Call(func=ast.Attribute(attr=attr)) if attr in VIEWS:  # of which two make a set
            return not isinstance(text.parents[node], ast.For | ast.comprehension | ast.Call | ast.Compare)
    return False


def _asks_for_type(text: Text, node: ast.AST) -> bool:
    around = text.parents[node]
    around = text.parents[around] if isinstance(around, ast.Tuple) else around
    match around:
        case ast.Call(func=ast.Name(id="isinstance")):
            return True
    return False


def _is_set(known: set[str], node: ast.AST) -> bool:
    match node:
        case ast.Set() | ast.SetComp() | ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
        case ast.Name() | ast.Attribute():
            return _label(node) in known
        case ast.BinOp(left=left, right=right, op=ast.BitOr() | ast.BitAnd() | ast.BitXor() | ast.Sub()):
            return _is_set(known, left) or _is_set(known, right)
        case ast.Call(func=ast.Attribute(attr=attr, value=value)) if attr in SET_MAKERS:
            return _is_set(known, value)
    return False


def _is_hidden(text: Text, known: set[str], node: ast.AST) -> bool:
    """Whether the order of the set at a node stays hidden."""
    match text.parents[node]:
        case ast.Call(func=ast.Name(id="len" | "bool" | "set" | "frozenset" | "isinstance"), args=[first, *_]):
            return first is node
        case ast.Call(func=ast.Name(id="sorted" | "min" | "max"), args=[only], keywords=words) if only is node:
            return all(word.arg == "reverse" for word in words)
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in text.functions and node in arguments:
            parameters = text.functions[name][: len(arguments)]
            starred = any(isinstance(argument, ast.Starred) for argument in arguments)
            place = arguments.index(node)
            return not starred and place < len(parameters) and parameters[place] in known
        case ast.Compare(left=left, ops=ops):
            return left is not node or not isinstance(ops[0], ast.In | ast.NotIn)
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]):
            return _label(target) in known
        case ast.AnnAssign(target=target):
            return _label(target) in known
        case ast.AugAssign(target=target, op=ast.BitOr() | ast.BitAnd() | ast.BitXor() | ast.Sub()):
            return _label(target) in known
        case ast.Return() as end:  # it leaves the program, where nothing else calls the function
            function = text.around(end, ast.FunctionDef)
            return isinstance(function, ast.FunctionDef) and function.name not in text.used
        case ast.If(test=test) | ast.While(test=test):
            return test is node
        case ast.Expr() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BinOp(op=ast.BitOr() | ast.BitAnd() | ast.BitXor() | ast.Sub()) as made:
            return _is_hidden(text, known, made)
        case ast.Attribute(attr=attr) as method if text.is_called(method):
            return attr in SET_CHANGES or (attr in SET_MAKERS and _is_hidden(text, known, text.parents[method]))
    return False
