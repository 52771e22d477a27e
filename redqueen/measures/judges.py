"""How far a judge can be trusted: its judgements against an oracle's."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from redqueen.measures.alarms import Alarm, Alarms, at_least
from redqueen.protocols import COUNT, FINITE, Maybe, Row, State, shaped
from redqueen.types import Mean, Metrics, RedQueenError

UNREAD = Alarm("unread", "surely", "{unread} of the last {seen} judgements hold no score that can be read", limit=0.5)
NO_VERDICT = Alarm(
    "unread",
    "unread",
    "{value:.0%} of the criticisms hold no verdict: the last line of one is right or wrong, alone",
    limit=0.5,
)


_STATE = {"seen": [Row(Maybe(FINITE), Maybe(bool))], "early": [FINITE], "total": COUNT, "alarms": dict}


class Agreement:
    """A judge against an oracle, over the last `window` judgements: on a fixed set of known right and wrong
    answers, so that a judge who drifts is seen. Where nobody knows what is right, it is seen all the same how many
    judgements cannot be read, and that the mean score rises."""

    def __init__(self, window: int = 512, threshold: float = 0.5) -> None:
        """A score of `threshold` or more calls the answer right."""
        if window < 1:
            raise RedQueenError(f"a window holds 1 judgement or more, not {window}")
        self._threshold = threshold
        self._seen: deque[tuple[float | None, bool | None]] = deque(maxlen=window)
        self._early: list[float] = []  # the first parsed scores, as many as the window holds
        self._total = 0  # parsed scores ever
        self._alarms = Alarms([UNREAD], quiet=True)

    def observe(self, scores: Sequence[float | None], truths: Sequence[float | None]) -> None:
        """One score from 0 to 1 for each answer, None or NaN where unparsed, and whether the answer is right, None
        or NaN where nobody knows."""
        for given, truth in zip(scores, truths, strict=True):
            score = None if given is None or math.isnan(given) else float(given)
            if score is not None and not 0.0 <= score <= 1.0:
                raise RedQueenError(f"a judge's score lies from 0 to 1, not at {score}")
            self._seen.append((score, None if truth is None or math.isnan(truth) else bool(truth)))
            if score is not None:
                self._total += 1
                if len(self._early) < (self._seen.maxlen or 0):
                    self._early.append(score)
        self._watch()

    def metrics(self) -> Metrics:
        """`judge_seen` and `judge_unparsed` (a share) always; of parsed scores `judge_mean_score`, and of those of
        answers that are known to be right or wrong `judge_accuracy` and `judge_right` (the share of right answers);
        `judge_auc` where some are right and some wrong; and `judge_drift`, how far the mean score has risen since the
        first window, once as many scores lie beyond that; and `alarm/unread` from the first step in which it fires."""
        scores = [score for score, _ in self._seen if score is not None]
        known = [(score, truth) for score, truth in self._seen if score is not None and truth is not None]
        metrics: Metrics = {"judge_seen": float(len(self._seen)), **self._watch()}
        unparsed = 1.0 - len(scores) / len(self._seen) if self._seen else 0.0
        metrics["judge_unparsed"] = Mean(unparsed, len(self._seen))
        if not scores:
            return metrics
        mean = math.fsum(scores) / len(scores)
        metrics["judge_mean_score"] = Mean(mean, len(scores))
        if known:
            agreed = sum((score >= self._threshold) == truth for score, truth in known)
            metrics["judge_accuracy"] = Mean(agreed / len(known), len(known))
            metrics["judge_right"] = Mean(sum(truth for _, truth in known) / len(known), len(known))
        area = auc([score for score, _ in known], [truth for _, truth in known])
        if area is not None:
            metrics["judge_auc"] = area
        if self._total >= 2 * (self._seen.maxlen or 0):
            metrics["judge_drift"] = mean - math.fsum(self._early) / len(self._early)
        return metrics

    def alarms(self) -> list[str]:
        """A message if significantly more than half of the judgements cannot be read; else empty."""
        return self._alarms.alarms()

    def _watch(self) -> Metrics:
        unread, seen = sum(score is None for score, _ in self._seen), len(self._seen)
        return self._alarms.observe({"surely": at_least(unread, seen), "unread": unread, "seen": seen})

    def state(self) -> State:
        return {
            "seen": [list(pair) for pair in self._seen],
            "early": list(self._early),
            "total": self._total,
            "alarms": self._alarms.state(),
        }

    def restore(self, state: State) -> None:
        shaped(state, _STATE, "the agreement: ")
        self._seen.clear()
        self._seen.extend((score, truth) for score, truth in state["seen"])
        self._early = list(state["early"])
        self._total = state["total"]
        self._alarms.restore(state["alarms"])


class Inflation:
    """How much more a share has risen in a judge's eyes than by a check, since both were first known."""

    def __init__(self) -> None:
        self._first: list[float] = []  # by the judge, by the check

    def rise(self, judged: float, right: float) -> float:
        """The difference of both rises, which begins at 0."""
        self._first = self._first or [judged, right]
        return (judged - self._first[0]) - (right - self._first[1])

    def state(self) -> State:
        return {"first": list(self._first)}

    def restore(self, state: State) -> None:
        shaped(state, {"first": [FINITE]}, "the inflation: ")
        self._first = list(state["first"])


def auc(scores: Sequence[float], truths: Sequence[bool]) -> float | None:
    """The chance that a right answer is scored above a wrong one, ties by halves; None where there are not both."""
    right = sum(truths)
    wrong = len(truths) - right
    if not right or not wrong:
        return None
    below: dict[float, list[int]] = {}
    for score, truth in zip(scores, truths, strict=True):
        below.setdefault(score, [0, 0])[truth] += 1
    won, passed = 0.0, 0
    for score in sorted(below):
        wrong_here, right_here = below[score]
        won += right_here * (passed + wrong_here / 2)
        passed += wrong_here
    return won / (right * wrong)
