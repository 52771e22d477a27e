"""Arithmetic in steps, with an error planted in one of them by a generator, for a critic to find.

    17 +8 -9 half          a problem
    17+8=25                steps so far, all right
    25-9=16                the step in question: right, or spoilt, as "25-8=17"

A planted step counts as an error only if it flips the final answer, when everything after it is worked out exactly: an
error that halving swallows is none. Some errors show in the step itself (18+8=25), others only with the problem and
the step before it (25-8=17 is good arithmetic): a critic that was warmed up on the first kind passes over the second.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from redqueen.chance import derive
from redqueen.checks.judge import Label
from redqueen.protocols import Proposable
from redqueen.types import Demonstration, RedQueenError, Refusal, Task

CORRECT, INCORRECT = "Correct", "Incorrect"
VERDICT = Label((CORRECT, INCORRECT))
HALF = "half"
PLAIN = ("off_by_one", "off_by_ten", "swapped")  # errors that show in the step itself
LONGEST = 10  # steps: of longer problems hardly any stays between 1 and the largest value
ERRORS = (*PLAIN, "operand", "copied", "operation")
_STEP = re.compile(r"(\d{1,3})([+-]\d|/2)=(\d{1,3})")


@dataclass(frozen=True)
class Trace:
    """A problem, and the values before and after each of its steps."""

    start: int
    operations: tuple[str, ...]  # "+8", "-9" or "half"

    @property
    def values(self) -> tuple[int, ...]:
        found = [self.start]
        for operation in self.operations:
            found.append(applied(found[-1], operation))
        return tuple(found)

    @property
    def problem(self) -> str:
        return " ".join([str(self.start), *self.operations])

    def step(self, place: int) -> str:
        return written(self.values[place], self.operations[place], self.values[place + 1])

    def steps(self) -> tuple[str, ...]:
        return tuple(self.step(place) for place in range(len(self.operations)))

    def ends_at(self, place: int, value: int) -> int:
        """The final answer if the step at `place` had given this value and all after it are right."""
        for operation in self.operations[place + 1 :]:
            value = applied(value, operation)
        return value

    def facts(self, place: int) -> dict[str, Any]:
        return {"start": self.start, "operations": self.operations, "place": place}


def applied(value: int, operation: str) -> int:
    return value // 2 if operation == HALF else value + int(operation)


def written(before: int, operation: str, after: int) -> str:
    return f"{before}{'/2' if operation == HALF else operation}={after}"


def flips(trace: Trace, place: int, step: str) -> bool:
    """Whether a step written in the place of a right one changes the final answer. Raises ValueError for a text that
    is no step."""
    found = _STEP.fullmatch(step)
    if found is None:
        raise ValueError(f"{step[:40]!r} is no step")
    return trace.ends_at(place, int(found[3])) != trace.values[-1]


def spoilt(trace: Trace, place: int, error: str, rng: Random) -> str:
    """The step with an error of this kind; unchanged, and so right, if no such error is possible in it."""
    before, operation, after = trace.values[place], trace.operations[place], trace.values[place + 1]
    sign = rng.choice((-1, 1))
    match error:
        case "off_by_one":
            return written(before, operation, abs(after + sign))
        case "off_by_ten":
            return written(before, operation, abs(after + 10 * sign))
        case "swapped":
            return written(before, operation, int(f"{after:02d}"[::-1]))
        case "operand":
            digit = rng.choice(_others(operation[1]))
            operation = operation if operation == HALF else f"{operation[0]}{digit}"
        case "copied":
            before = before + sign
        case "operation":
            opposite = {"+": "-", "-": "+"}.get(operation[0], "")
            operation = f"{opposite}{operation[1]}" if opposite else f"-{before % 9 + 1}"
        case _:
            raise AssertionError(f"there is no kind of error {error!r}")
    value = applied(before, operation)  # good arithmetic, of something else
    return written(before, operation, value) if min(before, value) >= 0 else trace.step(place)


def _others(digit: str) -> str:
    return "123456789".replace(digit, "")


@dataclass(frozen=True)
class Attempt:
    """A solver's answer, and its steps as tasks of a critic."""

    answer: str
    steps: tuple[Task, ...]


