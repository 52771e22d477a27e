"""What the judge of SSR-Zero says of each attempt, what is paid for it, and how far it can be trusted (2505.16637)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp
from random import Random
from typing import Any, Literal

import numpy as np

from redqueen.checks.preferences import BothOrders, sigmoid
from redqueen.credit.group_rewards import OfGroup, for_its_seat
from redqueen.credit.outcomes import cut_off, numbers, verdicts
from redqueen.demonstrations.gold import gold_reply
from redqueen.measures.alarms import Alarm, Alarms
from redqueen.measures.judges import Agreement
from redqueen.measures.unseen import OF_REWARDS, Unseen
from redqueen.play.groups import episodes_of, with_facts
from redqueen.protocols import COUNT, Player, Questions, State, shaped
from redqueen.questions.asked_judges import AskedJudge
from redqueen.questions.asking import graded, said
from redqueen.questions.comparisons import verdicts as verdicts_on
from redqueen.questions.grading import call_of_the_user, of_the_user
from redqueen.questions.judge_oracles import JudgedPairs, JudgedScores, Manner
from redqueen.questions.judging import HIGHEST, LOWEST
from redqueen.questions.verdicts import Truncated
from redqueen.texts import of_length
from redqueen.types import Group, Metrics, RedQueenError, Task, Trajectory, mean_of

Metric = Callable[[Task, str], Any]
Scale = Literal["digits", "words"]
Beside = Literal["none", "wins", "sigmoid", "evolvr"]  # how a reply is set beside the reference of its question

WORST, BEST = 0, 100  # of a score in words
EQUAL = 1e-9  # deviations that are rounding
PATIENCE = 64  # answers that a judge may leave without a score before the first that has one
UNREAD_SCORES = Alarm(
    "unread_scores",
    "unread",
    "{value:.0%} of the attempts have no score that can be read (--scores digits needs none)",
    limit=0.5,
    steps=5,
)
ALL_ALIKE = Alarm(
    "scores_alike",
    "contrast",
    "the judge scores all attempts at a question alike (by {value:.3f} of the scale): they teach nothing",
    limit=0.005,
    steps=10,
    below=True,
)
JUDGE_DRIFT = Alarm(
    "judge_drift",
    "judge_drift",
    "the judge's mean score has risen by {value:.2f} since the start: see whether the answers are better (--judge "
    "frozen keeps the first judge)",
    limit=0.2,
    steps=5,
)


class SelfScored:
    """Gives each attempt the fact `opinion`, the judge's score from 0 to 1 (None where it cannot be read), beside the
    `reference` of its question where that is to be, and with a `metric` of the user's the fact `metric`; and tells how
    well the scores go with what the question set knows, which is never paid. Raises RedQueenError once `PATIENCE`
    answers or more were judged and not one score could be read."""

    def __init__(
        self,
        questions: Questions,
        judge: Player,
        scale: Scale,
        repeats: int,
        metric: str,
        truncated: Truncated,
        reference: Beside = "none",
    ) -> None:
        asked, expected = AskedJudge(judge, f"the judge {judge.name}"), scale == "digits"
        self._low, self._high = (LOWEST, HIGHEST) if expected else (WORST, BEST)
        manner = Manner(repeats=repeats, expected=expected)
        self._asked_judge, self._judge = asked, JudgedScores(asked, self._low, self._high, manner)
        self._pairs, self._reference = BothOrders(JudgedPairs(asked, manner)), reference
        self._metric = found_metric(metric) if metric else None
        self._questions = questions
        self._truncated: Truncated = truncated
        self._agreement = Agreement()
        self._unseen = Unseen(questions, truncated, OF_REWARDS)
        self._alarms = Alarms([UNREAD_SCORES, ALL_ALIKE, JUDGE_DRIFT], quiet=True)
        self._asked = self._read = 0  # answers judged ever, and those with a score
        self._figures: Metrics = {}

    def __call__(self, groups: Sequence[Group], rng: Random) -> list[Group]:
        episodes = episodes_of(groups)
        tasks, texts = [each.task for each in episodes], said(episodes)
        scores = self._scores(tasks, texts, rng) if self._reference == "none" else self._beside(tasks, texts, rng)
        told = [None if np.isnan(each) else each for each in scores.tolist()]
        self._heard(told)
        facts: list[dict[str, float | None]] = [{"opinion": each} for each in told]
        if self._metric is not None:
            measured = zip(tasks, texts, facts, strict=True)
            facts = [{**each, "metric": self._metric(task, text)} for task, text, each in measured]
        return with_facts(groups, facts)

    def _scores(self, tasks: Sequence[Task], texts: Sequence[str], rng: Random) -> np.ndarray:
        """[n] the judge's score of each text alone, from 0 to 1."""
        return (self._judge.scores(tasks, texts, rng) - self._low) / (self._high - self._low)

    def _beside(self, tasks: Sequence[Task], texts: Sequence[str], rng: Random) -> np.ndarray:
        """[n] what each text is worth beside the reference of its question; NaN where it has none."""
        found = np.full(len(tasks), np.nan)
        known = [number for number, task in enumerate(tasks) if gold_reply(task).strip()]
        asked, own = [tasks[number] for number in known], [texts[number] for number in known]
        if known and self._reference == "wins":
            found[known] = verdicts_on(self._pairs, asked, own, [gold_reply(task) for task in asked], rng)
        elif known:
            once = {task.id: task for task in asked}
            references = self._scores(list(once.values()), [gold_reply(task) for task in once.values()], rng)
            rated = dict(zip(once, references.tolist(), strict=True))
            scores = 1.0 + 4.0 * self._scores(asked, own, rng)
            theirs = 1.0 + 4.0 * np.array([rated[task.id] for task in asked])
            sizes = [len(text) for text in own]
            found[known] = sigmoid(scores - theirs) if self._reference == "sigmoid" else stories(scores, theirs, sizes)
        return found

    def _heard(self, scores: Sequence[float | None]) -> None:
        self._asked += len(scores)
        self._read += sum(each is not None for each in scores)
        if not self._read and self._asked >= PATIENCE:
            if self._reference != "none":
                raise RedQueenError(
                    f"none of {self._asked} answers could be set beside the reference of its question: rows need a "
                    "reply (--columns completion=COL or answer=COL), and the judge a verdict that can be read"
                )
            raise RedQueenError(
                f"the judge gave no score that can be read to any of {self._asked} answers: a score ends its reply, "
                f"from {self._low} to {self._high}; name another --judge, or let --scores digits read its probabilities"
                f"{self._asked_judge.excuse()}"
            )

    def observe(self, groups: Sequence[Group], trajectories: Sequence[Trajectory]) -> None:
        """Takes note of the judged groups and of what was paid for them."""
        self._unseen.observe(groups, trajectories)
        for group in graded(self._questions, groups, self._truncated):
            self._agreement.observe(numbers(group, "opinion").tolist(), verdicts(group).tolist())
        opinions = [numbers(group, "opinion") for group in groups]
        known = [each[~np.isnan(each)] for each in opinions]
        self._figures = {"unread": mean_of(np.isnan(np.concatenate(opinions)).tolist())}
        if several := [float(each.std()) for each in known if len(each) > 1]:
            self._figures["contrast"] = mean_of(several)

    def metrics(self) -> Metrics:
        """`unread`, the share of attempts without a score; `contrast`, the deviation of the scores of a question;
        what `Agreement` and `Unseen` know; and the alarms."""
        judged = self._agreement.metrics()
        watched = {name: float(value) for name, value in (self._figures | judged).items()}
        return self._figures | judged | self._unseen.metrics() | self._alarms.observe(watched)

    def alarms(self) -> list[str]:
        return [*self._agreement.alarms(), *self._unseen.alarms(), *self._alarms.alarms()]

    def state(self) -> State:
        return {
            "agreement": self._agreement.state(),
            "unseen": self._unseen.state(),
            "alarms": self._alarms.state(),
            "asked": self._asked,
            "read": self._read,
        }

    def restore(self, state: State) -> None:
        shaped(state, {"agreement": dict, "unseen": dict, "alarms": dict, "asked": COUNT, "read": COUNT}, "the judge: ")
        self._agreement.restore(state["agreement"])
        self._unseen.restore(state["unseen"])
        self._alarms.restore(state["alarms"])
        self._asked, self._read = state["asked"], state["read"]


