"""What a `tokenizer.json` of a stranger may ask for. It is a program of replacements and patterns: replacements one
after the other multiply a text without end, and a pattern that repeats what repeats takes a time that doubles with
each character."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from redqueen.texts import file_text
from redqueen.types import RedQueenError

MOST_TIMES = 64  # what all replacements together may make of one character; those of known models make one of it
_LONGEST = 2000  # characters of a pattern; Qwen's and Llama's have some 150


def refuse_growth(folder: Path) -> None:
    """Raises RedQueenError for a folder whose tokenizer would make a short text a long one, or read it for ever."""
    path = folder / "tokenizer.json"
    try:
        found = json.loads(file_text(path))
    except (OSError, ValueError, RecursionError):
        return  # transformers says what is wrong with it
    if not isinstance(found, dict):
        return
    for part in ("normalizer", "decoder"):
        times = 1
        for each in _objects(found.get(part)):
            if each.get("type") == "Replace" and isinstance(content := each.get("content"), str):
                times *= max(len(content), 1)
        if times > MOST_TIMES:
            raise RedQueenError(f"{path}: its {part} makes up to {times:.3g} characters of one, more than {MOST_TIMES}")
    for part in ("normalizer", "pre_tokenizer", "decoder"):
        for each in _objects(found.get(part)):
            pattern = each.get("Regex")
            if isinstance(pattern, str) and (len(pattern) > _LONGEST or repeats_twice(pattern)):
                raise RedQueenError(
                    f"{path}: a pattern of its {part} repeats what repeats or is a choice, which can take for ever: "
                    f"{pattern!r:.60}"
                )


@contextmanager
def no_panic(what: str) -> Iterator[None]:
    """A panic of the library tokenizers, which is written in Rust and whose panics are no Exception, becomes one line:
    it cannot do `what`."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise RedQueenError(f"the tokenizer cannot {what}: {' '.join(str(error).split())[:100]}") from None


def repeats_twice(pattern: str) -> bool:
    """Whether a regular expression repeats a group, as (a+)+ or (a|b)*, that repeats something itself or is a choice;
    a group that is there once or not at all, as (a+)?, is not repeated."""
    deep, groups, at = 0, [False], 0  # in how many classes; of each open group whether it repeats or is a choice
    while at < len(pattern):
        sign = pattern[at]
        at += 2 if sign == "\\" else 1
        if sign == "[":
            deep += 1
        elif sign == "]" and deep:
            deep -= 1
        elif deep or sign == "\\":
            continue
        elif sign == "(":
            groups.append(False)
            at += pattern.startswith("?", at)
        elif sign == ")" and len(groups) > 1:
            inner = groups.pop()
            if inner and pattern[at : at + 1] in ("*", "+", "{"):
                return True
            groups[-1] |= inner
        elif sign in "*+{|":
            groups[-1] = True
    return False


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a value of JSON, itself among them."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
