"""Worked solutions as tasks: numbers to fill in, steps to put in order, with partial credit (2511.17473)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Literal

import numpy as np

from redqueen.checks.votes import by_value
from redqueen.credit.group_rewards import Stated
from redqueen.credit.outcomes import cut_off, numbers
from redqueen.curricula.held_out import Apart, apart_from
from redqueen.measures.alarms import Alarm, Alarms, Ringing
from redqueen.play.groups import episodes_of, with_facts
from redqueen.protocols import Demonstrator, Questions
from redqueen.questions.asking import said
from redqueen.questions.catalogue import having
from redqueen.questions.verdicts import Truncated
from redqueen.types import SOLVER, Group, Mean, Metrics, RedQueenError, Task, mean_of

First = Literal["fill", "order", "none"]
OrderBy = Literal["positions", "pairs"]

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"  # 1,250 is one number
NUMBER = re.compile(rf"(?<![\w.]){_DIGITS}(?![\d_])|(?<=[-+*/=(]){_DIGITS}")  # 8 of 8kg too
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
FEWEST = 2  # steps that can be put in order
DRAWN = 64  # solutions that are looked at for one with steps
WANTED = "wanted"  # the fact of a masked task: what is to be said, in order
FRACTION = "fraction"  # the fact of an attempt: the share of it that is right
NO_ANSWER = Alarm(
    "unread_answers",
    "read",
    "only {value:.0%} of the attempts at masked solutions have as many values as there are gaps or steps (--answer, "
    "--max-completion-length)",
    limit=0.3,
    steps=10,
    below=True,
)


def steps_of(solution: str) -> list[str]:
    """The steps of a worked solution: its lines, or its sentences where it is one line."""
    lines = [line.strip() for line in solution.splitlines() if line.strip()]
    return lines if len(lines) > 1 else [each.strip() for each in re.split(r"(?<=[.;])\s+", solution) if each.strip()]


def values_in(text: str) -> list[str]:
    """The values of the numbers in a text, in their order: 8, 8.0 and the 8 of 8kg are one."""
    return list(map(by_value, NUMBER.findall(text)))


def filling(task: Task, steps: Sequence[str], places: Sequence[int]) -> Task | None:
    """The task to fill in the last numbers of the steps at these `places`. Wherever such a number stands in the
    solution it is hidden, however it is written; one that stands in the question is not masked. None where no number is
    left."""
    shown = set(values_in(task.prompt))
    ends = [found[-1] for place in places if (found := NUMBER.findall(steps[place]))]
    hidden: dict[str, str] = {}  # by its value, as it is written first
    for each in ends:
        if by_value(each) not in shown:
            hidden.setdefault(by_value(each), each)
    if not hidden:
        return None
    marks = dict(zip(hidden, LETTERS, strict=False))

    def masked(step: str) -> str:
        return NUMBER.sub(
            lambda found: f"[{marks[value]}]" if (value := by_value(found[0])) in marks else found[0], step
        )

    text = "\n".join(masked(step) for step in steps)
    asked = f"What stands at {', '.join(f'[{mark}]' for mark in marks.values())}? Say the numbers in this order."
    return _masked(task, "fill", f"{text}\n{asked}", [hidden[value] for value in marks])


def ordering(task: Task, steps: Sequence[str], permutation: Sequence[int]) -> Task:
    """The task to put steps in order that are shown in the order of the `permutation`."""
    shown = "\n".join(f"{LETTERS[place]}) {steps[step]}" for place, step in enumerate(permutation))
    wanted = [LETTERS[list(permutation).index(step)] for step in range(len(steps))]
    return _masked(task, "order", f"{shown}\nIn which order do these steps follow? Say the letters.", wanted)


def _masked(task: Task, kind: str, text: str, wanted: Sequence[str]) -> Task:
    return Task(f"{kind} {task.id}", kind, f"{task.prompt}\n{text}", " ".join(wanted), {WANTED: tuple(wanted)})


def chained(steps: Sequence[str]) -> list[str]:
    """The longest run of different steps of which each takes up the last number of the one before: only such steps have
    one order."""
    best, run = list[str](), list[str]()
    for step in steps:
        ends = values_in(run[-1])[-1:] if run else []
        goes_on = bool(ends) and ends[0] in values_in(step) and step not in run
        run = [*run, step] if goes_on else [step]
        best = run if len(run) > len(best) else best
    return best[: len(LETTERS)]


def given(task: Task, reply: str) -> list[str]:
    """What the last line of a reply to a masked task says: numbers, or letters of steps. "1,250" is one number where
    that makes as many as are asked for, else two."""
    last = next((line for line in reversed(reply.splitlines()) if line.strip()), "")
    if task.kind != "fill":
        return re.findall(r"\b[A-Z]\b", last)
    joined = re.findall(f"-?{_DIGITS}", last)
    return joined if len(joined) == len(task.facts[WANTED]) else re.findall(r"-?\d+(?:\.\d+)?", last)


def fraction(task: Task, reply: str, order_by: OrderBy = "positions") -> float:
    """The share of a masked task that a reply gets right, from 0 to 1: of the gaps that hold the right value, or of the
    steps at their place (or with `pairs`, of the pairs of steps in the right order, which is (1 + Kendall's tau) / 2).
    0 for more values than gaps, and for what is no permutation of the steps."""
    wanted: list[str] = list(task.facts[WANTED])
    values = given(task, reply)
    if task.kind == "fill":
        if len(values) > len(wanted):
            return 0.0
        hits = [by_value(one) == by_value(other) for one, other in zip(values, wanted, strict=False)]
        return sum(hits) / len(wanted)
    if sorted(values) != sorted(wanted):
        return 0.0
    if order_by == "positions":
        return sum(one == other for one, other in zip(values, wanted, strict=True)) / len(wanted)
    places = [wanted.index(each) for each in values]
    pairs = [(one, other) for at, one in enumerate(places) for other in places[at + 1 :]]
    return sum(one < other for one, other in pairs) / len(pairs)


class Masked(Ringing):
    """Masked tasks of a question set with worked solutions, and what attempts at them are worth. Raises RedQueenError
    where its solutions have no steps (`first` fill: no numbers to hide)."""

    reward = Stated(FRACTION)

    def __init__(
        self, questions: Questions, first: First, share: float, order_by: OrderBy, truncated: Truncated
    ) -> None:
        self._questions = questions
        self._shown = None if first == "none" else having(questions, Demonstrator)
        self._first = first
        self._share = share
        self._order_by: OrderBy = order_by
        self._truncated: Truncated = truncated
        self._alarms = Alarms([NO_ANSWER], quiet=True)
        self._figures: Metrics = {}

    def drawn(self, count: int, rng: Random, apart: Apart) -> list[Task]:
        """`count` masked tasks, none of a held-out problem."""
        found: list[Task] = []
        looked = 0
        while len(found) < count and looked < DRAWN * count:
            found += self._some(count, rng, apart)
            looked += count
        if not found:
            what = "numbers to hide" if self._first == "fill" else "steps of which each takes up the last value"
            raise RedQueenError(
                f"the solutions of {self._questions.name} have no {what}: --first needs worked solutions, a step a "
                "line (--columns completion=COL); --first none trains on answers alone"
            )
        return found[:count]

    def _some(self, count: int, rng: Random, apart: Apart) -> list[Task]:
        assert self._shown is not None
        shown = [one for one in self._shown.demonstrations(count, rng) if one.role == SOLVER]
        right = self._questions.right([one.task for one in shown], [one.text for one in shown])
        kept = {each.id for each in apart_from(apart, [one.task for one in shown])}
        made = [
            self._made(one.task, steps_of(one.text), rng)
            for one, each in zip(shown, right, strict=True)
            if each is not False and one.task.id in kept
        ]
        return [each for each in made if each is not None]

    def _made(self, task: Task, steps: Sequence[str], rng: Random) -> Task | None:
        if self._first == "fill":
            count = max(1, round(self._share * len(steps)))
            return filling(task, steps, sorted(rng.sample(range(len(steps)), count))) if steps else None
        run = chained(steps)
        order = rng.sample(range(len(run)), len(run))
        return ordering(task, run, order) if len(run) >= FEWEST else None

    def marked(self, groups: Sequence[Group]) -> list[Group]:
        """The groups with the fact `fraction` of each attempt."""
        episodes = episodes_of(groups)
        ended = {"wrong": 0.0, "unknown": None}
        facts: list[dict[str, float | None]] = [
            {
                FRACTION: ended[self._truncated]
                if cut_off(each) and self._truncated != "graded"
                else fraction(each.task, reply, self._order_by)
            }
            for each, reply in zip(episodes, said(episodes), strict=True)
        ]
        found = with_facts(groups, facts)
        known = np.concatenate([numbers(group, FRACTION) for group in found])
        known = known[~np.isnan(known)]
        if len(known):
            self._figures[f"masked/{self._first}"] = Mean(float(known.mean()), len(known))
        self._figures["masked/read"] = mean_of(
            len(given(each.task, reply)) == len(each.task.facts[WANTED])
            for each, reply in zip(episodes, said(episodes), strict=True)
        )
        return found

    def metrics(self) -> Metrics:
        """`masked/fill` or `masked/order`, the mean fraction since the last call; `masked/read`, the share of attempts
        with as many values as are wanted; and the alarm on it."""
        found, self._figures = self._figures, {}
        watched = {"read": float(found["masked/read"])} if "masked/read" in found else {}
        return found | self._alarms.observe(watched)
