"""Whether a question gives its own answer away."""

from __future__ import annotations

import re
from collections.abc import Sequence

from redqueen.checks.extraction import marked

_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_COMMON = re.compile(r"-?[0-9]{1,2}|[a-z]|yes|no|true|false")
_TOKENS = re.compile(
    r"""(?P<number>
            (?:(?<![\w)\].,])-)?  # a sign where no number, word or bracket stands before it
            (?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)  # 12  1,200  0.5  .5
        )(?P<unit>\w*)
      | \w+ | [^\w\s]""",
    re.VERBOSE,
)


def leaks(text: str, answer: str, hint: str = "", hidden: bool = True) -> tuple[str, ...]:
    """The ways in which a proposal gives its answer away, by the names of their figures; () if there are none.

    "answer_in_question" and "answer_in_hint": it contains the answer as whole words or numbers, where "7.0" equals 7
    and "12" does not contain 1 (the gates of PasoDoble and SSP). "question_in_answer": the answer contains the whole
    question. "boxed_in_question": the question holds a boxed expression. A blank answer is not looked for. If answers
    are not `hidden`, as in 1+0 or a choice between letters, they are looked for in the hint only.
    """
    question, wanted = _tokens(text), _tokens(answer)
    found = {
        "answer_in_question": hidden and _stands_in(wanted, question),
        "answer_in_hint": _stands_in(wanted, _tokens(hint)),
        "question_in_answer": _stands_in(question, wanted),
        "boxed_in_question": _BOXED.search(text) is not None,
    }
    return tuple(kind for kind, there in found.items() if there)


def stands_in(text: str, answer: str) -> bool:
    """Whether a text contains an answer as whole words or numbers, as in `leaks`; never a blank one."""
    return _stands_in(_tokens(answer), _tokens(text))


def gives_away(text: str, answer: str) -> bool:
    """Whether a question that was written to have this answer gives it away. An answer that many a question holds by
    chance, a number of one or two digits, a single letter, yes, no, true or false, does only where the question states
    it as an answer ("answer: 7", a box); a longer one wherever it stands, as in `leaks`."""
    wanted = _tokens(answer)
    if len(wanted) == 1 and _COMMON.fullmatch(wanted[0]):
        return _stands_in(wanted, _tokens(marked(text)))
    return bool(leaks(text, answer))


def _tokens(text: str) -> list[str]:
    """The words in lower case, numbers in one spelling, and single signs of a text."""
    found = _TOKENS.finditer(text.lower())
    return [_plain(each["number"]) + each["unit"] if each["number"] else each[0] for each in found]


def _plain(number: str) -> str:
    """ "1,200.50" as "1200.5", ".5" as "0.5", "07" as "7"."""
    whole, _, fraction = number.replace(",", "").partition(".")
    sign = "-" if whole.startswith("-") else ""
    whole, fraction = whole.lstrip("-").lstrip("0") or "0", fraction.rstrip("0")
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"


def _stands_in(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether `part`, of at least one token, is a contiguous part of `whole`."""
    return bool(part) and " ".join(("", *part, "")) in " ".join(("", *whole, ""))  # no token holds a space
