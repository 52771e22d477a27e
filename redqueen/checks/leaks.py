"""Whether a question gives its own answer away."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_TOKENS = re.compile(
    r"""(?P<number>
            (?:(?<![\w)\].,])-)?  # a sign where no number, word or bracket stands before it
            (?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)  # 12  1,200  0.5  .5
        )(?P<unit>\w*)
      | \w+ | [^\w\s]""",
    re.VERBOSE,
)


def leaks(text: str, answer: str, hint: str = "", hidden: bool = True) -> tuple[str, ...]:
    """How a proposal gives its answer away, in the words of its figures; () where it does not.

    "answer_in_question" and "answer_in_hint": the answer stands there as whole words or numbers, "7.0" being 7
    and "12" not holding 1 (the gates of PasoDoble and SSP). "question_in_answer": the whole question stands in the
    answer. "boxed_in_question": the question holds a boxed expression. A blank answer is not looked for. Where answers
    are not `hidden` by nature, as in 1+0 or a choice between letters, they are looked for in the hint alone.
    """
    question, wanted = _tokens(text), _tokens(answer)
    found = {
        "answer_in_question": hidden and _stands_in(wanted, question),
        "answer_in_hint": _stands_in(wanted, _tokens(hint)),
        "question_in_answer": _stands_in(question, wanted),
        "boxed_in_question": _BOXED.search(text) is not None,
    }
    return tuple(kind for kind, there in found.items() if there)


def _tokens(text: str) -> list[str]:
    """Words in lower case, numbers in one way of writing, and single signs."""
    found = _TOKENS.finditer(text.lower())
    return [_plain(each["number"]) + each["unit"] if each["number"] else each[0] for each in found]


def _plain(number: str) -> str:
    """ "1,200.50" as "1200.5", ".5" as "0.5", "07" as "7"."""
    whole, _, fraction = number.replace(",", "").partition(".")
    sign = "-" if whole.startswith("-") else ""
    whole, fraction = whole.lstrip("-").lstrip("0") or "0", fraction.rstrip("0")
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"


def _stands_in(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether a run of tokens, at least one, stands somewhere in another."""
    size = len(part)
    return size > 0 and any(whole[at : at + size] == part for at in range(len(whole) - size + 1))
