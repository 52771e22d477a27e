"""Whether a short answer is right: as text, as a number, as an expression.

A verifier is given the answer only (`AnswerFormat` finds it in a reply). An answer that is not in the required
form is wrong; a task whose own answer is not is an error of the user.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from redqueen.checks.calculation import guarded_eval
from redqueen.checks.worker import Undecided, Worker
from redqueen.texts import VULGAR, one_spelling
from redqueen.types import Metrics, RedQueenError, Task

LONGEST = 1000  # characters of an expression; a longer answer is not one
_LONGEST_NUMBER = 100  # characters
_EXPONENT = 400
_ROUNDED = Fraction(1, 10**5)  # math-verify rounds to six decimals
_QUOTES = "\"'`*“”‘’ "
_WORD = re.compile(
    r"(?:(?<![\w)\]])-)?(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+|(?<!\w)\.[0-9]+)(?:\.[0-9]+)*(?:\w+|!+)?|\w+"
)


def normalised(text: str) -> str:
    """The text in lower case, `one_spelling`, one minus and single spaces, without the quotes and end punctuation
    around it; the mark of a factorial stays."""
    folded = " ".join(one_spelling(text).replace("−", "-").casefold().split()).strip(_QUOTES)
    ended = folded.rstrip(".,;:!? ")
    if ended[-1:].isdigit():
        rest = folded[len(ended) :]
        ended += rest[: len(rest) - len(rest.lstrip("!"))]
    return ended.strip(_QUOTES)


def words(text: str) -> list[str]:
    """The words of a text, normalised, without punctuation and, unless nothing else is left, the articles a, an, the,
    as for exact match in question answering (Rajpurkar et al., 2016). A number is one word, with its sign, its
    decimal point and the mark of a factorial: -5, 3.5, 5!."""
    found = [word.replace(",", "") for word in _WORD.findall(normalised(text))]
    return [word for word in found if word not in ("a", "an", "the")] or found


@dataclass(frozen=True)
class Exact:
    """Right if the answer equals the task's, ignoring case, white space and the punctuation around it; with
    `words_only` also articles and all punctuation that is not part of a number."""

    words_only: bool = False

    def __call__(self, task: Task, answer: str) -> bool:
        read: Callable[[str], Any] = words if self.words_only else normalised
        right = read(task.answer)
        if not right:
            raise RedQueenError(f"the answer of task {task.id!r} is {task.answer!r}: Exact() needs some text")
        return bool(read(answer) == right)


@dataclass(frozen=True)
class Covers:
    """Right if the answer contains the words of the task's, contiguous and in order, with at most `spare` others (the
    rule of SPELL, arXiv:2509.23863, which has no such limit, so that an answer that lists everything passes)."""

    spare: int = 20

    def __call__(self, task: Task, answer: str) -> bool:
        right, given = words(task.answer), words(answer)
        if not right:
            raise RedQueenError(f"the answer of task {task.id!r} is {task.answer!r}: Covers() needs some words")
        starts = range(len(given) - len(right) + 1)
        return len(given) <= len(right) + self.spare and any(given[at : at + len(right)] == right for at in starts)


@dataclass(frozen=True)
class Number:
    """Right if the answer is a number at most `tolerance` away from the task's, or `relative` times the task's.

    With `units` a currency sign before and a unit after the number are dropped, not compared: 5 km is 5 m.
    """

    tolerance: float = 0.0
    relative: float = 0.0
    units: bool = False

    def __post_init__(self) -> None:
        if not (0 <= self.tolerance < math.inf and 0 <= self.relative < math.inf):
            raise RedQueenError(f"a tolerance is 0 or above, not {self.tolerance} and {self.relative}")

    def __call__(self, task: Task, answer: str) -> bool:
        right = number(task.answer, self.units)
        if right is None:
            raise RedQueenError(
                f"the answer of task {task.id!r} is {task.answer!r}: Number() needs one such as 1,234.5, 3/4 or 1e3"
            )
        given = number(answer, self.units)
        # by their decimals: Fraction(0.3) is less than 3/10
        allowed = max(Fraction(str(self.tolerance)), Fraction(str(self.relative)) * abs(right))
        return given is not None and abs(given - right) <= allowed


_DECIMAL = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+"
_NUMBER = re.compile(
    r"(?P<sign>[-+])?\s*(?:(?P<whole>[0-9]+)\s+(?=[0-9]+\s*/))?"
    rf"(?P<top>{_DECIMAL})(?:[eE](?P<exponent>[-+]?[0-9]{{1,3}}))?"
    rf"(?:\s*/\s*(?P<bottom>{_DECIMAL}))?\s*(?P<percent>%)?"
)
_CURRENCY = re.compile(r"^([-+]?)\s*[$€£¥]\s*")
_UNIT_WORD = re.compile(r"([^\W\d_]+)(?:\^?-?[23]|\^\(-?[23]\))?|°[A-Za-z]?")
_NO_UNIT = re.compile(
    r"(?i:(?:per ?cent(?:age)?|cent|dozen|hundred|thousand|[mbtr]+illion|crore|lakh|k|mio|bn)s?|"  # change the value
    r"half|halves|(?:third|quarter|tenth|hundredth|thousandth)s?|"
    r"π|pi|e|i|sqrt|squared|cubed|factorial|"
    r"or|and|to|not|plus|minus|times|x)|"  # a second number may follow
    r"[BM]"  # 5 m is a length, 5 M five million
)
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])(\d{1,3}(?:\.\d{3})++|\d++),(\d++)(?![,.]?\d)")
_GLUED = re.compile(r"(?<!\s)[^\W\d_](?![^\W\d_])")  # a letter alone that touches the number
_LETTERS = frozenset("mgslhLVWNJCFΩ")  # which of these are units; any other is a variable


def number(text: str, units: bool = False) -> Fraction | None:
    """The exact value of a text that is one number and nothing else: 1,234.5, 3/4, 1 1/2, 50% (one half), 1e3.

    None for any other text: two numbers, a comma that does not part thousands, a division by zero, more than
    100 characters or an exponent beyond 400. With `units` also "$5", "12 cm", "30 km/h"; a word that changes the value
    ("5 million", "5 percent", "2 pi") or joins another ("5 or 6") is no unit, nor is a letter such as that of "2a", and
    such a text is None.
    """
    text = one_spelling(text).replace("−", "-").strip()
    text = _CURRENCY.sub(r"\1", text) if units else text
    found = _NUMBER.match(text) if len(text) <= _LONGEST_NUMBER else None
    if found is None or not (_is_unit(text, found.end()) if units else found.end() == len(text)):
        return None
    top, bottom = Fraction(_plain(found["top"])), Fraction(_plain(found["bottom"] or "1"))
    if bottom == 0 or abs(int(found["exponent"] or 0)) > _EXPONENT:
        return None
    size = Fraction(int(found["whole"] or 0)) + top * Fraction(10) ** int(found["exponent"] or 0) / bottom
    return (-size if found["sign"] == "-" else size) / (100 if found["percent"] else 1)


def with_points(text: str) -> str:
    """The text with a point for every comma before decimals, and without points between the thousands before it:
    1.234,5 as 1234.5."""
    return _DECIMAL_COMMA.sub(lambda found: f"{found[1].replace('.', '')}.{found[2]}", text)


def _plain(digits: str) -> str:
    return digits.replace(",", "").rstrip(".")


def _is_unit(text: str, start: int) -> bool:
    """Whether the text after a number is empty, or a unit of up to three words."""
    letter = _GLUED.match(text, start)
    if letter and letter[0] not in _LETTERS:
        return False
    parts = [_UNIT_WORD.fullmatch(part) for part in re.split(r"[\s/·.]+", text[start:]) if part]
    return len(parts) <= 3 and all(part and not _NO_UNIT.fullmatch(part[1] or "") for part in parts)


@dataclass(frozen=True)
class Symbolic:
    r"""The answer equals the task's as mathematics: 2x+2 and 2(x+1), \frac{1}{2} and 0.5, {1,2} and {2,1}.

    Equal texts and plain numbers are compared here, 50% being one half and never 50; the rest goes to math-verify (the
    extra [math]) in a process of its own, because its own time limits rest on signals and can hang a trainer (R-Zero,
    issue 10). An answer that is not one expression is wrong. Where the process had to be ended there is no verdict: a
    call raises Undecided, and `verdicts` gives None, which is left out of the rewards and counted.
    """

    seconds: float = 5.0  # of processor time for one comparison
    memory: int = 2 << 30  # bytes of address space
    _worker: Worker = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        worker = Worker("redqueen.checks.numeric:prepare_symbolic", self.seconds, self.memory)
        object.__setattr__(self, "_worker", worker)

    def __call__(self, task: Task, answer: str) -> bool:
        return self._equal(task, answer)

    def verdicts(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool | None]:
        """For each answer whether it equals its task's, None if there is no verdict. Equal pairs are compared once."""
        known: dict[tuple[str, str], bool | None] = {}
        for task, answer in zip(tasks, answers, strict=True):
            if (task.answer, answer) not in known:
                known[task.answer, answer] = None
                with suppress(Undecided):
                    known[task.answer, answer] = self._equal(task, answer)
        return [known[task.answer, answer] for task, answer in zip(tasks, answers, strict=True)]

    def same(self, first: str, second: str) -> bool:
        """Whether two answers are equal, for use in `votes`; false if math-verify cannot parse them, or cannot compare
        them within the limits."""
        if _quickly(first, second) is not None:
            return bool(_quickly(first, second))
        try:
            found = self._worker.ask([first, second])
        except Undecided:
            return False
        return bool(found["same"])

    def close(self) -> None:
        """Ends the process."""
        self._worker.close()

    def _equal(self, task: Task, answer: str) -> bool:
        quick = _quickly(task.answer, answer)
        if quick is not None and task.answer.strip():
            return quick
        found = self._worker.ask([task.answer, answer])
        if not found["first_read"]:
            raise RedQueenError(
                f"the answer of task {task.id!r} is {task.answer!r}: math-verify reads no expression in it"
            )
        return bool(found["same"])


