"""Preference oracles made of a judge: one that sees both answers, and one that scores each alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from redqueen.checks.judge import Label, Score, TwoScores
from redqueen.checks.preferences import sigmoid
from redqueen.questions.asked_judges import AskedJudge
from redqueen.questions.fenced import FIRST, SECOND, about_pair, about_score, about_scores, asked
from redqueen.types import Task

_VERDICT = Label((FIRST, SECOND))


@dataclass(frozen=True)
class Manner:
    """How a judge is asked about answers."""

    rubric: str = ""  # what is better; "" asks just that
    repeats: int = 1  # sampled replies to each question, of which the readable ones count alike
    expected: bool = False  # the mean over the probabilities of all verdicts, instead of sampled replies


def mean_read(found: Sequence[float], repeats: int) -> np.ndarray:
    """[n] the mean of each `repeats` judgements that could be read; NaN where none could."""
    table = np.array(found, dtype=np.float64).reshape(-1, repeats)
    known = ~np.isnan(table)
    counts, sums = known.sum(axis=1), np.where(known, table, 0.0).sum(axis=1)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


@dataclass(frozen=True)
class JudgedPairs:
    """A judge who sees both answers: the share of its readable verdicts that prefer the first; NaN if none can be read.
    If `expected`, its probability of A among A and B. Judges favour the first answer: wrap it in `BothOrders`."""

    judge: AskedJudge
    manner: Manner = Manner()

    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        rubric, again = self.manner.rubric, range(self.manner.repeats)
        trios = [trio for trio in zip(tasks, first, second, strict=True) for _ in again]
        shown = [about_pair(*trio, rng, rubric) for trio in trios]
        about = [
            (rubric, "pair", asked(task), one, other, str(number % self.manner.repeats))
            for number, (task, one, other) in enumerate(trios)
        ]
        if self.manner.expected:
            found = [float(row[0]) for row in self.judge.chances(shown, about, rng)]
        else:
            verdicts = [_VERDICT.read(text) for text in self.judge.said(shown, about, rng)]
            found = [np.nan if verdict is None else float(verdict == FIRST) for verdict in verdicts]
        return mean_read(found, self.manner.repeats)


@dataclass(frozen=True)
class JudgedScores:
    """A judge who scores each answer alone from `low` to `high`: the sigmoid of the difference of two scores (Bradley
    and Terry), each the mean of those that can be read; NaN if none can. If `expected`, a score is the mean over the
    probabilities of all scores (G-Eval, Liu et al. 2023, arXiv:2303.16634, section 2). Each answer is scored once a
    call."""

    judge: AskedJudge
    low: int
    high: int
    manner: Manner = Manner()

    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        pairs = [
            (asked(task), answer) for answers in (first, second) for task, answer in zip(tasks, answers, strict=True)
        ]
        distinct = dict(zip(pairs, [*tasks, *tasks], strict=True))
        found = self.scores(list(distinct.values()), [answer for _, answer in distinct], rng)
        scores = dict(zip(distinct, found.tolist(), strict=True))
        gaps = np.array([scores[one] - scores[other] for one, other in zip(pairs, pairs[len(tasks) :], strict=False)])
        return sigmoid(gaps)

    def scores(self, tasks: Sequence[Task], answers: Sequence[str], rng: Random) -> np.ndarray:
        """[n] the score of each answer."""
        rubric, again = self.manner.rubric, range(self.manner.repeats)
        pairs = [pair for pair in zip(tasks, answers, strict=True) for _ in again]
        shown = [about_score(*pair, rng, self.low, self.high, rubric) for pair in pairs]
        about = [
            (rubric, f"{self.low}-{self.high}", asked(task), answer, str(number % self.manner.repeats))
            for number, (task, answer) in enumerate(pairs)
        ]
        if self.manner.expected:
            every = np.arange(self.low, self.high + 1)
            found = [float(row @ every) for row in self.judge.chances(shown, about, rng)]
        else:
            form = Score(low=self.low, high=self.high)
            read = [form.read(text) for text in self.judge.said(shown, about, rng)]
            found = [np.nan if score is None else float(score) for score in read]
        return mean_read(found, self.manner.repeats)


@dataclass(frozen=True)
class JudgedTogether:
    """A judge who scores both answers in one reply, from `low` to `high`, as the evaluator of EvolvR does: the sigmoid
    of the difference of two scores, each the mean of those that can be read; NaN if none can. Judges favour the first
    answer: wrap it in `BothOrders`."""

    judge: AskedJudge
    low: int
    high: int
    manner: Manner = Manner()

    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        found = self.scores(tasks, first, second, rng)
        return sigmoid(found[:, 0] - found[:, 1])

    def scores(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        """[n, 2] the scores of both answers."""
        rubric, again = self.manner.rubric, range(self.manner.repeats)
        trios = [trio for trio in zip(tasks, first, second, strict=True) for _ in again]
        shown = [about_scores(*trio, rng, self.low, self.high, rubric) for trio in trios]
        about = [
            (rubric, f"both {self.low}-{self.high}", asked(task), one, other, str(number % self.manner.repeats))
            for number, (task, one, other) in enumerate(trios)
        ]
        form = TwoScores(self.low, self.high)
        read = [form.read(text) for text in self.judge.said(shown, about, rng)]
        columns = [[np.nan if each is None else float(each[side]) for each in read] for side in (0, 1)]
        return np.stack([mean_read(column, self.manner.repeats) for column in columns], axis=1)
