"""Texts: what a reply says without its thoughts; and texts compared: one spelling of every character, which differences
are ignored, words, and n-grams of words; and the text of a file.

The thoughts of a reasoning model, `<think>...</think>` or as its `Marks` say, stay in the tokens of its reply, and so
in its record and its loss; nobody else is shown them, and no answer is looked for in them.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from functools import cached_property
from math import exp
from pathlib import Path

VULGAR = "[¼-¾⅐-⅞↉]"
_RAISED = re.compile("[\u2070-\u207f²³¹]+")  # superscripts: digits, signs, brackets and n
_LOWERED = re.compile("(?<=[0-9])[₀-₉]+")  # the base of a number, not the 2 of H₂O
_MIXED = re.compile(f"(?<=[0-9]|{VULGAR})(?={VULGAR})")
MOST_MARKS = 30  # on one character, as in Unicode's Stream-Safe Text Format
MOST_BYTES = 1 << 30  # of one file
_SPARSE = 16  # a file of holes stores less than one byte in so many
MOST_NESTED = 100  # lists and objects of JSON in one another
MOST_STEPS = 10_000_000  # of one comparison of two texts; about a second


def file_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """The bytes of a regular file of up to `most` bytes. Raises OSError for one that cannot be read and for anything
    else: a pipe or a device would be waited for or have no end, and a name that leads there may be a stranger's."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        read = [file.read(found.st_size)] if found.st_size <= most else []
        size = found.st_size
        while size <= most and (more := file.read(1 << 16)):  # files of Linux itself have more than they say
            read.append(more)
            size += len(more)
        if size > most:
            raise OSError(errno.EFBIG, f"it has more than {most} bytes", str(path))
    return b"".join(read)


def file_text(path: Path, encoding: str = "utf-8", most: int = MOST_BYTES) -> str:
    """The text of a file as `Path.read_text` has it, every line ended by "\\n". Raises as `file_bytes`, and
    UnicodeDecodeError."""
    return re.sub("\r\n?", "\n", file_bytes(path, most).decode(encoding))


def is_hollow(found: os.stat_result) -> bool:
    """Whether a large file is nearly all holes, which take no room in an archive and years to read."""
    return found.st_size > MOST_BYTES and found.st_blocks * 512 < found.st_size // _SPARSE