def _quickly(first: str, second: str) -> bool | None:
    """The verdict for equal texts and plain numbers, without a library; None for others."""
    if first.strip() == second.strip() and first.strip():
        return True
    one, other = number(_untexed(first)), number(_untexed(second))
    if one is None or other is None:
        return None
    return True if one == other else None if abs(one - other) < _ROUNDED else False


def verdict_counts(verdicts: Sequence[bool | None]) -> Metrics:
    """The number of verdicts, the share of right ones, and the share of questions without a verdict."""
    given = [verdict for verdict in verdicts if verdict is not None]
    right = {"verified_right": sum(given) / len(given)} if given else {}
    undecided = 1.0 - len(given) / len(verdicts) if verdicts else 0.0
    return {"verified": float(len(given)), "undecided": undecided, **right}


def prepare_symbolic() -> Callable[[list[str]], dict[str, bool]]:
    """The function that the process runs: it parses two expressions and compares them, the first as the right one."""
    try:
        import math_verify
    except ImportError:
        raise RedQueenError("Symbolic() needs the extra [math]: pip install 'redqueen[math]'") from None
    config, verify = [math_verify.LatexExtractionConfig()], math_verify.verify

    def read(text: str) -> list[Any]:
        expression = _expression(text)
        if expression is None:
            return []
        quiet = {"fallback_mode": "no_fallback", "parsing_timeout": None}
        return list(math_verify.parse(f"${expression}$", config, **quiet))

    def compare(texts: list[str]) -> dict[str, bool]:
        try:
            first, second = read(texts[0]), read(texts[1])
            same = bool(first and second) and verify(first, second, timeout_seconds=None, raise_on_error=True)
        except (MemoryError, RecursionError):  # these are for the process to report
            raise
        except Exception as error:  # sympy gives up on some pairs, in many ways
            raise Undecided(type(error).__name__) from error
        return {"first_read": bool(first), "second_read": bool(second), "same": bool(same)}

    def serve(texts: list[str]) -> dict[str, bool]:
        with guarded_eval():
            return compare(texts)

    return serve


