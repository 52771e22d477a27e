"""Designs that a model wrote in a small part of Verilog: read, written anew, worked out, and simulated by iverilog.

    assign y = (a & ~b) | (s ? a : c);

Names, 0 and 1, `~ & ^ |`, `? :` and brackets are read, and nothing else: what reaches iverilog is written from the tree
that was read, never the text of a model, which could open files there. A value means what it does in Verilog: `1'b0`
and `1'b1` have one bit, bare 0 and 1 have 32, so that `~ 1 ? a : b` is a, and `~ 1'b1 ? a : b` is b.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from shutil import which
from typing import Any

from redqueen.types import RedQueenError

LONGEST = 400  # characters of a design
DEEPEST = 30  # brackets and signs within one another
SECONDS = 20.0  # of a simulation; more is a failure of the program, not of a design
LEAST_FIRST = ("|", "^", "&")  # how loosely the signs bind
_TOKEN = re.compile(r"\s*(assign\b|[A-Za-z_]\w*|1'b[01]|[01]\b|[=~&^|?:();])")

BARE_BITS = 32
CONSTANTS = {"0": BARE_BITS, "1": BARE_BITS, "1'b0": 1, "1'b1": 1}  # their bits; the last character is the value

Expression = tuple[Any, ...]  # (name,), ("0",), ("1'b0",), ("~", one), ("&", one, other), ("?", which, one, other)


class DesignError(Exception):
    """A text that is no design, with what is wrong in one line."""


def read_design(text: str, inputs: Sequence[str]) -> Expression:
    """The expression of `assign y = ...;` over these inputs. Raises DesignError."""
    if len(text) > LONGEST:
        raise DesignError(f"a design has {LONGEST} characters at most, not {len(text)}")
    reader = _Reader(_tokens(text), tuple(inputs))
    for word in ("assign", "y", "="):
        reader.take(word)
    found = reader.choice(0)
    reader.take(";")
    reader.end()
    return found


def _tokens(text: str) -> list[str]:
    found, at, text = list[str](), 0, text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise DesignError(f"{text[at : at + 10].strip()!r} is no name, 0, 1, ~ & ^ | ? : or bracket")
        found.append(match[1])
        at = match.end()
    return found


class _Reader:
    """Reads one expression by recursive descent."""

    def __init__(self, tokens: Sequence[str], inputs: tuple[str, ...]) -> None:
        self._tokens, self._inputs, self._at = tokens, inputs, 0

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def take(self, word: str) -> None:
        if self._next() != word:
            raise DesignError(f"expected {word!r}, not {self._next() or 'the end'!r}")
        self._at += 1

    def end(self) -> None:
        if self._next():
            raise DesignError(f"one assign and nothing after it, not {self._next()!r}")

    def choice(self, depth: int) -> Expression:
        found = self._of_signs(LEAST_FIRST, depth)
        if self._next() != "?":
            return found
        self.take("?")
        one = self.choice(depth + 1)
        self.take(":")
        return ("?", found, one, self.choice(depth + 1))

    def _of_signs(self, signs: Sequence[str], depth: int) -> Expression:
        if depth > DEEPEST:
            raise DesignError(f"brackets and signs lie more than {DEEPEST} deep")
        if not signs:
            return self._single(depth)
        found = self._of_signs(signs[1:], depth)
        while self._next() == signs[0]:
            self._at += 1
            found = (signs[0], found, self._of_signs(signs[1:], depth))
        return found

    def _single(self, depth: int) -> Expression:
        word = self._next()
        if word == "~":
            self._at += 1
            return ("~", self._of_signs((), depth + 1))
        if word == "(":
            self._at += 1
            found = self.choice(depth + 1)
            self.take(")")
            return found
        if word not in (*self._inputs, *CONSTANTS):
            raise DesignError(f"{word or 'the end'!r} is no input: they are {', '.join(self._inputs)}")
        self._at += 1
        return (word,)


def written(tree: Expression) -> str:
    """The expression with a space around each sign, and brackets around all within others but names and `~`."""
    match tree:
        case (sign, one) if sign == "~":
            return (
                f"~ ( {written(one)} )" if one[0] == "~" else f"~ {_bracketed(one)}"
            )  # no sign follows a ~ in Verilog
        case (sign, which_one, one, other) if sign == "?":
            return f"{_bracketed(which_one)} ? {_bracketed(one)} : {_bracketed(other)}"
        case (sign, one, other):
            return f"{_bracketed(one)} {sign} {_bracketed(other)}"
    return str(tree[0])


def _bracketed(tree: Expression) -> str:
    return written(tree) if len(tree) == 1 or (tree[0] == "~" and len(tree[1]) == 1) else f"( {written(tree)} )"


def width_of(tree: Expression) -> int:
    """The bits of the expression where nothing around it asks for more: those of its widest part, but for what stands
    before a `?`."""
    parts = tree[2:] if tree[0] == "?" else tree[1:]
    return max(map(width_of, parts)) if parts else CONSTANTS.get(str(tree[0]), 1)


def value_of(tree: Expression, inputs: Mapping[str, int], bits: int = 1) -> int:
    """What the expression comes to in so many bits; what stands before a `?` has its own width, and counts as 1 where
    any bit is set."""
    match tree:
        case (sign, one) if sign == "~":
            return (1 << bits) - 1 - value_of(one, inputs, bits)
        case (sign, which_one, one, other) if sign == "?":
            return value_of(one if value_of(which_one, inputs, width_of(which_one)) else other, inputs, bits)
        case ("&", one, other):
            return value_of(one, inputs, bits) & value_of(other, inputs, bits)
        case ("|", one, other):
            return value_of(one, inputs, bits) | value_of(other, inputs, bits)
        case ("^", one, other):
            return value_of(one, inputs, bits) ^ value_of(other, inputs, bits)
    name = str(tree[0])
    return int(name[-1]) if name in CONSTANTS else inputs[name]


def table_of(tree: Expression, inputs: Sequence[str]) -> str:
    """y for all values of the inputs, counted from 00 up: "0001" for a & b."""
    rows = product((0, 1), repeat=len(inputs))
    return "".join(str(value_of(tree, dict(zip(inputs, row, strict=True)))) for row in rows)


def why_not_simulated() -> str:
    """What is missing for `simulated`; "" where nothing is."""
    missing = [name for name in ("iverilog", "vvp") if which(name) is None]
    return f"{' and '.join(missing)} not found: apt-get install iverilog" if missing else ""


def simulated(tree: Expression, inputs: Sequence[str]) -> str:
    """What iverilog says that y is, as `table_of`; x and z where it says so. Raises RedQueenError without the program,
    and where it fails: what it is given was written here."""
    if missing := why_not_simulated():
        raise RedQueenError(f"circuits are simulated by iverilog: {missing}")
    bits, names = len(inputs), ", ".join(inputs)
    source = f"""module circuit(input {names}, output y);
assign y = {written(tree)};
endmodule
module bench;
reg [{bits - 1}:0] row; wire y; integer i;
circuit d({", ".join(f"row[{bits - 1 - place}]" for place in range(bits))}, y);
initial begin for (i = 0; i < {2**bits}; i = i + 1) begin row = i; #1 $write("%b", y); end $finish; end
endmodule
"""
    with tempfile.TemporaryDirectory() as folder:
        file, program = Path(folder, "design.v"), Path(folder, "design.vvp")
        file.write_text(source, encoding="ascii")
        _ran("iverilog", "-g2005", "-o", str(program), str(file))
        said = _ran("vvp", "-n", str(program))
    found = said.strip().partition("\n")[0]
    if len(found) != 2**bits:
        raise RedQueenError(f"iverilog said {said!r:.80} of {2**bits} rows")
    return found


def _ran(*words: str) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise RedQueenError(f"{words[0]} took more than {SECONDS:g} seconds") from None
    if done.returncode:
        raise RedQueenError(f"{words[0]} failed: {' '.join(done.stderr.split())[:200]}")
    return done.stdout
