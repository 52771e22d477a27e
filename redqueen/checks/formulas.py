r"""A short formula by its value, so that 2(x+1) and 2x+2, \frac{68}{2} and 34, \sqrt{8} and 2\sqrt2 are one answer.

For votes, which must give the same label on every machine, in no time, and without a library: the formula is evaluated
with a fixed number in place of each letter, exactly where that can be done. Two formulas that differ agree there by
accident alone (Schwartz and Zippel). A check asks math-verify (`numeric.Symbolic`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt, pi, pow
from string import ascii_letters
from types import MappingProxyType

from redqueen.texts import one_spelling

LONGEST = 200  # characters
DEEPEST = 40  # brackets within one another
LARGEST = 4096  # bits of a number, above and below the line
_EXPONENT = 64
_PRIMES = [n for n in range(101, 500) if all(n % d for d in range(2, isqrt(n) + 1))]
_LETTERS: Mapping[str, Fraction] = MappingProxyType(
    {letter: Fraction(prime, 97) for letter, prime in zip(ascii_letters, _PRIMES, strict=False)}
)
_SPELLED = (
    (r"\\left|\\right|\\[,;:! ()\[\]]|\\displaystyle|\\?\$", ""),
    (r"\\[dtc]frac", r"\\frac"),
    (r"\\cdot|\\times|×|·|\*(?!\*)", "*"),
    (r"\*\*", "^"),
    (r"\\div|÷", "/"),
    (r"\\pi|(?<![a-zA-Z])pi(?![a-zA-Z])", "π"),
    (r"(?<![\\a-zA-Z])sqrt", r"\\sqrt"),
    (r"√", r"\\sqrt"),
    (r"−|–", "-"),
)
_TOKEN = re.compile(r"\s*(?:([0-9]+(?:\.[0-9]+)?|\.[0-9]+)|(\\frac|\\sqrt|[a-zA-Zπ(){}\[\]+\-*/^]))")
_WORD = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{3,}|(?:^|\s)[a-zA-Z]{2,}(?=\s|$)")
_ASSIGNED = re.compile(r"^\s*[a-zA-Z]\s*=(?!=)")
Value = Fraction | float


class _NoFormula(Exception):
    """A text that is no formula, or one that has no value."""


def by_formula(text: str) -> str | None:
    """What is equal for formulas of equal value; None for a text that is none: words, several numbers, a sum or product
    of numbers that was not worked out (12+7 is no answer)."""
    if len(text) > LONGEST:
        return None
    text = one_spelling(text)
    for form, plain in _SPELLED:
        text = re.sub(form, plain, text)
    text = _ASSIGNED.sub("", text).strip().rstrip(".").strip()
    if _WORD.search(text.replace("\\frac", "").replace("\\sqrt", "")):
        return None
    entries = _entries(text)
    try:
        if len(entries) > 1:
            ends = (text[0], text[-1]) if text[0] in "([{" and text[-1] in ")]}" else ("", "")
            return f"{ends[0]}{', '.join(_told(each) for each in entries)}{ends[1]}"
        return _told(text)
    except (_NoFormula, ZeroDivisionError, OverflowError, RecursionError):
        return None


def _entries(text: str) -> list[str]:
    """The entries of a list between commas, with or without brackets around it; the text alone where it is none."""
    inner = text[1:-1] if text[:1] in "([{" and text[-1:] in ")]}" and text else text
    return inner.split(",") if "," in inner else [text]


def _told(text: str) -> str:
    reading = _Reading(text)
    value = reading.whole()
    if not reading.letters and not reading.irrational and reading.joins:
        raise _NoFormula  # numbers that were not worked out
    if isinstance(value, Fraction) and not reading.letters:
        return str(value)
    return f"≈{float(value):.10g}"


@dataclass
class _Reading:
    """Reads a formula from left to right. `joins` says whether it has a sum, difference or product, `letters` a letter,
    `irrational` a root or pi."""

    text: str
    at: int = 0
    depth: int = 0
    joins: bool = False
    irrational: bool = False
    letters: set[str] = field(default_factory=set)

    def whole(self) -> Value:
        value = self._sum()
        if self._next() is not None:
            raise _NoFormula
        return value

    def _next(self) -> str | None:
        """The next token, which is not taken yet; None at the end."""
        if not self.text[self.at :].strip():
            return None
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            raise _NoFormula
        return found[1] or found[2]

    def _take(self, wanted: str = "") -> str:
        token = self._next()
        if token is None or (wanted and token != wanted):
            raise _NoFormula
        found = _TOKEN.match(self.text, self.at)
        assert found is not None, "it was found by _next"
        self.at = found.end()
        return token

    def _sum(self) -> Value:
        value = self._product()
        while (sign := self._next()) in ("+", "-"):
            self._take()
            self.joins = True
            other = self._product()
            value = _sized(value + other if sign == "+" else value - other)
        return value

    def _product(self) -> Value:
        value = self._signed()
        while (sign := self._next()) is not None and (sign in "*/({\\" or sign[0] == "\\" or sign.isalpha()):
            if sign in "*/":
                self._take()
                self.joins |= sign == "*"
                other = self._signed()
            else:
                other = self._power()
            if sign == "/" and not other:
                raise _NoFormula
            value = _sized(value / other if sign == "/" else value * other)
        return value

    def _signed(self) -> Value:
        if self._next() in ("-", "+"):
            return -self._signed() if self._take() == "-" else self._signed()
        return self._power()

    def _power(self) -> Value:
        value = self._atom()
        if self._next() != "^":
            return value
        self._take()
        exponent = self._signed()
        if not isinstance(exponent, Fraction) or abs(exponent) > _EXPONENT or (value == 0 and exponent <= 0):
            raise _NoFormula
        if exponent.denominator == 1:
            raised: Value = value ** int(exponent)
            return _sized(raised)
        self.irrational = True
        if value < 0:
            raise _NoFormula
        return pow(float(value), float(exponent))

    def _atom(self) -> Value:
        token = self._take()
        if token[0].isdigit() or token[0] == ".":
            return Fraction(token)
        if token in "({[":
            return self._bracketed({"(": ")", "{": "}", "[": "]"}[token])
        if token == "π":
            self.irrational = True
            return pi
        if token == "\\frac":
            top, bottom = self._argument(), self._argument()
            if not bottom:
                raise _NoFormula
            return _sized(top / bottom)
        if token == "\\sqrt":
            return self._root()
        if token in _LETTERS:
            self.letters.add(token)
            return _LETTERS[token]
        raise _NoFormula

    def _bracketed(self, end: str) -> Value:
        self.depth += 1
        if self.depth > DEEPEST:
            raise _NoFormula
        value = self._sum()
        self._take(end)
        self.depth -= 1
        return value

    def _argument(self) -> Value:
        r"""That of a command: what stands in braces, or one digit or letter (\frac12)."""
        while self.text[self.at : self.at + 1] == " ":
            self.at += 1
        one = self.text[self.at : self.at + 1]
        if one.isdigit():
            self.at += 1
            return Fraction(one)
        return self._atom()

    def _root(self) -> Value:
        degree: Value = Fraction(2)
        if self._next() == "[":
            self._take()
            degree = self._bracketed("]")
        value = self._argument()
        if not isinstance(degree, Fraction) or not 1 <= degree <= _EXPONENT or degree.denominator > 1 or value < 0:
            raise _NoFormula
        if isinstance(value, Fraction):
            power = int(degree)
            top, bottom = (round(side ** (1.0 / power)) for side in (value.numerator, value.denominator))
            if (top**power, bottom**power) == (value.numerator, value.denominator):
                return Fraction(top, bottom)
        self.irrational = True
        return pow(float(value), 1.0 / float(degree))


def _sized(value: Value) -> Value:
    if isinstance(value, complex) or (
        isinstance(value, Fraction) and max(value.numerator.bit_length(), value.denominator.bit_length()) > LARGEST
    ):
        raise _NoFormula
    return value
