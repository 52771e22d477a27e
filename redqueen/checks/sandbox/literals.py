"""Plain Python values as literals: one text for each value, so that equal texts mean the same value and type.

`True`, `1` and `1.0` are three values here, `[1]` and `(1,)` are two; sets and dicts are written in one order.
Arguments are written `ordered`: a dict keeps its order and -0.0 its sign, which a program can tell.
Text that a model wrote is read with `parse`, never evaluated.
"""

from __future__ import annotations

import ast
import math
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

DEEPEST = 20
LONGEST = 4096  # characters of a literal
LARGEST = 1000  # digits of an integer

_WARNINGS = threading.RLock()  # Python's list of filters is one for all threads


class NotPlain(ValueError):
    """A value without a literal here, or a text that is not a literal."""


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps Python from warning of odd escapes in what a model wrote."""
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def literal(value: Any, longest: int = LONGEST, ordered: bool = False) -> str:
    """The text of a value made of None, bool, int, float, str, bytes, list, tuple, set and dict, and of these exact
    types only. Raises NotPlain for any other, for a float that is not finite, and beyond the limits of size.

    Two texts are compared where both are written without `ordered`."""
    text = _write(value, DEEPEST, ordered)
    if len(text) > longest:
        raise NotPlain(f"the value takes more than {longest} characters")
    return text


def parse(text: str) -> Any:
    """The value of a text that is one plain literal. Raises NotPlain for anything else: no name, call or operator
    but a sign is read."""
    text = text.strip()
    if not text or len(text) > LONGEST:
        raise NotPlain("no literal" if not text else f"a literal of more than {LONGEST} characters")
    try:
        with quiet():
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError) as error:
        raise NotPlain(f"{text[:40]!r} is not a plain literal") from error
    literal(value)
    return value


def _write(value: Any, depth: int, ordered: bool) -> str:
    if depth == 0:
        raise NotPlain(f"a value nested more than {DEEPEST} deep")
    kind = type(value)  # a subclass may lie about itself
    if value is None or kind is bool or kind is str or kind is bytes:
        return repr(value)
    if kind is int:
        if value.bit_length() > LARGEST * 3.33:
            raise NotPlain(f"an integer of more than {LARGEST} digits")
        return repr(value)
    if kind is float:
        if not math.isfinite(value):
            raise NotPlain("a float that is not finite")
        return repr(value if ordered else value + 0.0)  # one zero
    if kind is list:
        return f"[{_items(value, depth, ordered)}]"
    if kind is tuple:
        return f"({_items(value, depth, ordered)}{',)' if len(value) == 1 else ')'}"
    if kind is set:
        return "{" + ", ".join(sorted([_write(item, depth - 1, ordered) for item in value])) + "}" if value else "set()"
    if kind is dict:
        items = [(_write(key, depth - 1, ordered), _write(item, depth - 1, ordered)) for key, item in value.items()]
        return "{" + ", ".join([f"{key}: {item}" for key, item in (items if ordered else sorted(items))]) + "}"
    raise NotPlain(f"a value of type {kind.__name__}")


def _items(value: list[Any] | tuple[Any, ...], depth: int, ordered: bool) -> str:
    return ", ".join([_write(item, depth - 1, ordered) for item in value])