def stories(own: np.ndarray, references: np.ndarray, characters: Sequence[int]) -> np.ndarray:
    """[n] `story_reward` of each; NaN without a score."""
    rows = zip(own.tolist(), references.tolist(), characters, strict=True)
    return np.array([story_reward(*row) for row in rows], dtype=np.float64)


def story_reward(own: float, reference: float, characters: int) -> float:
    """What EvolvR's released code (2508.06046) pays for a story whose score from 1 to 5 is `own`, beside a reference
    with the score `reference`: .1 for the score, .8 `relative` to the reference, .1 for its length. How the length is
    paid outside of 800 to 1,200 characters was not found: it is as for EvolvR's reasons."""
    alone = min(max((own - 1.0) / 4.0, 0.0), 1.0)
    return 0.1 * alone + 0.8 * relative(own - reference) + 0.1 * of_length(characters, 800, 1200)


def relative(ahead: float) -> float:
    """1 - e^-d for a story that is d ahead of its reference, else .2 sigmoid(10 (d + .1)). It is not monotone: an equal
    story is paid more (.146) than one that is up to .158 better."""
    return 1.0 - exp(-ahead) if ahead > 0.0 else 0.2 / (1.0 + exp(-10.0 * (ahead + 0.1)))


@dataclass(frozen=True)
class SelfScore:
    """The score of each attempt, 0 where its reply is not in the stated format; with a `metric` the mean of both, each
    less its mean over the group and divided by its deviation there, where a reply that is not in the format has the
    least metric of the group. An attempt that was cut off counts as such a reply, or as `truncated` says. NaN without a
    score or a metric."""

    metric: bool = False
    truncated: Truncated = "wrong"

    def of_group(self, group: Group) -> OfGroup:
        earned = self._less(numbers(group, "opinion"), group, 0.0)
        if not self.metric:
            return for_its_seat(group, {"self_score": earned})
        metric = numbers(group, "metric")
        known = metric[~np.isnan(metric)]
        metric = self._less(metric, group, float(known.min()) if len(known) else np.nan)
        return for_its_seat(group, {"self_score": standard(earned) / 2.0, "metric": standard(metric) / 2.0})

    def _less(self, given: np.ndarray, group: Group, least: float) -> np.ndarray:
        """[G] what is `given`, or the `least` for a reply that is not in the format, or was cut off where that is
        wrong; NaN for one that was cut off where that is unknown."""
        malformed = np.array([each.turns[-1].reply.malformed for each in group.attempts])
        found = np.where(malformed & ~np.isnan(given), least, given)
        if self.truncated == "graded":
            return found
        ended = np.array([cut_off(each) for each in group.attempts])
        return np.where(ended, least if self.truncated == "wrong" else np.nan, found)


def standard(values: np.ndarray) -> np.ndarray:
    """[n] the values less their mean, divided by their deviation; zero where all known ones are equal."""
    known = values[~np.isnan(values)]
    spread = float(known.std()) if len(known) else 0.0
    centred = values - (known.mean() if len(known) else 0.0)
    return np.asarray(centred / spread if spread > EQUAL else np.where(np.isnan(values), np.nan, 0.0))


def found_metric(spec: str) -> Metric:
    """The function `path/to/file.py:function` of a task and a reply that gives a number, higher for better, or None.
    Raises RedQueenError for anything else."""
    function, wanted = of_the_user(spec, "metric"), "a metric is a finite number, or None where it cannot tell"

    def measured(task: Task, reply: str) -> float | None:
        given = call_of_the_user(function, spec, task, reply, wanted)
        if given is None:
            return None
        if isinstance(given, bool) or not isinstance(given, int | float) or not np.isfinite(given):
            raise RedQueenError(f"{spec} gave {given!r:.40}: {wanted}")
        return float(given)

    return measured
