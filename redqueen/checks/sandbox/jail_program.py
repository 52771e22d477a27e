"""A program run inside the jail, in the process that is its own: from request to answer.

Nothing here keeps a program from anything; the kernel does. It only tells how the program ended, in words that a
model's honest program deserves: a refused import, a stack too deep, too much printed.
"""

from __future__ import annotations

import ast
import builtins
import errno
import gc
import io
import mmap
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

from redqueen.checks.sandbox import jail_addresses
from redqueen.checks.sandbox.contents import content
from redqueen.checks.sandbox.jail_frames import MESSAGE, Answer, Request
from redqueen.checks.sandbox.literals import LONGEST, NotPlain, literal

BALLAST = 2 << 20  # bytes of address space kept for the answer of a program that took all memory
ROOMY = 1000  # frames, wherever the program does not run

Importer = Callable[..., Any]


@dataclass(frozen=True)
class Allowance:
    """What a program may take and import."""

    output: int  # characters
    recursion: int  # frames
    offered: frozenset[str]  # the modules that may be imported; they are loaded already
    loose: bool = False  # a value is written by its content, and too much printed is forgotten


class NotOffered(ImportError):
    """An import of what is not in the jail."""


class _Printed(io.BufferedIOBase):
    """What was printed, as bytes, up to a limit; more is refused, and remembered, or with `forgets` forgotten."""

    def __init__(self, most: int, forgets: bool) -> None:
        self.most = most  # characters
        self.forgets = forgets
        self.written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        room = 4 * self.most + 1 - len(self.written)  # bytes; one more than what can be right
        self.written += data[:room]
        if len(data) > room and not self.forgets:
            raise MemoryError("output")
        return len(data)

    def text(self) -> str:
        return self.written.decode("utf-8", "replace")[: self.most]

    def overflowed(self) -> bool:
        return not self.forgets and len(self.written.decode("utf-8", "replace")) > self.most


def answer(request: Request, allowance: Allowance) -> Answer:
    """Runs the program, and says how it ended."""
    printed, complaints = _streams(allowance)
    ballast = mmap.mmap(-1, BALLAST)
    jail_addresses.forget()
    try:
        value = _value(request, allowance)
    except BaseException as error:
        _take_back()
        ballast.close()
        ended = _told(error, script=not (request.function or request.test))
    else:
        _take_back()
        ballast.close()
        ended = _written(value, allowance)
    if printed.overflowed() or complaints.overflowed():
        return Answer("memory", printed=printed.text(), detail="output")
    shows_address = jail_addresses.was_made()
    return Answer(ended.kind, ended.value, printed.text(), ended.detail, ended.message, shows_address)


def _streams(allowance: Allowance) -> tuple[_Printed, _Printed]:
    """Puts streams in memory in place of the three of the process. Returns what takes the output and the errors."""
    printed, complaints = (_Printed(allowance.output, allowance.loose) for _ in range(2))
    sys.stdin = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(printed, encoding="utf-8", newline="\n", write_through=True)
    sys.stderr = io.TextIOWrapper(complaints, encoding="utf-8", errors="backslashreplace", write_through=True)
    return printed, complaints


def _value(request: Request, allowance: Allowance) -> Any:
    code = compile(request.source, "<program>", "exec", dont_inherit=True)
    arguments = ast.literal_eval(request.arguments)
    # a script is the main module; a source with a function is not, so that its demonstrations stay out
    module = ModuleType("program" if request.function or request.test else "__main__")
    sys.modules[module.__name__] = module  # dataclasses look their module up by name
    space = vars(module)
    space["__builtins__"] = builtins
    builtins.__import__ = _checked(builtins.__import__, space, allowance.offered)
    sys.setrecursionlimit(_depth() + allowance.recursion)
    sys.setrecursionlimit = _capped(sys.setrecursionlimit, sys.getrecursionlimit())
    gc.enable()
    if allowance.loose:
        random.seed(0)
    if request.test:
        _test(request, code, space)
        return True
    exec(code, space)
    if not request.function:
        return None
    if request.function not in space:
        raise NameError(f"name {request.function!r} is not defined")
    return space[request.function](*arguments)


