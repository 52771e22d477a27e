"""Parses command-line arguments into dataclasses, with errors in one line."""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from difflib import get_close_matches
from functools import reduce
from itertools import pairwise
from typing import Any, TypeVar, get_type_hints

import tyro

from redqueen.settings.renamed import VARIANTS, instead, renamed
from redqueen.types import RedQueenError

T = TypeVar("T")
_WRONG_KINDS = (  # what tyro says of a value of another kind, and the kind if it does not say it
    (
        r"(?P<flag>--\S+): no type matching (?P<kinds>.+?) could be instantiated from \[(?P<given>.*?)\]\. Got errors",
        "",
    ),
    (r"(?P<flag>--\S+): invalid literal for int\(\) with base 10: (?P<given>.+)", "INT"),
    (r"(?P<flag>--\S+): could not convert string to float: (?P<given>.+)", "FLOAT"),
)
began: float | None = None  # the clock (time.perf_counter) as the command was given, before it imported anything


def parse(kind: type[T], words: Sequence[str], program: str) -> T:
    """The dataclass `kind` filled from flags. Raises RedQueenError with tyro's message in one line."""
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            options, unknown = tyro.cli(kind, args=list(words), prog=program, return_unknown_args=True)
    except SystemExit as stop:
        if stop.code == 0:
            raise
        raise RedQueenError(f"{_in_one_line(said.getvalue())} ({program} --help)") from None
    if unknown:
        word = unknown[0]
        known = flags_of(kind)
        if name := renamed(word.replace("_", "-"), known):
            raise RedQueenError(f"{word.partition('=')[0]} is {name} now ({program} --help)")
        if sentence := instead(word.replace("_", "-"), known):
            raise RedQueenError(f"{word.partition('=')[0]}: {sentence} ({program} --help)")
        if word.partition("=")[0].replace("_", "-").replace("--no-", "--") in VARIANTS:
            raise RedQueenError(f"{word.partition('=')[0]} is no flag any more but a variant: see experiments/")
        hint = closest(word, known) if word.startswith("-") and known else "it is one word too many"
        raise RedQueenError(f"unknown argument {word!r}: {hint} ({program} --help)")
    _refuse_empty(options, words)
    return options


def _in_one_line(box: str) -> str:
    """The message in a box of tyro's, without the box and the advice under it."""
    lines = [line.strip("│╭╮╰╯─ ") for line in box.splitlines()]
    words = " ".join(" ".join(line for line in lines if line.strip("-")).split())  # a box of ASCII has rules of -
    for tail in (" Argument helptext", " For full helptext", " ──"):
        words = words.partition(tail)[0]
    for said, kinds in _WRONG_KINDS:
        if found := re.search(said, words):
            flag, given = found["flag"], found["given"]
            taken = (kinds or found["kinds"]).removeprefix("{None}|").replace("|", " or ")
            return f"{flag}: takes {taken}, not {given}"
    named = words.partition(" Missing from ")[2]
    if named:
        return f"{named.partition(': ')[2].split(' ')[0]} is missing"
    for head in ("Value error ", "Missing argument ", "Error parsing ", "Invalid choice "):
        words = words.removeprefix(head)
    return words or "bad arguments"


@dataclasses.dataclass(frozen=True)
class _Flag:
    """A flag, the names of the fields that lead to its value, and the default of the last of them."""

    name: str
    path: tuple[str, ...]
    default: Any


def flags_of(kind: type[Any]) -> list[str]:
    """Every flag of a dataclass; those of a nested dataclass begin with its name, unless it is flat."""
    return [flag.name for flag in _flags(kind)]


def _flags(kind: type[Any], before: str = "--", path: tuple[str, ...] = ()) -> list[_Flag]:
    found, hints = [], get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        hint, name, place = hints[field.name], field.name.replace("_", "-"), (*path, field.name)
        inner, marks = getattr(hint, "__origin__", hint), getattr(hint, "__metadata__", ())
        marks = (*marks, *getattr(inner, "__tyro_markers__", ()))  # of the class, by tyro.conf.configure
        flat = any(getattr(mark, "name", None) == "" for mark in marks)
        if isinstance(inner, type) and dataclasses.is_dataclass(inner):
            found += _flags(inner, before if flat else f"{before}{name}.", place)
        elif tyro.conf.Positional not in marks:
            found.append(_Flag(before.removesuffix(".") if flat else before + name, place, field.default))
    return found


def _refuse_empty(options: Any, words: Sequence[str]) -> None:
    """Raises RedQueenError for a flag of several values that is given none, as by an empty variable of the shell, where
    that is its default and would change nothing."""
    bare = [word.replace("_", "-") for word, after in pairwise([*words, "--"]) if after.startswith("--")]
    for flag in _flags(type(options)) if any(word.startswith("--") for word in bare) else ():
        if flag.name in bare and flag.default == () == reduce(getattr, flag.path, options):
            raise RedQueenError(f"{flag.name} is given without a value: name one, or leave it out")


def closest(word: str, known: Sequence[str] | Mapping[str, object]) -> str:
    close = get_close_matches(word, list(known), n=1)
    if close:
        return f"did you mean {close[0]}?"
    names = list(known)
    are = "is" if len(names) == 1 else "are"
    return f"there {are} {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}"


def only_word(words: Sequence[str], usage: str) -> str:
    if len(words) != 1 or words[0].startswith("-"):
        raise RedQueenError(f"usage: {usage}")
    return words[0]
