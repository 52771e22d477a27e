r"""The short answer in a text: what a reply gives, and what the answer column of a data set expects.

In a reply the answer is looked for in this order; the first that is there counts, and of several alike the last:

    1. \boxed{...}                4. a choice letter alone, where a letter is expected
    2. #### ...                   5. the last number (or date), where a number (or a date) is expected
    3. "the answer is ...",       6. the whole reply, where a text is expected
       "Answer: ..."

Nothing is guessed beyond that: a reply in which none of it stands has no answer (""). What was thought before
`</think>` is not read, and thoughts that are never closed leave no answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

from redqueen.checks.dates import date_of, dates_in
from redqueen.checks.numeric import normalised, number
from redqueen.texts import said_aloud

LETTERS = "ABCDEFGHIJ"  # of choices


class Kind(StrEnum):
    """What an expected answer is, and so how a given one is looked for and compared."""

    NUMBER = "number"
    FORMULA = "formula"  # mathematics that is no plain number
    CHOICE = "choice"
    DATE = "date"
    TEXT = "text"


_BOX = re.compile(r"\\f?boxed\s*\{")
_HASHES = re.compile(r"(?m)^[ \t]*#{4}[ \t]*(\S.*)$|(?<=\s)#{4}[ \t]*(\S.*)$")
_SAID = re.compile(
    r"(?i)\b(?:answer|correct (?:option|choice|answer)|right (?:option|choice))(?:\s+(?:here|to [^.:\n]{1,60}?))?"
    r"[*_]*\s*(?:(?:is|was|equals|would be|should be|must be|will be)\b(?:\s+(?:therefore|thus|then|simply))?"
    r"\s*[:=]?|[:=])[ \t*_]*\n?(?P<rest>[^\n]*)"
)
_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+"
_NUMBERS = re.compile(
    rf"(?P<value>(?:(?<![\w)\]}}%])[-+])?(?:[0-9]+\s+[0-9]+/[0-9]+|(?:{_DIGITS})"
    rf"(?:[eE][-+]?[0-9]{{1,3}})?(?:\s*/\s*(?:{_DIGITS}))?)\s?%?)"
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")
_FRACTION = re.compile(r"(-?)(?<!\s)\s*+\\[dtc]?frac\s*(?:\{\s*(-?[0-9.]+)\s*\}\s*\{\s*([0-9.]+)\s*\}|([0-9])([0-9]))")
_SPACES = re.compile(r"(?<=[0-9])(?:\\[,!;: ]|\{,\})(?=[0-9]{3}(?![0-9]))")
_TEXT = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|operatorname|mbox)\s*\{([^{}]*)\}")
_LETTER = re.compile(r"\(?([A-J])(?:\)|\]|\.(?=\s|$)|:|,|;|$|(?=\s*[-–—]\s)|(?=\s+(?:because|since|as|which|for)\b))")
_ALONE = re.compile(r"(?i)(?:option|choice)?\s*[(\[]?([A-J])[)\]]?[.:]?")
_CODE = re.compile(r"\+?[0-9]+(?:[-–][0-9]+)+|[0-9]+(?:[-–./][0-9]+){2,}")  # a date, a range, a telephone number
_GROUPS = re.compile(r"[-+]?[0-9]{1,3}(?:[ \u00a0\u2009\u202f][0-9]{3})+(?:\.[0-9]+)?")  # 1 000 000
_LISTED = re.compile(r"(?i)[(\[]?([A-J])[)\].:]+\s+(.+)", re.DOTALL)
_MATHEMATICS = re.compile(
    r"\\[a-zA-Z{]+|\^|[0-9a-zA-Z)\]}]\s*[-+*/=<>]\s*[0-9a-zA-Z(\[{\\]|[(\[]\s*[-0-9a-z.]+\s*,|\{\s*[-−]?[0-9./]+\s*,"
)


def boxed(text: str) -> str:
    r"""The content of the last `\boxed{...}`, without `\text{...}` around it; "" if there is none or it is never
    closed."""
    found = list(_BOX.finditer(text))
    if not found:
        return ""
    start, depth = found[-1].end(), 1
    for at in range(start, len(text)):
        if text[at - 1] != "\\" or text[at - 2 : at] == "\\\\":
            depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return _TEXT.sub(r"\1", text[start:at]).strip()
    return ""


def marked(text: str) -> str:
    r"""The answer that a text marks as such: in a box, after ####, after "the answer is" or "Answer:"; "" if none."""
    if _BOX.search(text):
        return boxed(text)
    if hashes := _HASHES.findall(text):
        return _bare("".join(hashes[-1]))
    rests = [_bare(found["rest"]) for found in _SAID.finditer(text)]
    return next((rest for rest in reversed(rests) if rest), "")


