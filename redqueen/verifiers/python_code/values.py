"""Plain Python values as literals: one text for each value, so that equal texts mean the same value and type.

`True`, `1` and `1.0` are three values here, `[1]` and `(1,)` are two; sets and dicts are written in one order.
Text that a model wrote is read with `parse`, never evaluated.
"""

from __future__ import annotations

import ast
import math
import warnings
from typing import Any

DEEPEST = 20
LONGEST = 4096  # characters of a literal
LARGEST = 1000  # digits of an integer


class NotPlain(ValueError):
    """A value that has no literal here, or a text that is not one."""


def literal(value: Any, longest: int = LONGEST) -> str:
    """The text of a value made of None, bool, int, float, str, bytes, list, tuple, set and dict, and of these exact
    types only. Raises NotPlain for any other, for a float that is not finite, and beyond the limits of size."""
    text = _write(value, DEEPEST)
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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a model wrote may hold an escape that will not be one for ever
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError) as error:
        raise NotPlain(f"{text[:40]!r} is not a plain literal") from error
    literal(value)
    return value


def _write(value: Any, depth: int) -> str:
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
        return repr(value + 0.0)  # one zero
    if kind is list:
        return "[" + ", ".join([_write(item, depth - 1) for item in value]) + "]"
    if kind is tuple:
        return "(" + ", ".join([_write(item, depth - 1) for item in value]) + (",)" if len(value) == 1 else ")")
    if kind is set:
        return "{" + ", ".join(sorted([_write(item, depth - 1) for item in value])) + "}" if value else "set()"
    if kind is dict:
        items = sorted([(_write(key, depth - 1), _write(item, depth - 1)) for key, item in value.items()])
        return "{" + ", ".join([f"{key}: {item}" for key, item in items]) + "}"
    raise NotPlain(f"a value of type {kind.__name__}")
