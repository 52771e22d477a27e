"""What a program must not use for its value to count as reproducible, read from its source.

Runs can only show that two of them agree: a program that reads the year, or asks `random` for a number below a
million, agrees with itself all day. So what could tell one run from another is not allowed at all: modules that are
not pure, also where a pure one holds them (`statistics.random`), `id` and `hash`, and the ways around a look at the
text (`eval`, `__import__`, `__globals__`, `attrgetter`, `gi_frame`). A module is not handed on under another name, and
the pattern of a `format` stands in the text. This is no security: the walls are `monty` and `jail`.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from redqueen.checks.sandbox.scopes import is_own
from redqueen.checks.sandbox.syntax import Text, parsed


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PURE = _words(
    """__future__ abc array base64 binascii bisect cmath collections collections.abc copy dataclasses decimal enum
    fractions functools hashlib heapq html itertools json keyword math numbers operator re statistics string struct
    textwrap types typing unicodedata zlib"""
)
NAMES = _words(
    """__build_class__ __builtins__ __file__ __import__ __loader__ __spec__ breakpoint compile delattr dir eval exec
    exit getattr globals hash help id input locals memoryview open quit setattr vars"""
)
HELD = _words(  # modules that pure ones hold
    """bltns builtins codecs contextlib copyreg decoder encoder entities inspect os random scanner sys time tool
    warnings"""
)
REACHING = _words(  # what pure modules hold: ways to run a text or to reach by a name, and sets
    """CodeType Formatter ForwardRef FunctionType LambdaType ModuleType algorithms_available algorithms_guaranteed
    _convert_ attrgetter buffer_info get_cache_token get_type_hints methodcaller singledispatch singledispatchmethod"""
)
ATTRIBUTES = REACHING | _words("f_back f_builtins f_code f_globals f_lasti f_lineno f_locals f_trace samples")
DUNDERS = _words(  # that a class may have for its own ends
    """__abs__ __add__ __and__ __bool__ __call__ __class__ __contains__ __delitem__ __doc__ __enter__ __eq__ __exit__
    __float__ __floordiv__ __ge__ __getitem__ __gt__ __iadd__ __init__ __int__ __invert__ __isub__ __iter__ __le__
    __len__ __lshift__ __lt__ __main__ __matmul__ __mod__ __mul__ __name__ __ne__ __neg__ __new__ __next__ __or__
    __pos__ __post_init__ __pow__ __radd__ __repr__ __reversed__ __rmul__ __rshift__ __rsub__ __setitem__ __slots__
    __str__ __sub__ __truediv__ __xor__"""
)
FRAMES = ("ag_", "cr_", "gi_", "tb_")  # begin the attributes of generators, coroutines and tracebacks
PLAIN_PATTERN = re.compile(r"(?!.*\{[^{}:!]*\.)", re.DOTALL)  # that asks for no attribute


@lru_cache(maxsize=1024)
def barred(source: str) -> str:
    """The first thing in a program that could tell one run from another, or "". Raises `syntax.Unread`."""
    text = parsed(source)
    return next(filter(None, (_barred(text, node) for node in text.nodes)), "")


def all_barred(source: str) -> set[str]:
    """All that in a program could tell one run from another. Raises `syntax.Unread`."""
    text = parsed(source)
    return set(filter(None, (_barred(text, node) for node in text.nodes)))


def _barred(text: Text, node: ast.AST) -> str:
    match node:
        case ast.Import(names=names):
            return next((alias.name for alias in names if alias.name not in PURE), "")
        case ast.ImportFrom(module=module, names=names):
            if module not in PURE:
                return module or "."
            return next((f"{module}.{alias.name}" for alias in names if _is_held(module, alias.name)), "")
        case ast.Name(id=name, ctx=ast.Load()) if name in NAMES or name in REACHING:
            return "" if is_own(text, node) else name
        case ast.Name(id=name, ctx=ast.Load()) if name in text.modules:
            return "" if isinstance(text.parents[node], ast.Attribute) or is_own(text, node) else name
        case ast.Attribute(attr="format" | "format_map" as attr, value=pattern):
            match pattern:
                case ast.Constant(value=str(written)) if PLAIN_PATTERN.match(written):
                    return ""
            return attr
        case ast.Attribute(attr=attr):
            return attr if _is_hidden(attr, _is_module(text, node.value)) else ""
        case ast.MatchClass(kwd_attrs=attributes):
            return next((attr for attr in attributes if _is_hidden(attr, of_module=False)), "")
    return ""


def _is_held(module: str, name: str) -> bool:
    """Whether something in a pure module is not to be had."""
    if module == "__future__":
        return False
    return name.startswith("_") or name in HELD | REACHING or f"{module}.{name}" in PURE


def _is_module(text: Text, node: ast.AST) -> bool:
    """Whether it is a module, or a part of one."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in text.modules


def _is_hidden(attribute: str, of_module: bool) -> bool:
    if attribute in ATTRIBUTES or attribute.startswith(FRAMES):
        return True
    if of_module:
        return attribute.startswith("_") or attribute in HELD
    return attribute.startswith("__") and attribute.endswith("__") and attribute not in DUNDERS
