"""What a program may not touch if its value is to count as certain, told from its text.

Runs can only show that two of them agree: a program that reads the year, or asks `random` for a number below a
million, agrees with itself all day. So what could tell one run from another is not allowed at all: modules that are
not pure, `id` and `hash`, and the ways around a look at the text (`eval`, `__import__`, `__globals__`). This is no
security: the walls are `monty` and `jail`.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from redqueen.verifiers.python_code.syntax import parsed


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
DUNDERS = _words(  # that a class may have for its own ends
    """__abs__ __add__ __and__ __bool__ __call__ __class__ __contains__ __delitem__ __doc__ __enter__ __eq__ __exit__
    __float__ __floordiv__ __ge__ __getitem__ __gt__ __iadd__ __init__ __int__ __invert__ __isub__ __iter__ __le__
    __len__ __lshift__ __lt__ __main__ __matmul__ __mod__ __mul__ __name__ __ne__ __neg__ __new__ __next__ __or__
    __pos__ __post_init__ __pow__ __radd__ __repr__ __reversed__ __rmul__ __rshift__ __rsub__ __setitem__ __slots__
    __str__ __sub__ __truediv__ __xor__"""
)


@lru_cache(maxsize=1024)
def barred(source: str) -> str:
    """The first thing in a program that could tell one run from another, or "". Raises `syntax.Unread`."""
    text = parsed(source)
    for node in text.nodes:
        match node:
            case ast.Import(names=names):
                reason = next((alias.name for alias in names if alias.name not in PURE), "")
            case ast.ImportFrom(module=module, names=names):
                hidden = next((f"{module}.{alias.name}" for alias in names if alias.name.startswith("_")), "")
                reason = (
                    hidden if module in PURE and module != "__future__" else "" if module in PURE else module or "."
                )
            case ast.Name(id=name) if name in NAMES and name not in text.bound:
                reason = name
            case ast.Attribute(attr=attr, value=value):
                of_module = isinstance(value, ast.Name) and value.id in text.modules
                reason = attr if _is_hidden(attr, of_module) else ""
            case _:
                continue
        if reason:
            return reason
    return ""


def _is_hidden(attribute: str, of_module: bool) -> bool:
    if of_module:
        return attribute.startswith("_") or attribute in {"sys", "os", "random", "time"}
    return attribute.startswith("__") and attribute.endswith("__") and attribute not in DUNDERS
