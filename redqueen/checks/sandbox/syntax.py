"""The source of a program as a tree, with its names and their positions. Nothing is run or compiled."""

from __future__ import annotations

import ast
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from types import UnionType

from redqueen.checks.sandbox.literals import quiet
from redqueen.checks.sandbox.runs_of_programs import Kind, Verdict

# so that walks over a tree may call themselves, and look up and down from every node
LONGEST_SOURCE = 1 << 16  # characters
MOST_NODES = 8000
DEEPEST = 200  # nodes, one inside another
MOST_STEPS = 100_000  # nodes that one reading of a program may walk over


class Unread(ValueError):
    """A text that is no Python program, or one that is not read: too large, or nested too deep. `verdict` says so."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


class Entangled(ValueError):
    """A program that takes too many steps to read."""


@dataclass
class Text:
    """A program's tree, and the names in it."""

    nodes: list[ast.AST] = field(default_factory=list)  # without the marks of loading and storing
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)  # of nodes
    attributes: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    modules: dict[str, str] = field(default_factory=dict)  # names that stand for modules, and which
    imports: set[str] = field(default_factory=set)  # modules, also those from which only a name is imported
    functions: dict[str, list[str]] = field(default_factory=dict)  # with the parameters that take positions
    used: set[str] = field(default_factory=set)  # names that are read
    annotations: set[ast.AST] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)  # declared so
    scopes: dict[ast.AST, dict[str, int]] = field(default_factory=dict)  # which `scopes` fills when it is asked
    second_name: ast.AST | None = None  # what stands right of the = in `f = g`, where that only calls g f
    steps: int = 0  # nodes walked over in this reading

    def counted(self) -> Text:
        """The same text, for one reading that counts its own steps."""
        text = copy(self)
        text.steps = 0
        return text

    def walk(self, root: ast.AST) -> list[ast.AST]:
        """A node and all below it. Raises Entangled after `MOST_STEPS`: what is walked over again and again, as many
        lazy expressions in a row, would take a time that grows with the square of the program."""
        nodes = list(ast.walk(root))
        self.steps += len(nodes)
        if self.steps > MOST_STEPS:
            raise Entangled
        return nodes

    def bind(self, name: str) -> None:
        if name in self.bound and name in self.functions:
            self.functions[name] = []  # which of the two is called is not known
        self.bound.add(name)

    def annotate(self, annotation: ast.expr | None) -> None:
        if annotation is not None:
            self.annotations.update(ast.walk(annotation))

    def is_called(self, node: ast.AST) -> bool:
        match self.parents[node]:
            case ast.Call(func=called):
                return called is node
        return False

    def around(self, node: ast.AST, kind: type[ast.AST] | UnionType) -> ast.AST | None:
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
    _note_second_name(text, tree)
    return text


def _collect(text: Text, root: ast.AST) -> None:
    """The nodes, those that lie as deep together."""
    level = [root]
    for _ in range(DEEPEST):
        text.nodes += level
        level = [each for node in level for each in _parts(text, node)]
        if len(text.nodes) + len(level) > MOST_NODES:
            raise Unread(Verdict(Kind.UNSUPPORTED, detail="source", message=f"more than {MOST_NODES} nodes"))
        if not level:
            return
    raise Unread(Verdict(Kind.UNSUPPORTED, detail="source", message="nested too deep"))


def _parts(text: Text, node: ast.AST) -> list[ast.AST]:
    parts = []
    for name in node._fields:
        child = getattr(node, name, None)
        for each in child if type(child) is list else (child,):
            if isinstance(each, ast.AST) and not isinstance(each, ast.expr_context):
                parts.append(each)
                text.parents[each] = node
    return parts


def _note_names(text: Text, node: ast.AST) -> None:
    match node:
        case ast.FunctionDef(name=name, args=parameters, returns=annotation, decorator_list=decorators):
            unsure = name in text.bound or decorators
            text.bind(name)
            text.functions[name] = [] if unsure else [each.arg for each in parameters.posonlyargs + parameters.args]
            text.annotate(annotation)
        case ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            text.bind(name)
        case ast.arg(arg=name, annotation=annotation):
            text.bind(name)
            text.annotate(annotation)
        case ast.AnnAssign(annotation=annotation):
            text.annotate(annotation)
        case ast.ExceptHandler(name=str(name)) | ast.Name(id=name, ctx=ast.Store()):
            text.bind(name)
        case ast.Name(id=name):
            text.used.add(name)
        case ast.Attribute(attr=name):
            text.attributes.add(name)
        case ast.Global(names=names):
            text.globals.update(names)
        case ast.ImportFrom(module=str(name)):
            text.imports.add(name)
        case ast.alias(name=name, asname=other):
            text.bind(other or name.split(".")[0])
            if isinstance(text.parents[node], ast.Import):
                text.imports.add(name)
                text.modules[other or name.split(".")[0]] = name if other else name.split(".")[0]


def _note_second_name(text: Text, tree: ast.Module) -> None:
    """A last line `f = g` gives a function another name, if nothing else asks for that name: g is not used by it."""
    match tree.body[-1:]:
        case [ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=function) as value)]:
            named = [node.id for node in text.nodes if isinstance(node, ast.Name) and node.id in (name, function)]
            if function not in text.functions or name in text.functions or named.count(name) > 1:
                return
            text.second_name = value
            text.functions[name] = text.functions[function]
            if named.count(function) == 1:
                text.used.discard(function)
