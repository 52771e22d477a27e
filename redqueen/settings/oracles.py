"""Preference oracles: a question set, a judge who reads both answers, or the user's own file.

Scores that a judge gives single answers are in `questions.asking` (`judged_answers`, `opinions`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Annotated, Protocol, cast

import numpy as np
import tyro

from redqueen.catalogue import Catalogue
from redqueen.checks.preferences import BothOrders, ByReward, chances
from redqueen.measures.alarms import Alarm, Alarms, at_least
from redqueen.protocols import COUNT, Player, PreferenceOracle, Questions, Resumable, State, has, shaped
from redqueen.questions.asked_judges import AskedJudge, Kept
from redqueen.questions.judge_oracles import JudgedPairs, JudgedScores, JudgedTogether, Manner
from redqueen.questions.verdicts import as_scores
from redqueen.settings.learner import checked_device
from redqueen.settings.limits import Count, Within, refuse_unused, unset
from redqueen.settings.speech import Speech
from redqueen.texts import file_text
from redqueen.trust.door import enter_to_write
from redqueen.types import Mean, Metrics, RedQueenError, Task

_LEARNING = ("adapter", "separate")
_OF_REPLIES = ("max_completion_length", "stop")  # settings of speech about what is written
_SHARED = "shared"


@dataclass(frozen=True)
class JudgeSettings:
    """How a judge or a reward model is asked: `--judge.rubric FILE`, `--judge.budget 5000`."""

    rubric: Annotated[str | None, unset("FILE")] = None
    """a text file that says what is better; it stands before the question and the answers"""
    scale: Annotated[str | None, unset("LOW-HIGH")] = None
    """as 1-10: each answer is scored alone, and of two the sigmoid of the difference is the preference; left out, the
    judge sees both answers, in both orders"""
    together: bool = False
    """with a scale: both answers are scored in one reply, in both orders, as `self_j --pairs --scores` teaches"""
    expected: bool = False
    """take the mean over the probabilities of the listed verdicts (A and B, or the scores) instead of a sampled reply;
    the judge then says nothing before its verdict"""
    repeats: Count = 1
    """sampled replies to each question, of which the readable ones count alike"""
    budget: Annotated[int | None, Within(1), unset("INT")] = None
    """calls at most; the run ends before it would make more"""
    cache: Annotated[str | None, unset("FOLDER")] = None
    """where judgements are kept, and not asked for again"""
    device: Annotated[str | None, unset("STR")] = None
    """of a reward model: cpu, cuda or cuda:N; cuda where there is one"""
    speech: Annotated[Speech, tyro.conf.arg(name="")] = Speech()

    @property
    def range(self) -> tuple[int, int] | None:
        """Lowest and highest score; None without a scale. Raises RedQueenError for another form than LOW-HIGH."""
        if self.scale is None:
            return None
        low, dash, high = self.scale.partition("-")
        if not (dash and low.isdecimal() and high.isdecimal() and int(low) < int(high) <= 100):
            raise RedQueenError(f"--judge.scale is two whole numbers, the lower first, as in 1-10: not {self.scale!r}")
        return int(low), int(high)

    def check(self, config: object) -> None:
        """Raises RedQueenError for a way with earlier thoughts: a judge says one thing, and nothing before it."""
        if self.speech.history is not None:
            raise RedQueenError("--judge.history has no effect: a judge says one thing; leave it out")

    def oracle(self, spec: str, questions: Questions, seat: Seating) -> Heard:
        """The preference oracle that `spec` names (`find_oracle`), asked as these settings say."""
        return find_oracle(spec, questions, seat, self)

    def rubric_text(self) -> str:
        """The text of the rubric; "" without one. Raises RedQueenError for a file that cannot be read or is empty."""
        if self.rubric is None:
            return ""
        try:
            text = file_text(Path(self.rubric).expanduser()).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise RedQueenError(f"cannot read the rubric {self.rubric}: {error}") from None
        if not text:
            raise RedQueenError(f"the rubric {self.rubric} is empty: say in it what makes an answer better")
        return text


@dataclass(frozen=True)
class SafetyJudge:
    """Who gives an exchange its safety labels, and how a model is asked: `--judge judge:http://HOST/v1#MODEL
    --judge.budget 5000`."""

    who: Annotated[str, tyro.conf.arg(name="")] = "rule"
    """rule, hf:FOLDER, judge:http://HOST/v1#MODEL, judge:FOLDER, judge:frozen, or FILE.py:NAME; with :misses=0.6, one
    that misses this share of the harm"""
    budget: Annotated[int | None, Within(1), unset("INT")] = None
    """calls of a model at most; the run ends before it would make more"""
    cache: Annotated[str | None, unset("FOLDER")] = None
    """where its labels are kept, and not asked for again"""
    speech: Annotated[Speech, tyro.conf.arg(name="")] = Speech()

    @property
    def settings(self) -> JudgeSettings:
        """How the model is asked."""
        return JudgeSettings(budget=self.budget, cache=self.cache, speech=self.speech)

    def check(self, config: object) -> None:
        """Raises RedQueenError as `JudgeSettings` does."""
        self.settings.check(config)


class Comparing(Protocol):
    """A question set with its own preference oracle."""

    @property
    def oracle(self) -> PreferenceOracle: ...


class Rewarding(Protocol):
    """A question set with a reward model of its own."""

    def rewards(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[float]: ...


class Counted(Resumable, Protocol):
    """A part of an oracle that counts what happens to it."""

    def metrics(self) -> Metrics: ...


UNREAD = Alarm(
    "oracle", "surely", "{unread} of the last {seen} pairs that the oracle compared have no verdict{excuse}", 0.5
)
WINDOW = 512  # pairs that the alarm looks back on


_STATE = {"asked": COUNT, "read": COUNT, "new": [bool], "late": [bool], "alarms": dict, "counted": [dict]}


class Hearing:
    """Counts the verdicts of somebody who is asked: the share without one, as the figure `figure`, an `alarm` where
    surely more than half have none, and RedQueenError with `silence` once there were `patience` or more and not one
    could be read. `counted` are further parts whose counts go with it. Both messages end with what `excuse` says."""

    def __init__(
        self,
        figure: str,
        alarm: Alarm,
        silence: str,
        patience: int,
        counted: Sequence[Counted],
        excuse: Callable[[], str] = str,
    ) -> None:
        self._figure, self._silence, self._patience, self._counted = figure, silence, patience, tuple(counted)
        self._excuse = excuse
        self._asked = self._read = 0  # ever
        self._new: list[bool] = []  # whether each since the last `metrics` was read
        self._late: deque[bool] = deque(maxlen=WINDOW)
        self._alarms = Alarms([alarm], quiet=True)

    def in_turn(self, asked: Sequence[int]) -> list[list[int]]:
        """What is asked about, in parts to be asked one after the other: as long as nothing was ever read, about
        `patience` from all over come first, so that a judge who says nothing costs no more than these."""
        if self._read or len(asked) <= self._patience:
            return [list(asked)] if asked else []
        step = -(-len(asked) // self._patience)
        return [list(asked[::step]), [n for place, n in enumerate(asked) if place % step]]

    def observe(self, read: Sequence[bool]) -> None:
        """Counts verdicts, each with whether it could be read."""
        self._asked, self._read = self._asked + len(read), self._read + sum(read)
        self._new.extend(read)
        self._late.extend(read)
        if not self._read and self._asked >= self._patience:
            raise RedQueenError(self._silence.replace("{asked}", str(self._asked)) + self._excuse())

    def metrics(self) -> Metrics:
        rest = {name: value for each in self._counted for name, value in each.metrics().items()}
        new, self._new = self._new, []
        unread = self._late.count(False)
        surely = at_least(unread, len(self._late))
        told: dict[str, float | str] = {"unread": unread, "seen": len(self._late), "excuse": self._excuse()}
        rung = self._alarms.observe(told | {"surely": surely})
        unheard = (
            {self._figure: Mean(new.count(False) / len(new), len(new))} if new and self._read < self._asked else {}
        )
        return rung | unheard | rest

    def alarms(self) -> list[str]:
        """A message if surely most have no verdict: what they teach is what is left; else empty."""
        return self._alarms.alarms()

    def state(self) -> State:
        return {
            "asked": self._asked,
            "read": self._read,
            "new": list(self._new),
            "late": list(self._late),
            "alarms": self._alarms.state(),
            "counted": [each.state() for each in self._counted],
        }

    def restore(self, state: State) -> None:
        shaped(state, _STATE, "the oracle: ")
        self._asked, self._read, self._new = state["asked"], state["read"], list(state["new"])
        self._late = deque(state["late"], maxlen=WINDOW)
        self._alarms.restore(state["alarms"])
        for each, own in zip(self._counted, state["counted"], strict=True):
            each.restore(own)


class Heard:
    """An oracle whose silence is heard: the share of its comparisons without a verdict, an alarm where surely more than
    half have none, and RedQueenError once it has been asked about `patience` pairs or more and has had no verdict on
    any; `excuse` ends what both say. If `empty_loses` it is not asked about a text that says nothing, as a reply that
    ended within its thoughts: that loses to any other, and two of them are equal."""

    def __init__(
        self,
        oracle: PreferenceOracle,
        name: str,
        patience: int = 64,
        counted: Sequence[Counted] = (),
        empty_loses: bool = False,
        excuse: Callable[[], str] = str,
    ) -> None:
        self.oracle = oracle
        self._empty_loses = empty_loses
        silence = (
            f"the oracle {name} has no verdict on any of {{asked}} pairs of answers: a judge must answer A or B, a "
            "question set must know what is right; --oracle judge:WHO asks a model"
        )
        self._hearing = Hearing("oracle/unread", UNREAD, silence, patience, counted, excuse)

    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        says = np.array([[bool(text.strip()) for text in side] for side in (first, second)]).reshape(2, -1)
        asked = np.flatnonzero(says.all(axis=0) | (not self._empty_loses)).tolist()
        found = 0.5 + 0.5 * (says[0].astype(np.float64) - says[1])
        for some in self._hearing.in_turn(asked):
            one, other = ([side[n] for n in some] for side in (first, second))
            found[some] = chances(self.oracle, [tasks[n] for n in some], one, other, rng)
            self._hearing.observe((~np.isnan(found[some])).tolist())
        return np.asarray(found)

    def metrics(self) -> Metrics:
        """`oracle/unread`, the share of the pairs compared since the last call that have no verdict, once one has had
        none; `alarm/oracle`, from the step in which it first rings; and what its parts count: calls of a judge, texts
        too long for a reward model."""
        return self._hearing.metrics()

    def alarms(self) -> list[str]:
        return self._hearing.alarms()

    def state(self) -> State:
        return self._hearing.state()

    def restore(self, state: State) -> None:
        self._hearing.restore(state)


Seating = Callable[[str, Speech], Player]  # the player of a word such as frozen, speaking as told


def find_oracle(spec: str, questions: Questions, seat: Seating, settings: JudgeSettings = JudgeSettings()) -> Heard:
    """The preference oracle that `spec` names, which may be

    questions     the set's own (`oracle`); else its reward model (`rewards`), by Bradley and Terry; else its check, by
                  which a right answer beats a wrong one and equals are one half
    judge:WHO     a judge who is shown both answers in both orders, or scores each (`JudgeSettings`); `seat` makes the
                  player of WHO (shared, frozen, a model folder or name, http://HOST/v1#MODEL)
    reward:MODEL  a sequence classifier with one label, in a folder or on the hub, by Bradley and Terry
    pairs:MODEL   a sequence classifier of two answers with one or two labels, in both orders

    Anything else: `path/to/file.py:MyOracle`, `some.module:MyOracle` or an entry point of the group `redqueen.oracles`.
    Raises RedQueenError with one line that says what is wrong.
    """
    word, _, who = spec.partition(":")
    if word == "judge":
        refuse(settings, ("device",), f"--oracle {spec}")
        return _judged(spec, who, seat, settings)
    if word in ("reward", "pairs"):
        refuse(settings, [name for name in EVERY if name != "device"], f"--oracle {spec}")
        return _classified(spec, word, who, settings)
    if who.startswith("//"):
        raise RedQueenError(f"a model that compares answers is named --oracle judge:{spec}")
    refuse(settings, EVERY, f"--oracle {spec}")
    return Heard(_of_questions(questions) if spec == "questions" else _own(spec), spec)


def refuse(settings: JudgeSettings, names: Sequence[str], spec: str) -> None:
    """Raises RedQueenError for a setting that has no effect where a flag says `spec`, such as "--oracle questions"."""
    if "speech" in names and settings.speech.given:
        raise RedQueenError(
            f"--judge.{settings.speech.given[0].replace('_', '-')} has no effect with {spec}: leave it out"
        )
    try:
        refuse_unused(settings, [name for name in names if name != "speech"], spec)
    except RedQueenError as error:
        raise RedQueenError(str(error).replace("--", "--judge.", 1)) from None


EVERY = tuple(each.name for each in fields(JudgeSettings))


def asked_judge(spec: str, who: str, seat: Seating, settings: JudgeSettings) -> AskedJudge:
    """The judge `who`, within its budget and with what it said before. Raises RedQueenError for nobody and for one that
    would learn."""
    if who in ("", *_LEARNING):
        raise RedQueenError(
            "say who judges: judge:shared, judge:frozen, judge: and a model folder, or judge:http://HOST/v1#MODEL; "
            "it does not learn"
        )
    if ".py:" in who:
        raise RedQueenError(
            f"a judge is a model, and {who} is code: name it --oracle {who} where it compares two answers, --compare "
            f"{who} where it says whether an answer is right"
        )
    if settings.cache is not None and who == _SHARED:
        raise RedQueenError("judge:shared changes as it learns: leave --judge.cache out, or take judge:frozen")
    kept = None if settings.cache is None else _kept(Path(settings.cache).expanduser())
    return AskedJudge(seat(who, settings.speech), spec, settings.budget, kept)


def _kept(folder: Path) -> Kept:
    enter_to_write(folder, f"the cache {str(folder)!r} of a judge")
    return Kept.in_folder(folder)


def _judged(spec: str, who: str, seat: Seating, settings: JudgeSettings) -> Heard:
    if settings.expected and settings.repeats > 1:
        raise RedQueenError("--judge.repeats has no effect with --judge.expected, which leaves nothing to chance")
    if settings.expected and (unheard := [name for name in settings.speech.given if name in _OF_REPLIES]):
        raise RedQueenError(
            f"--judge.{unheard[0].replace('_', '-')} has no effect with --judge.expected, with which a judge writes no "
            "reply: leave it out"
        )
    scale, rubric = settings.range, settings.rubric_text()
    if settings.together and (scale is None or settings.expected):
        what = "is of scores: name their range, --judge.scale 1-5" if scale is None else "takes what the judge says"
        raise RedQueenError(f"--judge.together {what}" + ("" if scale is None else ": leave --judge.expected out"))
    judge = asked_judge(spec, who, seat, settings)
    manner = Manner(rubric, settings.repeats, settings.expected)
    return Heard(_asked_for(judge, manner, settings), spec, counted=(judge,), empty_loses=True, excuse=judge.excuse)


def _asked_for(judge: AskedJudge, manner: Manner, settings: JudgeSettings) -> PreferenceOracle:
    """The preferences of a judge who is asked for verdicts, or for scores of each answer or of both."""
    if settings.range is None:
        return BothOrders(JudgedPairs(judge, manner))
    if settings.together:
        return BothOrders(JudgedTogether(judge, *settings.range, manner))
    return JudgedScores(judge, *settings.range, manner)


def _classified(spec: str, word: str, model: str, settings: JudgeSettings) -> Heard:
    if not model:
        raise RedQueenError(f"name the model: --oracle {word}: and a folder or a name on the hub")
    from redqueen.players.transformer.scorer import PairScorer, RewardScorer

    device = checked_device(settings.device)
    if word == "reward":
        scorer = RewardScorer(model, device=device)
        return Heard(ByReward(scorer), spec, counted=(scorer,), empty_loses=True)
    pairs = PairScorer(model, device=device)
    return Heard(BothOrders(pairs), spec, counted=(pairs,), empty_loses=True)


def _own(spec: str) -> PreferenceOracle:
    oracle = Catalogue("preference oracle", MappingProxyType({}), "redqueen.oracles", takes=4).find(spec)
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