def is_deep(value: object) -> bool:
    """Whether lists and objects of JSON are nested more than MOST_NESTED deep. `json.loads` takes nearly a thousand, at
    which whatever shows or writes the value fails."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MOST_NESTED):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
    return bool(level)


def between(opening: re.Pattern[str], closing: re.Pattern[str], text: str) -> Iterator[tuple[int, int, int, int]]:
    """Where each `opening` begins and ends, and the first `closing` after it, none within another: what the pattern
    `opening(.*?)closing` finds, in a time that grows with the text and not with its square."""
    at = 0
    while (first := opening.search(text, at)) and (last := closing.search(text, first.end())):
        yield first.start(), first.end(), last.start(), last.end()
        at = last.end()


@dataclass(frozen=True)
class Marks:
    """How a model marks what it thinks: it writes `open`, the thought, `close`, and `lead` before what it says.

    `begins` and `ends` are patterns of all that opens and closes a thought, where that is more than these two; what
    matches the pattern `around` frames what is said and is no part of it. Without `open` nothing is a thought.
    """

    open: str
    close: str
    lead: str = ""
    begins: str = ""
    ends: str = ""
    around: str = ""

    @cached_property
    def beginning(self) -> re.Pattern[str]:
        return re.compile(self.begins or re.escape(self.open) or "(?!)")

    @cached_property
    def ending(self) -> re.Pattern[str]:
        return re.compile(self.ends or re.escape(self.close) or "(?!)")

    def unframed(self, text: str) -> str:
        """The text without what frames it."""
        return re.sub(self.around, "", text) if self.around else text  # what matches nowhere is looked for everywhere


THINK = Marks("<think>", "</think>")


def thinks_on(text: str, marks: Marks = THINK) -> bool:
    """Whether a thought is opened in `text` and not closed."""
    return marks.beginning.search(_thoughts(text, marks)[1]) is not None


def _thoughts(text: str, marks: Marks) -> tuple[list[str], str]:
    """The closed thoughts in a text, and the text without them."""
    found, said, at = [], [], 0
    for start, begin, end, after in between(marks.beginning, marks.ending, text):
        found.append(text[begin:end])
        said.append(text[at:start])
        at = after
    return found, "".join([*said, text[at:]])


def _whole(text: str, opened: bool, marks: Marks) -> str:
    """The text with the opening of its first thought, where the prompt already holds that."""
    return marks.open + text if opened and not marks.beginning.match(text.lstrip()) else text


def parted(text: str, opened: bool = False, marks: Marks = THINK) -> tuple[str, str | None]:
    """The thoughts in `text`, and what it says without them: None if a thought was opened and not closed. `opened` is
    whether the prompt already opened one, as the chat templates of some reasoning models do."""
    whole = _whole(text, opened, marks)
    if not marks.beginning.search(whole):
        return "", marks.unframed(text)
    found, said = _thoughts(whole, marks)
    if marks.beginning.search(said):
        return text.strip(), None
    return "\n".join(each.strip() for each in found).strip(), marks.unframed(said).lstrip()


def opened_before(text: str, marks: Marks = THINK) -> bool:
    """Whether a text closes a thought that it never opened: its prompt, which may not be known, opened it."""
    if (ended := marks.ending.search(text)) is None:
        return False
    begun = marks.beginning.search(text)
    return begun is None or ended.start() < begun.start()


def said_aloud(reply: str) -> str:
    """What a reply says without its thoughts; "" if one was not closed. Where it closes a thought that it never opened,
    its prompt opened it."""
    _, said = parted(reply, opened_before(reply))
    return (said or "").strip()


def before_stop(text: str, stops: Sequence[str]) -> tuple[str, str]:
    """What stands before the first of `stops` in a text, and that stop; all of it and "" where there is none."""
    found = [(at, stop) for stop in stops if (at := text.find(stop)) >= 0]
    at, stop = min(found, default=(len(text), ""))
    return text[:at], stop


def until_stop(text: str, stops: Sequence[str], opened: bool = False, marks: Marks = THINK) -> str | None:
    """The text up to the end of the first of `stops` in it that stands outside a thought; None if there is none."""
    if not stops:
        return None
    ends = sorted({found.end() for stop in stops for found in re.finditer(re.escape(stop), text)})
    whole = _whole(text, opened, marks)
    added = len(whole) - len(text)
    within = deque((begin, after) for _, begin, _, after in between(marks.beginning, marks.ending, whole))
    if last := marks.beginning.search(whole, within[-1][1] if within else 0):
        within.append((last.end(), len(whole) + 1))  # a thought that is never closed
    if opened and within:
        within[0] = (0, within[0][1])
    for end in ends:
        while within and within[0][1] <= end + added:
            within.popleft()
        if not within or end + added < within[0][0]:
            return text[:end]
    return None


def well_formed(text: str) -> str:
    """The text with U+FFFD in place of each half of a character (a lone surrogate), which no file can hold."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def one_spelling(text: str) -> str:
    """The text with one spelling of each character: NFKC, except that digits are never joined. 5² is 5^(2) and not 52,
    1½ is 1 1/2 and not 11/2, 101₂ is 101_(2). Marks on a character beyond `MOST_MARKS` are left out: Python sorts them
    in a time that grows with the square of their number."""
    text = _LOWERED.sub(r"_(\g<0>)", _RAISED.sub(r"^(\g<0>)", _MIXED.sub(" ", text)))
    return unicodedata.normalize("NFKC", text if text.isascii() else _with_few_marks(text)).replace("⁄", "/")


def _with_few_marks(text: str) -> str:
    kept, marks = [], 0
    for sign in text:
        marks = marks + 1 if unicodedata.combining(sign) else 0
        if marks <= MOST_MARKS:
            kept.append(sign)
    return "".join(kept)


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


class Matcher(SequenceMatcher[str]):
    """difflib's matcher, which compares what `likeness` and the diffs of repositories compare. Its time grows with the
    cube of texts that repeat themselves: `MOST_STEPS` are taken, and then TooLong is raised."""

    a: Sequence[str]
    b2j: dict[str, list[int]]  # what stands in the other text, and at which places

    def __init__(self, one: Sequence[str], other: Sequence[str], autojunk: bool = False) -> None:
        self.left = MOST_STEPS
        super().__init__(None, one, other, autojunk)

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        # a step is one place of the other text that holds what stands at a place of this one
        self.left -= sum(len(self.b2j.get(each, ())) + 1 for each in self.a[alo:ahi])
        if self.left < 0:
            raise TooLong
        return super().find_longest_match(alo, ahi, blo, bhi)


class TooLong(ValueError):
    """Two texts that are too long, or repeat too much, to be compared."""


def likeness(one: str, other: str) -> float | None:
    """The similarity of two texts, 0 to 1: twice the characters in common, in their order, over all characters
    (difflib's ratio without its heuristic). None where they are too long or repeat too much to be compared."""
    if one == other:
        return 1.0
    try:
        return Matcher(one, other).ratio()
    except TooLong:
        return None


def of_length(characters: int, least: int, most: int) -> float:
    """What a text of so many characters is paid for its length in the released code of EvolvR (2508.06046): 1 from
    `least` to `most` characters, in proportion below, and .8 and a falling rest of .2 above."""
    if characters < least:
        return characters / least
    return 1.0 if characters <= most else 0.8 + 0.2 * exp(-(characters - most) / 1000.0)
