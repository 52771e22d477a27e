"""Preference oracles: a question set, a judge who reads both answers, or the user's own file.

Scores that a judge gives single answers are in `questions.asking` (`judged_answers`, `opinions`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from random import Random
from types import MappingProxyType
from typing import Protocol, cast

import numpy as np

from redqueen.catalogue import Catalogue
from redqueen.checks.judge import Label
from redqueen.checks.preferences import BothOrders, ByReward, chances
from redqueen.measures.alarms import Alarm, Alarms, at_least
from redqueen.play.groups import attempts
from redqueen.protocols import Player, PreferenceOracle, Questions, State, has
from redqueen.questions.asking import JUDGE, said
from redqueen.questions.verdicts import as_scores
from redqueen.types import Metrics, RedQueenError, Task

_FIRST, _SECOND = "A", "B"
_VERDICT = Label((_FIRST, _SECOND))
_LEARNING = ("adapter", "separate")


def about_pair(task: Task, first: str, second: str) -> Task:
    """The task of a judge of two answers: the question and both answers, without the right answer."""
    prompt = f"Which answer is better? Write A or B.\n{task.prompt}\nA: {first}\nB: {second}"
    return Task(f"pair of {task.id}", "pair", prompt)


@dataclass(frozen=True)
class JudgedPairs:
    """A judge as an oracle: the share of its readable verdicts, out of `repeats`, that prefer the first answer; NaN if
    none can be read. A verdict is A or B alone on the last line, or as judges say it in prose (`checks.judge.Label`);
    what says both, or neither, is none. Judges favour the first answer: wrap it in `BothOrders`."""

    judge: Player
    repeats: int = 1

    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        asked = [about_pair(*each) for each in zip(tasks, first, second, strict=True)]
        judged = attempts(JUDGE, asked, self.judge, self.repeats, rng)
        shares = [_share([_VERDICT.read(text) for text in said(group.attempts)]) for group in judged]
        return np.array(shares, dtype=np.float64)


def _share(verdicts: Sequence[str | None]) -> float:
    """The share of readable verdicts for the first answer; NaN without one."""
    read = [verdict == _FIRST for verdict in verdicts if verdict is not None]
    return sum(read) / len(read) if read else float("nan")


class Comparing(Protocol):
    """A question set with its own preference oracle."""

    @property
    def oracle(self) -> PreferenceOracle: ...


class Rewarding(Protocol):
    """A question set with a reward model of its own."""

    def rewards(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[float]: ...


UNREAD = Alarm("oracle", "surely", "{unread} of the last {seen} pairs that the oracle compared have no verdict", 0.5)
WINDOW = 512  # pairs that the alarm looks back on


class Heard:
    """An oracle whose silence is heard: the share of its comparisons without a verdict, an alarm where surely more than
    half have none, and RedQueenError once it has been asked about `patience` pairs or more and has had no verdict on
    any."""

    def __init__(self, oracle: PreferenceOracle, name: str, patience: int = 64) -> None:
        self.oracle, self.name, self.patience = oracle, name, patience
        self._asked = self._read = 0  # ever
        self._new: list[bool] = []  # whether each pair since the last `metrics` was read
        self._late: deque[bool] = deque(maxlen=WINDOW)
        self._alarms = Alarms([UNREAD], quiet=True)

    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        found = chances(self.oracle, tasks, first, second, rng)
        read = (~np.isnan(found)).tolist()
        self._asked, self._read = self._asked + len(read), self._read + sum(read)
        self._new.extend(read)
        self._late.extend(read)
        if not self._read and self._asked >= self.patience:
            raise RedQueenError(
                f"the oracle {self.name} has no verdict on any of {self._asked} pairs of answers: a judge must answer "
                "A or B, a question set must know what is right; --oracle judge:WHO asks a model"
            )
        return found

    def metrics(self) -> Metrics:
        """`oracle/unread`, the share of the pairs compared since the last call that have no verdict, once one has had
        none; and `alarm/oracle`, from the step in which it first rings."""
        new, self._new = self._new, []
        unread = self._late.count(False)
        rung = self._alarms.observe(
            {"surely": at_least(unread, len(self._late)), "unread": unread, "seen": len(self._late)}
        )
        return rung | ({"oracle/unread": new.count(False) / len(new)} if new and self._read < self._asked else {})

    def alarms(self) -> list[str]:
        """A message if surely most pairs have no verdict: what they teach is what is left; else empty."""
        return self._alarms.alarms()

    def state(self) -> State:
        return {
            "asked": self._asked,
            "read": self._read,
            "new": list(self._new),
            "late": list(self._late),
            "alarms": self._alarms.state(),
        }

    def restore(self, state: State) -> None:
        self._asked, self._read, self._new = state["asked"], state["read"], list(state["new"])
        self._late = deque(state["late"], maxlen=WINDOW)
        self._alarms.restore(state["alarms"])


def find_oracle(spec: str, questions: Questions, seat: Callable[[str], Player]) -> Heard:
    """The preference oracle that `spec` names, and how often it says nothing.

    "questions": the set's own (`oracle`); else its reward model (`rewards`), by Bradley and Terry; else its check, by
    which a right answer beats a wrong one and equals are one half. "judge:WHO": a judge who is shown both answers, in
    both orders; `seat` makes the player of WHO (shared, frozen, a model folder, http://HOST/v1#MODEL). Anything else:
    `path/to/file.py:MyOracle`, `some.module:MyOracle` or an entry point of the group `redqueen.oracles`. Raises
    RedQueenError with one line that says what is wrong.
    """
    return Heard(_found(spec, questions, seat), spec)


def _found(spec: str, questions: Questions, seat: Callable[[str], Player]) -> PreferenceOracle:
    if spec == "questions":
        return _of_questions(questions)
    word, _, who = spec.partition(":")
    if word == "judge":
        if who in ("", *_LEARNING):
            raise RedQueenError(
                "say who judges: judge:shared, judge:frozen, judge: and a model folder, or judge:http://HOST/v1#MODEL; "
                "it does not learn"
            )
        return BothOrders(JudgedPairs(seat(who)))
    oracle = Catalogue("preference oracle", MappingProxyType({}), "redqueen.oracles").find(spec)
    if not callable(oracle):
        raise RedQueenError(
            f"{spec!r} is no preference oracle: it cannot be called with tasks and two lists of answers"
        )
    return cast(PreferenceOracle, oracle)


def _of_questions(questions: Questions) -> PreferenceOracle:
    if has(questions, Comparing):
        return questions.oracle
    if has(questions, Rewarding):
        return ByReward(questions.rewards)
    return ByReward(lambda tasks, answers: as_scores(questions.right(tasks, answers)), sharpness=inf)