@dataclass(frozen=True)
class Solved:
    """A problem's answer, and attempts at it."""

    answer: str
    attempts: tuple[Attempt, ...]


class Criticised(Proposable, Protocol):
    """A question set of steps that one role spoils and another judges."""

    def invitations(self, count: int, rng: Random) -> list[Task]:
        """Right steps for a generator to spoil."""
        ...

    def natural(self, count: int, rng: Random) -> list[Task]:
        """Steps for a critic as solvers write them, half of them wrong."""
        ...

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]: ...
    def solutions(self, count: int, each: int, rng: Random) -> list[Solved]:
        """`count` problems with `each` attempts at each."""
        ...


@dataclass(frozen=True)
class StepTraces:
    """See the module. `shown` is how often each of `ERRORS` is planted in demonstrations, and made by solvers. `slip`
    is how often a solver errs at a step, `trapped` how often a problem has a step at which most attempts err alike.
    `doubt` is how often a demonstrated critic calls a right step wrong, `looks` how often it works out the step that is
    due rather than the one that stands there; where that is 0, no demonstration shows an error that is found only by
    working out the step."""

    length: int = 3  # steps of a problem
    largest: int = 39  # value on the way
    shown: tuple[float, ...] = (0.16, 0.12, 0.12, 0.20, 0.20, 0.20)
    slip: float = 0.1
    trapped: float = 0.5
    doubt: float = 0.0
    looks: float = 0.0
    name: str = field(default="step_traces", init=False)
    kinds: tuple[str, ...] = field(default=("step",), init=False)
    levels: tuple[str, ...] = field(default=("right", "natural", *ERRORS), init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.length <= LONGEST or self.largest < 20 or len(self.shown) != len(ERRORS):
            raise RedQueenError(
                f"step_traces needs a length of 1 to {LONGEST}, largest >= 20 and {len(ERRORS)} shares in shown"
            )

    # --- problems

    def trace(self, rng: Random) -> Trace:
        """A problem whose values stay between 1 and the largest."""
        while True:
            signs = [rng.choice(("+", "-", HALF)) for _ in range(self.length)]
            operations = [sign if sign == HALF else f"{sign}{rng.randint(1, 9)}" for sign in signs]
            trace = Trace(rng.randint(5, self.largest - 10), tuple(operations))
            if min(trace.values) > 0 and max(trace.values) <= self.largest:
                return trace

    def judged(self, trace: Trace, place: int, step: str, before: Sequence[str] | None = None) -> Task:
        """The task of a critic: a step after the right earlier steps, or after the given ones."""
        so_far = trace.steps()[:place] if before is None else before
        right = step == trace.step(place) and (before is None or list(before) == list(trace.steps()[:place]))
        prompt = "\n".join([trace.problem, *so_far, f"Check {step}"])
        return Task(f"check {' '.join(prompt.split())}", "step", prompt, CORRECT if right else INCORRECT)

    def _invitation(self, rng: Random) -> Task:
        trace = self.trace(rng)
        place = rng.randrange(self.length)
        prompt = "\n".join([trace.problem, *trace.steps()[:place], f"Spoil {trace.step(place)}"])
        return Task(f"spoil {' '.join(prompt.split())}", "step", prompt, facts=trace.facts(place))

    def invitations(self, count: int, rng: Random) -> list[Task]:
        return [self._invitation(rng) for _ in range(count)]

    def natural(self, count: int, rng: Random) -> list[Task]:
        return [self._problem("natural" if number % 2 else "right", rng) for number in range(count)]

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return [self._problem(level, rng) for _ in range(count)]

    def _problem(self, level: str, rng: Random) -> Task:
        while True:
            trace = self.trace(rng)
            place = rng.randrange(self.length)
            if level == "right":
                return self.judged(trace, place, trace.step(place))
            error = rng.choices(ERRORS, self.shown)[0] if level == "natural" else level
            step = spoilt(trace, place, error, rng)
            if flips(trace, place, step):
                return self.judged(trace, place, step)

    # --- roles

    def seeds(self) -> list[Task]:
        trace = Trace(17, ("+8", "-9", HALF))
        return [self.judged(trace, 1, "25-8=17")]

    def sources(self, kind: str) -> tuple[str, ...]:
        return self.kinds

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        return self._invitation(Random(derive(0, "invite", number)))

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        """The spoilt steps as tasks of a critic; refuses texts that are not a step, and steps that flip nothing."""
        return [self._read(one.facts, reply.strip()) for one, reply in zip(invitations, replies, strict=True)]

    def _read(self, facts: Mapping[str, Any], step: str) -> Task | Refusal:
        trace = Trace(facts["start"], tuple(facts["operations"]))
        try:
            return (
                self.judged(trace, facts["place"], step) if flips(trace, facts["place"], step) else Refusal("no error")
            )
        except ValueError:
            return Refusal("malformed")

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [VERDICT.read(answer) == task.answer for task, answer in zip(tasks, answers, strict=True)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """Demonstrations, one third spoilt steps and two thirds judgements, half of these of right steps."""
        return [self._demonstration(number, rng) for number in range(count)]

    def _demonstration(self, number: int, rng: Random) -> Demonstration:
        if number % 3 == 0:
            while True:
                task = self._invitation(rng)
                trace = Trace(task.facts["start"], task.facts["operations"])
                step = spoilt(trace, task.facts["place"], rng.choices(ERRORS, self.shown)[0], rng)
                if flips(trace, task.facts["place"], step):
                    return Demonstration("generator", task, step)
        task = self._problem("right" if number % 3 == 1 else rng.choice(ERRORS if self.looks else PLAIN), rng)
        text = self.critique(task, rng.random() < self.looks)
        doubted = task.answer == CORRECT and rng.random() < self.doubt
        return Demonstration("critic", task, text.replace(f"\n{CORRECT}", f"\n{INCORRECT}") if doubted else text)

    def critique(self, task: Task, looks: bool = False) -> str:
        """A critique: the value of the written step by itself (or, where the critic works from the problem, of the step
        that is due), and whether it is the written one."""
        problem, *so_far, checked = task.prompt.splitlines()
        step = checked.removeprefix("Check ")
        found = _STEP.fullmatch(step)
        assert found is not None, "a task for a critic ends with a step"
        before, operation = int(found[1]), HALF if found[2] == "/2" else found[2]
        if looks:
            start, *operations = problem.split()
            before = int(so_far[-1].rpartition("=")[2] if so_far else start)
            operation = operations[len(so_far)]
        own = written(before, operation, applied(before, operation))
        return f"{own}\n{CORRECT if own == step else INCORRECT}"

    # --- solvers

    def solutions(self, count: int, each: int, rng: Random) -> list[Solved]:
        found = []
        for _ in range(count):
            trace = self.trace(rng)
            trap = rng.randrange(self.length) if rng.random() < self.trapped else None
            error = rng.choice(ERRORS)
            attempts = tuple(self._attempt(trace, trap, error, rng) for _ in range(each))
            found.append(Solved(str(trace.values[-1]), attempts))
        return found

    def _attempt(self, trace: Trace, trap: int | None, error: str, rng: Random) -> Attempt:
        """A solver's steps: after a slip it goes on from its own value."""
        value, steps = trace.start, list[str]()
        for place, operation in enumerate(trace.operations):
            here = Trace(value, (operation,))
            slips, alike = rng.random(), rng.random()
            step = here.step(0)
            if place == trap and slips < 0.6:
                step = spoilt(here, 0, error, Random(derive(trace.start, trace.problem, place)))
            elif alike < self.slip:
                step = spoilt(here, 0, rng.choice(ERRORS), rng)
            steps.append(step)
            value = int(step.rpartition("=")[2])
        shown = tuple(self.judged(trace, n, step, before=steps[:n]) for n, step in enumerate(steps))
        return Attempt(str(value), shown)