def _test(request: Request, code: CodeType, space: dict[str, Any]) -> None:
    """Runs a program in `space` and then its test, which has the genuine builtins and modules, the names of the setup,
    and of the program those names that it reads and that are neither. A setup that needs names of the program is run
    after it; a name that stands for a module is that module."""
    modules = {name: (each, dict(vars(each))) for name, each in sys.modules.items() if isinstance(each, ModuleType)}
    setup, test = (compile(text, "<test>", "exec", dont_inherit=True) for text in (request.setup, request.test))
    known: dict[str, Any] = {}
    early = True
    try:
        exec(setup, space)
        known = dict(space)
    except NameError:
        early = False
    exec(code, space)
    for name, (module, members) in modules.items():
        sys.modules[name] = module
        vars(module).update(members)
    read, parts = _read(f"{request.setup}\n{request.test}")
    known |= {name: space[name] for name in (read - known.keys() - _GENUINE.keys()) & space.keys()}
    known |= {name: modules[name][0] for name, part in parts if name in modules and part in modules[name][1]}
    known |= {"__name__": "tests", "__builtins__": dict(_GENUINE)}
    if not early:
        exec(setup, known)
    exec(test, known)


def _read(text: str) -> tuple[set[str], set[tuple[str, str]]]:
    """The names that a text reads, and those of which it reads a part, each with the part."""
    nodes = list(ast.walk(ast.parse(text)))
    parts = {
        (node.value.id, node.attr)
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    return {node.id for node in nodes if isinstance(node, ast.Name)}, parts


def _checked(genuine: Importer, space: dict[str, Any], offered: frozenset[str]) -> Importer:
    def checked(
        name: str,
        globals: dict[str, Any] | None = None,
        locals: dict[str, Any] | None = None,
        fromlist: tuple[str, ...] = (),
        level: int = 0,
    ) -> Any:
        # the library may import what it needs; the program what is offered
        if globals is space and level == 0 and (name.partition(".")[0] not in offered or name not in sys.modules):
            raise NotOffered(f"{name} cannot be imported here", name=name)
        return genuine(name, globals, locals, fromlist, level)

    return checked


def _capped(genuine: Callable[[int], None], most: int) -> Callable[[int], None]:
    def setrecursionlimit(limit: int, /) -> None:
        genuine(min(limit, most))

    return setrecursionlimit


def _depth() -> int:
    frame, depth = sys._getframe(), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


# taken before any program can put others in their place
_set_trace, _set_profile, _set_recursion_limit = sys.settrace, sys.setprofile, sys.setrecursionlimit
_builtins, _GENUINE = vars(builtins), dict(vars(builtins))


def _take_back() -> None:
    """Undoes what a program did to the interpreter, so that its answer is written as it stands."""
    _set_trace(None)
    _set_profile(None)
    _set_recursion_limit(ROOMY)
    _builtins.update(_GENUINE)


def _told(error: BaseException, script: bool) -> Answer:
    """How an exception counts. Leaving a script by sys.exit() or sys.exit(0) is its normal end."""
    name = type.__getattribute__(type(error), "__name__")
    if script and isinstance(error, SystemExit) and error.code in (None, 0):
        return Answer("value", "None")
    message = _message(error)
    if isinstance(error, NotOffered):
        return Answer("forbidden", detail=f"import {error.name}"[:MESSAGE], message=message)
    if isinstance(error, OSError) and error.errno in (errno.EPERM, errno.EACCES):
        return Answer("forbidden", detail=name[:MESSAGE], message=message)
    if isinstance(error, MemoryError):
        return Answer("memory", detail="memory", message=message)
    if isinstance(error, RecursionError):
        return Answer("memory", detail="recursion", message=message)
    return Answer("exception", detail=name[:MESSAGE], message=message)


def _message(error: BaseException) -> str:
    try:
        return str(error)[:MESSAGE]
    except BaseException:  # a program may define an exception that cannot be printed
        return ""


def _written(value: Any, allowance: Allowance) -> Answer:
    try:
        text = content(value) if allowance.loose else literal(value, longest=sys.maxsize)
    except NotPlain as error:
        return Answer("unsupported", detail=str(error)[:MESSAGE])
    except MemoryError:
        return Answer("memory", detail="memory")
    longest = allowance.output if allowance.loose else min(allowance.output, LONGEST)
    return Answer("value", text) if len(text) <= longest else Answer("memory", detail="output")
