"""Values as literals that are equal to them: `Counter` as a dict, a named tuple as a tuple, `frozenset` as a set.

This is what a test `f(2) == LITERAL` needs: the content of a value by the genuine methods of its built-in type,
whatever a class of the program says of itself. Nothing of the program's is called.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from redqueen.checks.sandbox.literals import NotPlain

DEEPEST = 90  # Python reads few more brackets, one in another
LARGEST = 4300  # digits of an integer, as Python reads and writes them
INFINITE = "1e999"
_VIEWS: tuple[type, ...] = (type(dict[int, int]().keys()), type(dict[int, int]().items()))


def content(value: Any, depth: int = DEEPEST) -> str:
    """The text of a literal that is equal to the value, in Python's sense. Raises NotPlain where there is none."""
    if depth == 0:
        raise NotPlain(f"a value nested more than {DEEPEST} deep")
    kind = type(value)
    if value is None or kind is bool:
        return repr(value)
    if issubclass(kind, str):
        return str.__repr__(value)
    if issubclass(kind, bytes | bytearray):
        return bytes.__repr__(bytes.__getitem__(value, slice(None)) if issubclass(kind, bytes) else bytes(value))
    if issubclass(kind, int | float | complex | Fraction | Decimal):
        return _number(value, kind)
    if issubclass(kind, dict):
        pairs = [f"{content(key, depth - 1)}: {content(item, depth - 1)}" for key, item in dict.items(value)]
        return "{" + ", ".join(pairs) + "}"
    if issubclass(kind, list):
        return f"[{', '.join([content(each, depth - 1) for each in list.__iter__(value)])}]"
    if issubclass(kind, tuple):
        items = [content(each, depth - 1) for each in tuple.__iter__(value)]
        return f"({', '.join(items)}{',)' if len(items) == 1 else ')'}"
    if issubclass(kind, set | frozenset) or kind in _VIEWS:
        walk = next((base.__iter__ for base in (set, frozenset) if issubclass(kind, base)), kind.__iter__)
        items = sorted([content(each, depth - 1) for each in walk(value)])
        return "{" + ", ".join(items) + "}" if items else "set()"
    raise NotPlain(f"a value of type {type.__getattribute__(kind, '__name__')}")


def _number(value: Any, kind: type) -> str:
    if issubclass(kind, int):
        if int.bit_length(value) > LARGEST * 3.32:
            raise NotPlain(f"an integer of more than {LARGEST} digits")
        return int.__repr__(value)
    if issubclass(kind, complex):
        real, imaginary = complex.__repr__(value), complex.__abs__(value)
        if not math.isfinite(imaginary):
            raise NotPlain("a complex number that is not finite")
        return real
    if issubclass(kind, float):
        return _real(float.__float__(value))
    if issubclass(kind, Decimal) and not Decimal.is_finite(value):
        return _real(Decimal.__float__(value))
    ratio = Fraction(*(Decimal if issubclass(kind, Decimal) else Fraction).as_integer_ratio(value))
    if ratio.denominator == 1:
        return _number(ratio.numerator, int)
    if ratio != (nearest := ratio.numerator / ratio.denominator):
        raise NotPlain("a fraction that no literal is equal to")
    return _real(nearest)


def _real(value: float) -> str:
    if math.isnan(value):
        raise NotPlain("a float that is not a number")
    return float.__repr__(value) if math.isfinite(value) else f"{'-' if value < 0 else ''}{INFINITE}"
