"""What the answer column of a data set expects: the short answer of each row, and of what kind most of them are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from redqueen.checks.extraction import LETTERS, Kind, expected, final_number, kind_of
from redqueen.checks.numeric import normalised, with_points
from redqueen.questions.examples import BadRow, Example
from redqueen.questions.grading import CHOICE, NONE, NUMBER, TESTS, TEXT
from redqueen.texts import said_aloud

_MOST = 0.9  # share of the rows that makes a rule of what they have in common
_OPEN_BOX = re.compile(r"\\boxed\s*\{")  # what is left of a box that `expected` could not open
_WORDS = (Kind.TEXT, Kind.DATE)  # no numbers
_SHORT = 8  # words of an answer that is no worked solution
_SENTENCE = 3  # words, at least, of one that is as short
_LETTER = re.compile(r"\(?([A-J])\)?[.:]?")
_WITH_COMMA = re.compile(r"[-+−]?(?:\d{1,3}(?:\.\d{3})+,\d+|\d+,\d+|\d+)\s*[^\d.,]*")  # 1.234,5 or 8,5 or 8, and a unit
_NO_THOUSANDS = re.compile(r"(?:^|\D)0,\d|,\d{1,2}(?!\d)|,\d{4}")  # a comma that parts no thousands
_COMPUTED = re.compile(  # a calculation with its result: 40 + 17 = 57
    r"(?<![\w^}.,])(?<![-+*/^] )\d[\d.,]*[\s)]*(?:[-+*/×·÷^]|\\(?:times|cdot|div)\b)[\s(]*[-$]?\d"
    r"(?:[^=a-zA-Z]|\\[a-z]+)*=[^=]*\d[^=]*$"
)
_FIRST_CHOICE, _SECOND_CHOICE = (re.compile(rf"(?m)(?:^|\s)\(?{letter}[).:]\s") for letter in "AB")


@dataclass(frozen=True)
class Expected:
    """The short answers of each row, of which any is right (none where nobody knows); the kind of most of them; and
    the rows whose answer is of no use, with the reason."""

    answers: tuple[tuple[str, ...], ...]
    kind: Kind
    alike: bool  # whether all are of this kind
    said: str  # in words: "190 numbers, 10 texts"
    faults: tuple[BadRow | None, ...]
    commas: bool = False  # whether a comma stands before the decimals of their numbers; in `answers` it is a point


def read_answers(examples: Sequence[Example], compare: str) -> Expected:
    """What is expected of each row, compared as the setting `compare` says, or as what most answers are."""
    raw = [_raw(each, compare) for each in examples]
    commas = compare in ("", NUMBER) and _have_commas([texts[0] for texts in raw if texts])
    if commas:
        raw = [tuple(map(with_points, texts)) for texts in raw]
    answers = [tuple(map(expected, texts)) for texts in raw]
    first, counted = int(_from_one(examples, raw)), _are_counted(examples, raw)
    answers = [_lettered(each, found, first, counted) for each, found in zip(examples, answers, strict=True)]
    known = [found[0] for found in answers if found]
    worked = _worked(known) if compare in ("", NUMBER) else False
    if worked:
        answers = [tuple(final_number(text) if is_long(text) else text for text in found) for found in answers]
        known = [found[0] for found in answers if found]
    kind = Kind.CHOICE if _are_letters(examples, known) else _most_are(known)
    if compare in (NUMBER, TEXT, CHOICE):
        kind = Kind(compare)
    faults = [_fault(each, found, compare) for each, found in zip(examples, answers, strict=True)]
    alike = kind is Kind.CHOICE or all(kind_of(text) is kind for text in known)
    said = "programs" if compare == TESTS and known else _described(known, kind, worked)
    if commas:
        said += ", with a comma before decimals"
    return Expected(tuple(answers), kind, alike, said, tuple(faults), commas)


def _have_commas(known: Sequence[str]) -> bool:
    """Whether the numbers of a column have a comma before their decimals: nearly all answers are numbers, none has a
    point there, and one comma or more cannot part thousands."""
    fitting = [text for text in known if _WITH_COMMA.fullmatch(text)]
    return len(fitting) >= _MOST * len(known) and any(_NO_THOUSANDS.search(text) for text in fitting)


def _raw(example: Example, compare: str) -> tuple[str, ...]:
    """What a row says is right. A chosen reply is an answer of its own where it is to be a number or a letter."""
    chosen = compare in (NUMBER, CHOICE) or not example.rejected
    gold = example.completion and chosen and example.good is not False
    return tuple(map(said_aloud, example.answers or ((example.completion,) if gold else ())))


def _from_one(examples: Sequence[Example], raw: Sequence[tuple[str, ...]]) -> bool:
    """Whether numbers of choices count from 1: none is 0, and one is the number of its choices."""
    numbers = [
        (int(texts[0]), len(each.choices))
        for each, texts in zip(examples, raw, strict=True)
        if each.choices and texts and texts[0].isdecimal() and len(texts[0]) < 3
    ]
    return bool(numbers) and all(number for number, _ in numbers) and any(number == most for number, most in numbers)


def _are_counted(examples: Sequence[Example], raw: Sequence[tuple[str, ...]]) -> bool:
    """Whether the answers are numbers of choices also where a choice is that number: nearly all can be, and some can be
    nothing else, or all are numbers and the choices texts (MMLU)."""
    rows = [(each, texts[0]) for each, texts in zip(examples, raw, strict=True) if each.choices and texts]
    fitting = sum(text.isdecimal() and len(text) < 3 and int(text) <= len(each.choices) for each, text in rows)
    if not rows or fitting < _MOST * len(rows):
        return False
    return all(each.numbered for each, _ in rows) or any(_choice(each, text) is None for each, text in rows)


def _choice(example: Example, text: str) -> str | None:
    """The letter of the only choice that says this."""
    same = [LETTERS[at] for at, each in enumerate(example.choices) if normalised(each) == normalised(text)]
    return same[0] if len(same) == 1 else None


def _lettered(example: Example, found: tuple[str, ...], first: int, counted: bool) -> tuple[str, ...]:
    """The answers of a row with choices as letters; others unchanged, a lone (A) as A. Choices are counted from `first`
    on; `counted` ones are not looked for among the choices."""
    if not found:
        return found
    bare = _LETTER.fullmatch(found[0].upper() if example.choices else found[0])
    if bare and (not example.choices or LETTERS.index(bare[1]) < len(example.choices)):
        return (bare[1],)
    if not example.choices:
        return found
    says = None if counted else _choice(example, found[0])
    if says is None and found[0].isdecimal() and 0 <= int(found[0]) - first < len(example.choices):
        says = LETTERS[int(found[0]) - first]
    return found if says is None else (says,)


def is_long(text: str) -> bool:
    """Whether an entry is more than a short answer: a worked solution, if it ends on its result."""
    words, kind = len(text.split()), kind_of(text)
    if kind is Kind.FORMULA:
        return _COMPUTED.search(text) is not None
    return kind is Kind.TEXT and (words > _SHORT or "\n" in text or (words >= _SENTENCE and text.endswith(".")))


def _worked(known: Sequence[str]) -> bool:
    """Whether the long answers are worked solutions: nearly all end on a number, and so do all the others."""
    ended = [bool(final_number(text)) if is_long(text) else kind_of(text) not in _WORDS for text in known]
    return any(map(is_long, known)) and sum(ended) >= _MOST * len(known)


def _are_letters(examples: Sequence[Example], known: Sequence[str]) -> bool:
    letters = sum(len(text) == 1 and text in LETTERS for text in known)
    if not known or letters < _MOST * len(known):
        return False
    if any(each.choices for each in examples):
        return True
    listing = sum(lists_choices(each.messages[-1][1]) for each in examples)
    return listing >= len(examples) / 2


def lists_choices(question: str) -> bool:
    """Whether a question lists choices, "A. ..." and after it "B. ..."."""
    first = _FIRST_CHOICE.search(question)
    return first is not None and _SECOND_CHOICE.search(question, first.end()) is not None


def _most_are(known: Sequence[str]) -> Kind:
    kinds = Counter(map(kind_of, known))
    return kinds.most_common(1)[0][0] if kinds else Kind.TEXT


def _fault(example: Example, found: tuple[str, ...], compare: str) -> BadRow | None:
    """Why the answer of a row cannot be compared; None where it can."""
    if compare in (NONE, TESTS) or ".py:" in compare or not found:
        return None
    if not found[0]:
        return BadRow(
            f"{example.place}: the thoughts of the answer never close: write </think> and the answer after it"
        )
    if _OPEN_BOX.search(found[0]):
        return BadRow(f"{example.place}: the answer {found[0]!r:.40} holds a box that is never closed")
    if compare in ("", TEXT) and not normalised(found[0]):
        return BadRow(
            f"{example.place}: the answer {found[0]!r:.40} has nothing to compare: write a number or words, or compare "
            "by a function of your own (--compare FILE.py:FUNCTION)"
        )
    letters = LETTERS[: len(example.choices) or None]
    if (example.choices or compare == CHOICE) and not (len(found[0]) == 1 and found[0] in letters):
        count = sum(normalised(each) == normalised(found[0]) for each in example.choices)
        what = f"is {count} of the choices" if count > 1 else "is neither a letter nor one of the choices"
        return BadRow(f"{example.place}: the answer {found[0]!r:.40} {what}")
    if compare == NUMBER and kind_of(found[0]) in _WORDS:
        return BadRow(f"{example.place}: the answer {found[0]!r:.40} is no number (--compare text compares texts)")
    return None


def _described(known: Sequence[str], kind: Kind, worked: bool) -> str:
    if not known:
        return "none"
    if kind is Kind.CHOICE:
        return f"{len(known)} letters of choices"
    counts = Counter(map(kind_of, known)).most_common()
    told = ", ".join(f"{count} {each}{'' if count == 1 else 's'}" for each, count in counts)
    return f"{told}; of worked solutions the final number" if worked else told