def given(reply: str, kind: Kind = Kind.TEXT, choices: Sequence[str] = ()) -> str:
    """The answer that a reply gives, to be compared with an expected one of this kind; "" if there is none. `choices`
    are the texts behind the letters A, B, ... of a multiple-choice question."""
    reply = said_aloud(reply)
    found = marked(reply)
    if not found and _BOX.search(reply):
        return ""  # a box that is empty or never closed
    if kind is Kind.CHOICE:
        return _letter(found, choices) or _letter_alone(reply, choices)
    if kind is Kind.NUMBER:
        return _value(found) if found else last_number(reply)
    if kind is Kind.DATE:
        dates = dates_in(found) or dates_in(reply)
        return dates[-1].isoformat() if dates else _sentence(found)
    if kind is Kind.FORMULA:
        return _sentence(found) or reply
    return _sentence(found) or reply


def expected(text: str) -> str:
    r"""The short answer in an entry of an answer column: what it marks (a box, ####, "the answer is"), else all of
    it."""
    text = text.strip()
    found = marked(text) if len(text) <= 20 or _BOX.search(text) or _HASHES.search(text) or _SAID.search(text) else ""
    return _sentence(found) if found else text


def final_number(text: str) -> str:
    """The number that a worked solution ends on, up to three words before its end; "" if it ends on none: "So 3 + 4 = 7
    apples are left." gives 7."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    last = re.split(r"(?<=[.!?])\s+(?=[A-Z])", lines[-1])[-1] if lines else ""
    found = last_number(last)
    behind = last.replace(",", "").rpartition(found.replace(",", "").rstrip("%"))[2] if found else last
    return found if len(behind.split()) <= 3 else ""


def last_number(text: str) -> str:
    """The last number in a text, as it is written: with its sign, fraction and percent sign; "" if there is none. The
    digits of words (x2, H2O, 3rd) are none."""
    return _last(_numbers(text))


@lru_cache(maxsize=1 << 17)  # asked of each row several times
def kind_of(answer: str) -> Kind:
    """What an expected answer is by itself. A letter alone is a text: other answers tell whether it is a choice."""
    if date_of(answer) is not None:
        return Kind.DATE
    if number(_plain(answer), units=True) is not None:
        return Kind.NUMBER
    if _CODE.fullmatch(answer.strip()):
        return Kind.TEXT
    formula = len(answer.split()) <= 12 and len(answer) <= 200 and _MATHEMATICS.search(answer)
    return Kind.FORMULA if formula and not _prose(answer) else Kind.TEXT


def value_of(answer: str) -> str:
    r"""A number as it is compared: "\$1{,}200" is 1,200, "\frac{3}{4}" 3/4, "12 cm" 12."""
    return _plain(answer)


def _prose(text: str) -> bool:
    """Whether a text has two words or more of four letters, none of them a command of TeX."""
    return len(re.findall(r"(?<![\\a-zA-Z])[a-zA-Z]{4,}", _TEXT.sub(" ", text))) > 1


def _bare(text: str) -> str:
    """A piece of a reply without markup, quotes and a colon around it."""
    text = re.sub(r"\*\*|__|`", "", text).strip()
    return text.strip("*_ \t").lstrip(":").strip()


def _sentence(text: str) -> str:
    """The first sentence of a text, without its full stop."""
    first = re.split(r"(?<=[^\W\d]{2})[.!?](?=\s|$)|(?<=[0-9)\]}$%])[.!?](?=\s|$)", text, maxsplit=1)[0]
    return first.strip()


def _plain(text: str) -> str:
    text = text.strip().strip("$").strip()
    if _GROUPS.fullmatch(text):
        return re.sub(r"\s", "", text)
    for left, right in (("\\(", "\\)"), ("\\[", "\\]")):
        if text.startswith(left) and text.endswith(right):
            text = text[2:-2].strip()
    text = _SPACES.sub(",", text.replace("\\$", "$").replace("\\%", "%").replace("−", "-").replace("–", "-"))
    text = re.sub(r"\^\s*(?:\{\s*\\circ\s*\}|\\circ)|\\(?:degree|circ)|°", "", text)
    text = _FRACTION.sub(lambda found: f"{found[1]}{found[2] or found[4]}/{found[3] or found[5]}", text)
    text = _TEXT.sub(r" \1", text).replace("\\ ", " ").replace("\\,", " ").replace("\\!", "")
    return text.strip().rstrip(".").strip()


def _value(found: str) -> str:
    """The number in a marked answer: all of it, or what stands behind its last "=", or its first number; the text
    itself where it has none."""
    plain = _plain(found)
    if number(plain, units=True) is not None:
        return plain
    if not _numbers(found):
        return found
    behind = found.rpartition("=")[2] if "=" in found else found
    if number(_plain(behind), units=True) is not None:
        return _plain(behind)
    if re.search(r"\\(?!text|mathrm|mbox|[,!;: $%()\[\]])|\^|[0-9)][ ]*[*×·][ ]*[0-9(]", behind):
        return behind.strip().strip("$").strip()  # a formula, which math-verify may read
    numbers = _numbers(behind) or _numbers(found)
    return numbers[0]


def _numbers(text: str) -> list[str]:
    text = re.sub(r"\$(?=\s*-?[0-9.])", " ", _plain_everywhere(text))
    found = []
    for each in _NUMBERS.finditer(text):
        start, end = each.span("value")
        before, after = text[max(0, start - 1) : start], text[end : end + 2]
        if before.isalpha() or before == "_" or _ORDINAL.match(after) or (before == "." or before.isdigit()):
            continue
        found.append(each["value"].replace(" %", "%").strip())
    return found


def _plain_everywhere(text: str) -> str:
    text = _SPACES.sub(",", text.replace("\\$", " ").replace("\\%", "%").replace("−", "-"))
    return _FRACTION.sub(lambda found: f" {found[1]}{found[2] or found[4]}/{found[3] or found[5]} ", text)


def _last(numbers: Sequence[str]) -> str:
    return numbers[-1] if numbers else ""


def _letter(found: str, choices: Sequence[str]) -> str:
    """The letter in a marked answer: alone, before a bracket, or by the text of its choice."""
    found = found.strip().strip("$").strip()
    letter = _LETTER.match(_bare(re.sub(r"(?i)^(?:option|choice)\s+", "", found)))
    if letter:
        return letter[1]
    return _letter_alone(_sentence(found), choices)


def _letter_alone(text: str, choices: Sequence[str]) -> str:
    """The letter that a text, or its last line, is; or whose choice it is."""
    lines = [_bare(line) for line in text.splitlines() if line.strip()]
    for line in [_bare(text), *lines[-1:], *lines[:1]]:
        if found := _ALONE.fullmatch(line):
            return found[1].upper()
        listed = _LISTED.fullmatch(line)
        if listed and (not choices or normalised(listed[2]) in map(normalised, choices)):
            return listed[1].upper()
        named = [LETTERS[at] for at, choice in enumerate(choices[:10]) if normalised(choice) == normalised(line) != ""]
        if len(named) == 1:
            return named[0]
    return ""
