"""Whether a reply to a question of a data set is right: by its answer, by unit tests, by a function of the user's.

    --compare number | text | choice      the answer in the reply (`checks.extraction`), as a number, a text, a letter
    --compare tests                       the lines of assert in the column `tests`, run in the sandbox (`by_tests`)
    --compare path/to/file.py:function    function(task, reply) gives True, False, or None where it cannot tell
    --compare none                        nobody knows: every verdict is unknown

Without the setting each answer is compared as what it is, and a set with a column `tests` by its tests. A unit is not
compared ("5 km" is 5), and of two numbers of which one is a percentage both readings count (50% is 0.5, and 50).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, cast

from redqueen.checks import extraction
from redqueen.checks.dates import date_of, dates_in
from redqueen.checks.extraction import Kind
from redqueen.checks.numeric import Symbolic, normalised, number, with_points
from redqueen.checks.sandbox.runs_of_programs import Limits
from redqueen.checks.worker import Undecided
from redqueen.questions.by_tests import LIMITS, ByTests, tested_within
from redqueen.texts import said_aloud
from redqueen.types import RedQueenError, Task
from redqueen.user_code import module_from_file

NUMBER, TEXT, CHOICE, TESTS, NONE, JUDGE = "number", "text", "choice", "tests", "none", "judge"
ACCEPTED, OPTIONS = "accepted", "options"  # facts of a task: right answers, choices
_MOST_WORDS = 12  # of a formula: a longer text is none
_OPPOSITE = ("yes", "no")
_BETWEEN = re.compile(r",?\s+(?:and|or)\s+|,(?![0-9]{3}(?![0-9]))|;")  # entries of a list, not thousands
_ASSIGNED = re.compile(r"^\s*[a-zA-Z]\s*(?:=|\\in)\s*")


class Grading(Protocol):
    """Finds the answers in replies, and gives verdicts on them."""

    def answers(self, tasks: Sequence[Task], replies: Sequence[str]) -> list[str]:
        """The answer in each reply, "" where none can be found."""
        ...

    def verdicts(self, tasks: Sequence[Task], replies: Sequence[str]) -> list[bool | None]:
        """Whether each reply is right, None if unknown."""
        ...


def find_grading(spec: str, kind: Kind, commas: bool = False, limits: Limits = LIMITS) -> Grading:
    """The grading that `spec` names; "" compares answers as what each of them is. `kind` is that of most answers of the
    set, by which an answer is looked for where none is expected. With `commas` one stands before the decimals of a
    number in a reply, or a point; `limits` are those of a test. Raises RedQueenError for anything else."""
    if spec == JUDGE:
        raise RedQueenError(
            "a data set has no judge of its own: a recipe with a role judge has one (multi_agent_evolve, "
            "self_rewarding); or name a function, --compare path/to/file.py:function"
        )
    if spec in ("", NUMBER, TEXT, CHOICE):
        return ByAnswer(Kind(spec) if spec else kind, always=bool(spec), commas=commas)
    if spec == TESTS:
        return ByTests(tested_within(limits))
    if spec == NONE:
        return ByNobody(kind)
    if not _names_function(spec):
        names = ", ".join((NUMBER, TEXT, CHOICE, TESTS, NONE))
        raise RedQueenError(f"answers cannot be compared by {spec!r}: say {names} or path/to/file.py:function")
    function = of_the_user(spec, "compare")
    return ByFunction(function, spec, kind)


def _names_function(spec: str) -> bool:
    place, _, name = spec.rpartition(":")
    return place.endswith(".py") and name.isidentifier()


def of_the_user(spec: str, setting: str) -> Callable[[Task, str], Any]:
    """The function `path/to/file.py:function` of a task and a reply, which a `setting` names. Raises RedQueenError for
    anything else."""
    if not _names_function(spec):
        raise RedQueenError(f"--{setting} {spec!r} names no function: write path/to/file.py:function")
    place, _, name = spec.rpartition(":")
    function = vars(module_from_file(Path(place).expanduser(), name, f"{setting}={spec!r}")).get(name)
    if not callable(function):
        raise RedQueenError(f"{place} has no function {name!r}: it is called with a task and a reply")
    return cast(Callable[[Task, str], Any], function)


def call_of_the_user(function: Callable[[Task, str], Any], spec: str, task: Task, reply: str, wanted: str) -> Any:
    """What the function that `spec` names gives for a reply. Raises RedQueenError where it fails, in one line that ends
    with what is `wanted`."""
    try:
        return function(task, reply)
    except Exception as error:
        said = " ".join(str(error).split())
        raise RedQueenError(
            f"{spec} raises {type(error).__name__} ({said:.80}) for the reply {reply!r:.60}: {wanted}"
        ) from error


@dataclass(frozen=True)
class ByAnswer:
    """By the answer in the reply. `kind` is that of a task without an answer and, with `always`, of every task; with
    `commas` a reply may have one before the decimals of a number."""

    kind: Kind
    always: bool = False
    commas: bool = False

    def answers(self, tasks: Sequence[Task], replies: Sequence[str]) -> list[str]:
        return [
            extraction.given(
                with_points(reply) if self.commas else reply, self._kind(task), task.facts.get(OPTIONS, ())
            )
            for task, reply in zip(tasks, replies, strict=True)
        ]

    def verdicts(self, tasks: Sequence[Task], replies: Sequence[str]) -> list[bool | None]:
        found = zip(tasks, replies, self.answers(tasks, replies), strict=True)
        return [self._verdict(task, reply, given) for task, reply, given in found]

    def _verdict(self, task: Task, reply: str, given: str) -> bool | None:
        if not task.answer:
            return None
        verdicts = [same(each, given, self._kind(task)) for each in task.facts.get(ACCEPTED, (task.answer,))]
        if True in verdicts or normalised(said_aloud(reply)) == normalised(task.answer) != "":
            return True
        return None if None in verdicts else False

    def _kind(self, task: Task) -> Kind:
        if self.always or not task.answer:
            return self.kind
        letter = len(task.answer) == 1 and task.answer in extraction.LETTERS
        if letter and (self.kind is Kind.CHOICE or OPTIONS in task.facts):
            return Kind.CHOICE
        return extraction.kind_of(task.answer)


@dataclass(frozen=True)
class ByNobody:
    """Nobody knows; `kind` says how an answer is looked for, for those who count votes."""

    kind: Kind

    def answers(self, tasks: Sequence[Task], replies: Sequence[str]) -> list[str]:
        return ByAnswer(self.kind, always=True).answers(tasks, replies)

    def verdicts(self, tasks: Sequence[Task], replies: Sequence[str]) -> list[bool | None]:
        return [None for _ in tasks]


@dataclass(frozen=True)
class ByFunction:
    """By a function of the user's, which is given the task and the whole reply."""

    function: Callable[[Task, str], Any]
    name: str
    kind: Kind

    def answers(self, tasks: Sequence[Task], replies: Sequence[str]) -> list[str]:
        return ByAnswer(self.kind).answers(tasks, replies)

    def verdicts(self, tasks: Sequence[Task], replies: Sequence[str]) -> list[bool | None]:
        return [self._verdict(task, reply) for task, reply in zip(tasks, replies, strict=True)]

    def _verdict(self, task: Task, reply: str) -> bool | None:
        found = call_of_the_user(self.function, self.name, task, reply, "it must give True, False or None")
        if not (found is None or isinstance(found, bool)):
            raise RedQueenError(f"{self.name} gave {found!r:.40}: a verdict is True, False or None (unknown)")
        return found


