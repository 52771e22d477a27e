"""Problems that can be reworded without changing their answer: variational problem synthesis.

A story tells what somebody has, gains and loses, and asks what is left. It can be worked on in the order told, or
back from its end, by a solver who knows no number below nought: where a running total falls below it, that way is
stuck. "2 loses 5 gains 6" is stuck on the way on, and comes to 3 on the way back. A reply names the way and shows the
work, whose last total is the answer: "back 6-5=1+2=3", or "on 2 stuck". Who has read it can tell the same events in
another order, and need not have seen the story.

    plain     a story that can be worked on, whether or not it can be worked back too
    turned    one that can be worked back only

Both have the same answers, so that a plain story has turned variants. (For SvS, arXiv:2508.14029.)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, permutations
from random import Random
from typing import Protocol

from redqueen.protocols import Proposable
from redqueen.types import SOLVER, Demonstration, RedQueenError, Refusal, Task

VARIANT = "variant"
ON, BACK, STUCK = "on", "back", "stuck"
PLAIN, TURNED = "plain", "turned"
GAINS, LOSES = "gains", "loses"
_STORY = re.compile(rf"([1-9][0-9]?)((?: (?:{GAINS}|{LOSES}) [1-9][0-9]?)+)")
_WORK = re.compile(rf"(?:{ON}|{BACK}) [0-9]+(?:[+-][0-9]+=([0-9]+))+")
_CHANGE = re.compile(rf" ({GAINS}|{LOSES}) ([0-9]+)")


class Varying(Proposable, Protocol):
    """A question set whose problems can be told anew: `read` gives a variant the answer that was asked for, whatever
    the text says, and `right` grades by the answer of the task alone."""

    def vary(self, response: str, answer: str, number: int) -> Task:
        """The task of a synthesiser: the response to a problem, never the problem. `number` makes the id of the
        invitation unique."""
        ...

    def true_answer(self, task: Task) -> str | None:
        """The answer by the text of the task, "" if it has none, None where nobody knows: for audits only, not for
        training."""
        ...


@dataclass(frozen=True)
class Variants:
    """See the module. `works_on`, `skill`, `turned` and `faithful` are for demonstrations only: how often a story is
    worked on rather than back, whatever it needs; how often it is worked on exactly where that leads to the end; how
    often it is a turned one; and how often a variant tells the same events."""

    changes: int = 3  # of the number that one has, at most
    largest: int = 6  # number in a story
    works_on: float = 0.6
    skill: float = 0.0
    turned: float = 0.3
    faithful: float = 0.9
    name: str = field(default="variants", repr=False)

    def __post_init__(self) -> None:
        if self.changes < 1 or self.largest < 1:
            raise RedQueenError(
                f"stories need a change and numbers from 1, not changes={self.changes} and largest={self.largest}"
            )

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("story",)

    @property
    def levels(self) -> tuple[str, ...]:
        return (PLAIN, TURNED)

    def seeds(self) -> list[Task]:
        return [_task((2, 3))]

    def sources(self, kind: str) -> tuple[str, ...]:
        return self.kinds

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        """An invitation for a variant by the reference's answer, in place of a whole response."""
        answer = (references or self.seeds())[0].answer
        return self.vary(answer, answer, number)

    def vary(self, response: str, answer: str, number: int) -> Task:
        return Task(f"{VARIANT} {number}", "story", f"Tell a story for: {response}", answer)

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        return [self._read(task, reply.strip()) for task, reply in zip(invitations, replies, strict=True)]

    def _read(self, invitation: Task, text: str) -> Task | Refusal:
        found = _STORY.fullmatch(text)
        if found is None:
            return Refusal("malformed")
        told = [int(size) * (1 if way == GAINS else -1) for way, size in _CHANGE.findall(found[2])]
        if len(told) > self.changes or max(map(abs, (int(found[1]), *told))) > self.largest:
            return Refusal("too large")
        return _task((int(found[1]), *told), invitation.answer)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [_claim(answer) == task.answer != "" for task, answer in zip(tasks, answers, strict=True)]

    def true_answer(self, task: Task) -> str:
        total = sum(task.facts["steps"])
        return str(total) if total >= 0 else ""

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        if level not in self.levels:
            raise RedQueenError(f"there is no level {level!r}: the levels are {', '.join(self.levels)}")
        return [_task(self._steps(level, rng)) for _ in range(count)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """Demonstrations, half variants and half solutions."""
        return [self._demonstration(number, rng) for number in range(count)]

    def _demonstration(self, number: int, rng: Random) -> Demonstration:
        steps = self._any_steps(rng)
        way = ON if rng.random() < self.works_on else BACK
        if self.skill and rng.random() < self.skill:
            way = BACK if stuck(steps, ON) else ON
        if number % 2:
            return Demonstration(SOLVER, _task(steps), worked(steps, way))
        response = next(
            reply for reply in (worked(steps, way), worked(steps, ON), worked(steps, BACK)) if "stuck" not in reply
        )
        told = self._retold(steps, rng) if rng.random() < self.faithful else self._any_steps(rng)
        return Demonstration("proposer", self.vary(response, str(sum(steps)), number), story(told))

    def _retold(self, steps: Sequence[int], rng: Random) -> tuple[int, ...]:
        """The same events in another order, of either level as likely where there is one of it."""
        orders = sorted({told for told in permutations(steps) if told[0] > 0})
        by_level = [[told for told in orders if level_of(told) == level] for level in self.levels]
        return rng.choice(rng.choice([of_level for of_level in by_level if of_level]))

    def _any_steps(self, rng: Random) -> tuple[int, ...]:
        return self._steps(TURNED if rng.random() < self.turned else PLAIN, rng)

    def _steps(self, level: str, rng: Random) -> tuple[int, ...]:
        while True:
            first, *others = (rng.randint(1, self.largest) for _ in range(1 + self.changes))
            steps = (first, *(other * rng.choice((1, -1)) for other in others))
            if level_of(steps) == level:
                return steps


def level_of(steps: Sequence[int]) -> str:
    """The level of a story, PLAIN or TURNED; "" if it can be worked neither forwards nor backwards."""
    if not stuck(steps, ON):
        return PLAIN
    return "" if stuck(steps, BACK) else TURNED


def stuck(steps: Sequence[int], way: str) -> bool:
    """Whether a running total falls below zero in this direction."""
    return min(accumulate(steps if way == ON else reversed(steps))) < 0


def worked(steps: Sequence[int], way: str) -> str:
    """The solution worked in this direction: "on 2-1=1+5=6", "back 3 stuck"."""
    first, *others = steps if way == ON else tuple(reversed(steps))
    if first < 0:
        return f"{way} {STUCK}"
    said, total = f"{way} {first}", first
    for other in others:
        total += other
        if total < 0:
            return f"{said} {STUCK}"
        said += f"{other:+d}={total}"
    return said


def story(steps: Sequence[int]) -> str:
    """(2, -5, 6) as "2 loses 5 gains 6"."""
    return str(steps[0]) + "".join(f" {GAINS if step > 0 else LOSES} {abs(step)}" for step in steps[1:])


def _task(steps: Sequence[int], answer: str | None = None, name: str = "") -> Task:
    told = story(steps)
    facts = {"steps": list(steps), "level": level_of(steps)}
    prompt = f"What has one who has {told}?"
    return Task(name or told, "story", prompt, str(sum(steps)) if answer is None else answer, facts)


def _claim(reply: str) -> str:
    """The number that a reply comes to, after the way to it."""
    found = _WORK.fullmatch(reply.strip())
    return found[1] if found else ""
