"""Texts: what a reply says without its thoughts; and texts compared: one spelling of every character, which differences
are ignored, words, and n-grams of words.

The thoughts of a reasoning model, `<think>...</think>`, stay in the tokens of its reply, and so in its record and its
loss; nobody else is shown them, and no answer is looked for in them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

THOUGHT_MARKS = OPEN, CLOSE = "<think>", "</think>"
_THOUGHT = re.compile(rf"{OPEN}(.*?){CLOSE}", re.DOTALL)
VULGAR = "[¼-¾⅐-⅞↉]"
_RAISED = re.compile("[\u2070-\u207f²³¹]+")  # superscripts: digits, signs, brackets and n
_LOWERED = re.compile("(?<=[0-9])[₀-₉]+")  # the base of a number, not the 2 of H₂O
_MIXED = re.compile(f"(?<=[0-9])(?={VULGAR})")


def thinks_on(text: str) -> bool:
    """Whether a thought is opened in `text` and not closed."""
    return OPEN in _THOUGHT.sub("", text)


def parted(text: str, opened: bool = False) -> tuple[str, str | None]:
    """The thoughts in `text`, and what it says without them: None if a thought was opened and not closed. `opened` is
    whether the prompt already opened one, as the chat templates of some reasoning models do."""
    whole = OPEN + text if opened and not text.lstrip().startswith(OPEN) else text
    if OPEN not in whole:
        return "", text
    if thinks_on(whole):
        return text.strip(), None
    said = _THOUGHT.sub("", whole)
    return "\n".join(found.strip() for found in _THOUGHT.findall(whole)).strip(), said.lstrip()


def said_aloud(reply: str) -> str:
    """What a reply says without its thoughts; "" if one was not closed. Where it closes a thought that it never opened,
    its prompt opened it."""
    _, said = parted(reply, opened=CLOSE in reply.partition(OPEN)[0])
    return (said or "").strip()


def until_stop(text: str, stops: Sequence[str], opened: bool = False) -> str | None:
    """The text up to the end of the first of `stops` in it that stands outside a thought; None if there is none."""
    ends = sorted({found.end() for stop in stops for found in re.finditer(re.escape(stop), text)})
    return next((text[:end] for end in ends if parted(text[:end], opened)[1] is not None), None)


def one_spelling(text: str) -> str:
    """The text with one spelling of each character: NFKC, except that digits are never joined. 5² is 5^(2) and not 52,
    1½ is 1 1/2 and not 11/2, 101₂ is 101_(2)."""
    text = _LOWERED.sub(r"_(\g<0>)", _RAISED.sub(r"^(\g<0>)", _MIXED.sub(" ", text)))
    return unicodedata.normalize("NFKC", text).replace("⁄", "/")


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+|[^\w\s]|_")
# marks of prose only: operators, quotes of code, primes and factorials mean something, and so does the point of .5
_PUNCTUATION = re.compile(r"[.,:](?!\d)|[;?“”]")

Gram = tuple[str, ...]


@dataclass(frozen=True)
class Wording:
    """Which differences between texts are ignored; calling it returns the text without them.

    With `numbers` false each number becomes 0, so that a known problem with other numbers is found.
    For programs set `space` (lines are indented) and `case` to true.
    """

    case: bool = False  # whether A and a differ
    space: bool = False  # whether the amount and kind of white space matters
    punctuation: bool = True  # whether the marks of prose count
    numbers: bool = True

    def __call__(self, text: str) -> str:
        text = one_spelling(text)
        if not self.case:
            text = text.casefold()
        if not self.punctuation:
            text = _PUNCTUATION.sub(" ", text)  # a space: f(a,b) is not f(ab)
        if not self.numbers:
            text = _NUMBER.sub("0", text)
        return text if self.space else " ".join(text.split())


def tokens(text: str) -> list[str]:
    """The words, numbers and single other characters of a text: "x2 = 3.5" is x, 2, =, 3.5."""
    return _TOKEN.findall(text)


def grams(words: list[str], length: int) -> set[Gram]:
    """The distinct runs of `length` words; a shorter text is one run."""
    if not words:
        return set()
    return {tuple(words[start : start + length]) for start in range(max(1, len(words) - length + 1))}
