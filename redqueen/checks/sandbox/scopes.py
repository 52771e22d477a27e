"""What a name refers to where it is read, from the source of a program."""

from __future__ import annotations

import ast

from redqueen.checks.sandbox.syntax import Text

_SCOPES = (
    ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.Lambda
    | ast.ClassDef
    | ast.ListComp
    | ast.SetComp
    | ast.DictComp
    | ast.GeneratorExp
)


def is_own(text: Text, read: ast.Name) -> bool:
    """Whether a name that may also be a builtin's is sure to be the program's own where it is read."""
    if read.id in text.globals:
        return False
    if not text.scopes:
        text.scopes.update(_scopes(text))
    inner: ast.AST = read
    while inner in text.parents:
        around = text.parents[inner]
        if isinstance(around, ast.ClassDef):  # its body looks past the functions around it
            return False
        if _is_bound(text, around, inner, read.id):
            return True
        inner = around
    return False


def _is_bound(text: Text, around: ast.AST, inner: ast.AST, name: str) -> bool:
    """Whether a node has bound a name when `inner`, a part of it, is run. What a function sets is its own throughout:
    it may be missing, but is never looked for elsewhere."""
    own = text.scopes.get(around, {})
    match around:
        case ast.FunctionDef(body=body) if inner in body:
            at_top = isinstance(text.parents[around], ast.Module) and "Delete" not in text.kinds
            return name in own or (at_top and name == around.name)
        case ast.Lambda(body=body) if inner is body:
            return name in own
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() if inner not in around.generators:
            return name in own
        case ast.comprehension(ifs=conditions) if inner in conditions:
            return name in text.scopes.get(text.parents[around], {})
        case ast.Module(body=body) if name in own and isinstance(inner, ast.stmt) and "Delete" not in text.kinds:
            return own[name] < body.index(inner)
    return False


def _scopes(text: Text) -> dict[ast.AST, dict[str, int]]:
    """The names of every scope; for the module the number of the statement that first binds one, whatever happens."""
    found: dict[ast.AST, dict[str, int]] = {text.nodes[0]: {}}
    for node in text.nodes:
        match node:
            case ast.arg(arg=name):
                found.setdefault(text.around(node, _SCOPES) or node, {})[name] = 0
            case ast.Name(id=name, ctx=ast.Store()) if not isinstance(text.parents[node], ast.NamedExpr):
                found.setdefault(text.around(node, _SCOPES) or node, {})[name] = 0
            case ast.Module(body=body):
                for number, statement in enumerate(body):
                    for name in _bound_by(statement):
                        found[node].setdefault(name, number)
    return found


def _bound_by(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
    return []