def same(wanted: str, given: str, kind: Kind) -> bool | None:
    """Whether a given answer is the expected one, None if that cannot be decided."""
    if not given:
        return False
    if _truth(normalised(given)) == _truth(normalised(wanted)):
        return True
    if kind is Kind.CHOICE:
        return False
    if kind is Kind.DATE:
        day = date_of(wanted)
        return day is not None and dates_in(given)[-1:] == [day]
    if _truth(normalised(wanted)) in _OPPOSITE:
        return _leading(given) == _truth(normalised(wanted))
    if listed := _listed(wanted):
        return listed == _listed(given)
    first, second = (number(extraction.value_of(each), units=True) for each in (wanted, given))
    if first is not None and second is not None:
        percent = ("%" in wanted) != ("%" in given)
        return first == second or (percent and 100 in (_ratio(first, second), _ratio(second, first)))
    if kind is Kind.TEXT or max(len(wanted.split()), len(given.split())) > _MOST_WORDS:
        return False
    return _as_mathematics(wanted, given)


def _truth(text: str) -> str:
    """True as yes and false as no; any other text as it is."""
    return {"true": "yes", "false": "no"}.get(text, text)


def _leading(text: str) -> str:
    """What a text begins with: "Yes, it is." with yes, "False: ..." with no; "" for any other word."""
    first = _truth(normalised(re.split(r"[\s,.:;!–—]", normalised(text), maxsplit=1)[0]))
    return first if first in _OPPOSITE else ""


def _listed(text: str) -> tuple[Fraction, ...]:
    """The numbers of a list in their order, "x = 2, -2" and "2 and -2"; () for any other text, one number and a pair
    in brackets among them."""
    entries = _BETWEEN.split(_ASSIGNED.sub("", extraction.value_of(text)))
    numbers = [number(entry.strip().rstrip("."), units=True) for entry in entries]
    return tuple(each for each in numbers if each is not None) if len(numbers) > 1 and None not in numbers else ()


@cache
def _symbolic() -> Symbolic | None:
    return Symbolic() if find_spec("math_verify") else None


def _as_mathematics(wanted: str, given: str) -> bool | None:
    """Whether two formulas are equal; unknown without math-verify, and where it does not read the expected one."""
    checker = _symbolic()
    if checker is None:
        return None
    with suppress(Undecided):
        try:
            return checker(Task("", answer=extraction.value_of(wanted)), extraction.value_of(given))
        except RedQueenError as error:
            if isinstance(error, Undecided):
                raise
    return None


def _ratio(first: Any, second: Any) -> Any:
    return first / second if second else None
