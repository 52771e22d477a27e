"""The text of a program as a tree, with what stands where. Nothing is run or compiled."""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

from redqueen.verifiers.python_code.verdicts import Kind, Verdict

LONGEST_SOURCE = 1 << 16  # characters

_WARNINGS = threading.Lock()


class Unread(ValueError):
    """A text that is no Python program, or one that is not read: too long, or nested too deep. `verdict` says so."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps Python from warning of odd escapes in what a model wrote."""
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@dataclass
class Text:
    """A program's tree, and the names in it."""

    nodes: list[ast.AST] = field(default_factory=list)  # without the marks of loading and storing
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)  # of nodes
    attributes: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    modules: dict[str, str] = field(default_factory=dict)  # names that stand for modules, and which
    functions: dict[str, list[str]] = field(default_factory=dict)  # with the parameters that take positions
    used: set[str] = field(default_factory=set)  # names that are read
    annotations: set[ast.AST] = field(default_factory=set)

    def annotate(self, annotation: ast.expr | None) -> None:
        if annotation is not None:
            self.annotations.update(ast.walk(annotation))

    def is_called(self, node: ast.AST) -> bool:
        match self.parents[node]:
            case ast.Call(func=called):
                return called is node
        return False

    def around(self, node: ast.AST, kind: type[ast.AST]) -> ast.AST | None:
        """The nearest node of a kind that holds this one."""
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, kind):
                return node
        return None


@lru_cache(maxsize=256)
def parsed(source: str) -> Text:
    """The program, which is not to be changed. Raises Unread."""
    if len(source) > LONGEST_SOURCE:
        raise Unread(Verdict(Kind.UNSUPPORTED, detail="source", message=f"more than {LONGEST_SOURCE} characters"))
    try:
        with quiet():
            tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise Unread(Verdict(Kind.EXCEPTION, detail="SyntaxError", message=str(error))) from error
    except (RecursionError, MemoryError) as error:
        raise Unread(Verdict(Kind.UNSUPPORTED, detail="source", message="nested too deep")) from error
    text = Text()
    _collect(text, tree)
    text.kinds = {type(node).__name__ for node in text.nodes}
    for node in text.nodes:
        _note_names(text, node)
    return text


def _collect(text: Text, root: ast.AST) -> None:
    text.nodes.append(root)
    for node in text.nodes:  # which grows
        for name in node._fields:
            child = getattr(node, name, None)
            for each in child if type(child) is list else (child,):
                if isinstance(each, ast.AST) and not isinstance(each, ast.expr_context):
                    text.nodes.append(each)
                    text.parents[each] = node


def _note_names(text: Text, node: ast.AST) -> None:
    match node:
        case ast.FunctionDef(name=name, args=parameters, returns=annotation):
            text.bound.add(name)
            twice = name in text.functions
            text.functions[name] = [] if twice else [each.arg for each in parameters.posonlyargs + parameters.args]
            text.annotate(annotation)
        case ast.arg(arg=name, annotation=annotation):
            text.bound.add(name)
            text.annotate(annotation)
        case ast.AnnAssign(annotation=annotation):
            text.annotate(annotation)
        case ast.ExceptHandler(name=str(name)) | ast.Name(id=name, ctx=ast.Store()):
            text.bound.add(name)
        case ast.Name(id=name):
            text.used.add(name)
        case ast.Attribute(attr=name):
            text.attributes.add(name)
        case ast.alias(name=name, asname=other):
            text.bound.add(other or name.split(".")[0])
            if isinstance(text.parents[node], ast.Import):
                text.modules[other or name.split(".")[0]] = name if other else name.split(".")[0]