_SHELLS = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"), ("\\boxed{", "}"))
_THIN_SPACE = re.compile(r"(?<=[0-9])(,?)(?:\\[,!])+(?=[0-9]{3}(?![0-9]))")  # 1\,000 and 1,\!000
_PERCENT = re.compile(rf"({_DECIMAL})\s*%")
_INDEX = re.compile(r"_([0-9]+)")
_ARGUMENT = re.compile(r"(?:\\[cdt]?frac|\\[dt]?binom|\\sqrt|\])\s*[0-9]")
_SEVERAL = re.compile(r"\$|\\boxed|[0-9](?:\s|\\[,;:!])+[0-9]")  # "1 2" would be read as a sum, "1\,2" as a product


def _untexed(text: str) -> str:
    """The text with its signs of dollar and percent and its thousands as they stand outside of TeX."""
    return _THIN_SPACE.sub(r"\1", text.replace("\\$", "").replace("\\%", "%")).strip()


def _expression(text: str) -> str | None:
    """The text without dollars or a box around all of it; None where it is none, too long, or more than one."""
    text = _untexed(text).rstrip(".").strip()
    for left, right in _SHELLS:
        if text.startswith(left) and text.endswith(right) and len(text) > len(left) + len(right):
            text = text[len(left) : -len(right)].strip()
    value = number(text)
    if value is not None:
        return f"\\frac{{{value.numerator}}}{{{value.denominator}}}"
    if not text or len(text) > LONGEST or re.search(VULGAR, text):  # 1/2 x would be read as 1/(2x)
        return None
    text = one_spelling(text).replace("**", "^")
    text = _INDEX.sub(r"_{\1}", _PERCENT.sub(_hundredths, text))
    return None if _SEVERAL.search(_ARGUMENT.sub("x", text)) else text


def _hundredths(percent: re.Match[str]) -> str:
    return f"\\frac{{{_plain(percent[1])}}}{{100}}"
