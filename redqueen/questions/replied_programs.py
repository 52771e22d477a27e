"""The program in a reply: in fenced blocks, after some prose, or as what follows the beginning in the prompt."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Sequence
from textwrap import indent

from redqueen.checks.sandbox.literals import quiet
from redqueen.checks.sandbox.syntax import LONGEST_SOURCE

_OPENING = re.compile(
    r"^(?P<indent>[ \t]*+)(?:\S.*?(?=```[ \t]*+\w*+$))?(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?P<info>[^`]*+)$"
)
_STARTS = re.compile(r"^(?:def|class|import|from|@|async def)\b|^@", re.MULTILINE)
_PYTHON = ("python", "py", "python3")
_MOST_STARTS = 20  # lines at which a program may begin in a reply without a block
_MOST_EARLIER = 20  # blocks before the last one


def program_in(reply: str, prompt: str = "", names: Collection[str] = ()) -> str:
    """The program in a reply: its last block that defines one of the `names` that are tested (or a function or class,
    without names), after the earlier blocks whose names it or a test reads; without a block the reply, or the part of
    it that can be parsed; where it is the body of the function with which the `prompt` ends, both together. "" if there
    is none, or one that is too long to be run."""
    lines = reply.replace("\r\n", "\n").split("\n")
    found = _blocks(lines)
    blocks = [text for mark, text in found if mark in _PYTHON] or [text for _, text in found]
    for wanted in (frozenset(names), frozenset[str]()) if names else (frozenset[str](),):
        for place in reversed(range(len(blocks))):
            if _defines(blocks[place], wanted):
                return _with_earlier(blocks[: place + 1], set(names))
    source = blocks[-1] if blocks else "\n".join(lines)
    if not blocks and (unfenced := _unfenced(source, frozenset(names))):
        return unfenced
    if not source.strip() or not _defines(prompt):
        return ""
    bodies = (f"    {source.strip()}", indent(source.strip(), "    "), source.strip("\n"))
    continued = [f"{prompt}\n{each}" for each in bodies]
    return next((each for each in continued if _defines(each) and not _returns(each)), "")


def _blocks(lines: Sequence[str]) -> list[tuple[str, str]]:
    """The fenced blocks: the first word of what stands behind the fence, in lower case, and the text. A last one may
    lack its end."""
    blocks: list[tuple[str, str]] = []
    inside: list[str] = []
    fence = mark = margin = ""
    for line in lines:
        if not fence:
            if opened := _OPENING.match(line):
                fence, margin = opened["fence"], opened["indent"]
                mark, inside = [*opened["info"].lower().split(), ""][0], []
            continue
        text = line.rstrip()
        if text.endswith(fence) and not (text.strip(fence[0]).strip() and fence[0] == "~"):
            if rest := text.rstrip(fence[0]).removeprefix(margin):
                inside.append(rest)
            blocks.append((mark, "\n".join(inside)))
            fence = ""
        else:
            inside.append(line.removeprefix(margin))
    return [*blocks, (mark, "\n".join(inside))] if fence else blocks


def _unfenced(text: str, names: frozenset[str]) -> str:
    """The program in a reply without a block: all of it, or from one of its lines on to the end, or to the last line
    that is indented."""
    starts = [0, *(each.start() for each in list(_STARTS.finditer(text))[:_MOST_STARTS])]
    for start in starts:
        part = text[start:].strip() if start == 0 else text[start:]
        lines = part.split("\n")
        last = max((number for number, line in enumerate(lines, 1) if line[:1] in (" ", "\t")), default=len(lines))
        for each in (part, "\n".join(lines[:last])):
            if _defines(each, names) or _defines(each):
                return each.strip()
    return ""


def _with_earlier(blocks: Sequence[str], names: set[str]) -> str:
    """The last block, after those before it that define a name which what is kept, or a test, reads and which is not
    defined yet."""
    kept = [blocks[-1]]
    for each in reversed(blocks[-1 - _MOST_EARLIER : -1]):
        missing = (names | read_names("\n".join(kept))) - set(_defined("\n".join(kept)))
        if missing & set(_defined(each)):
            kept.insert(0, each)
    joined = "\n\n".join(text.strip("\n") for text in kept).strip()
    return joined if _defines(joined) else blocks[-1].strip()


def read_names(source: str) -> set[str]:
    """The names that a text reads, without builtins."""
    tree = _tree(source)
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name)) if tree else ()
    return {node.id for node in names if isinstance(node.ctx, ast.Load) and not hasattr(builtins, node.id)}


def _defines(source: str, names: Collection[str] = ()) -> bool:
    """Whether a text is a program that defines one of the names, or without names any function or class; and is short
    enough to be run."""
    defined = _defined(source)
    return any(name in defined for name in names) if names else any(defined.values())


def _returns(source: str) -> bool:
    """Whether a statement of return stands outside of any function, where an indent was lost."""
    tree = _tree(source)
    return tree is not None and any(isinstance(node, ast.Return) for node in tree.body)


def _defined(source: str) -> dict[str, bool]:
    """The names that the statements of a program bind, each with whether it is sure to be a function or a class."""
    tree = _tree(source)
    found: dict[str, bool] = {}
    for node in tree.body if tree else ():
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found[name] = True
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = isinstance(value, ast.Lambda)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = isinstance(value, ast.Lambda)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found |= {(each.asname or each.name).partition(".")[0]: False for each in names}
    return found


def _tree(source: str) -> ast.Module | None:
    if len(source) > LONGEST_SOURCE:
        return None
    try:
        with quiet():
            return ast.parse(source.strip("\n"))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
