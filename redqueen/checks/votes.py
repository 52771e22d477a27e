"""Labels by majority vote for tasks without a known answer, and weights for how certain a label is.

The vote counts answers, not texts: `normalise` comes first, `same` joins answers that are written differently. In
mathematics case matters: give `Majority` `str.strip` to normalise with, and `Symbolic().same`.
What a share is a share of is said, never guessed: R-Zero (Huang et al., 2025) rewards its challenger on all attempts
and filters on those that gave an answer, which are two numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from redqueen.checks.extraction import value_of
from redqueen.checks.formulas import by_formula
from redqueen.checks.numeric import normalised, number
from redqueen.protocols import Verifier
from redqueen.types import Metrics, RedQueenError, Reply, Task

_TEX = re.compile(r"[\\{]")


@dataclass(frozen=True)
class Vote:
    """The result of a vote of the attempts at one task."""

    answer: str  # in the majority's most frequent spelling, the first on ties; "" if no attempt gave an answer
    share: float  # of the votes, from 0 to 1
    counted: int  # attempts that gave an answer
    total: int  # attempts


Elect = Callable[[Sequence[Sequence[str]]], Vote]
"""Chooses among the answers of several minds to one question, [K] each."""


@dataclass(frozen=True)
class Majority:
    """The answer with the most votes. Of answers with equally many, the one that was given first wins; with `undecided`
    none does, and the vote is on "".

    An attempt whose normalised answer is empty gave none. It never wins; with `count_missing` its vote still counts
    in what the share is a share of.

    `same` (the first of a group, another answer) joins groups: each answer, in the order of their first
    appearance, joins the earliest group whose first answer it equals, or opens one.
    """

    count_missing: bool
    normalise: Callable[[str], str] = normalised
    same: Callable[[str, str], bool] | None = None
    undecided: bool = False

    def label(self, answers: Sequence[str], weights: Sequence[float] | None = None) -> Vote:
        """The vote on the answers of [G] attempts. `weights` [G], 0 or above, are votes of unequal size, such as
        `confidence`; without them each attempt has one."""
        weights = [1.0] * len(answers) if weights is None else list(weights)
        if len(weights) != len(answers) or not all(0.0 <= weight < math.inf for weight in weights):
            raise RedQueenError(f"a vote needs one finite weight of 0 or above for each of its {len(answers)} answers")
        groups = self._groups(answers)
        votes = [math.fsum(weights[i] for i in group) for group in groups]  # exact: the order of attempts changes none
        given = sorted(i for group in groups for i in group)
        size = math.fsum(weights) if self.count_missing else math.fsum(weights[i] for i in given)
        most = max(votes, default=0.0)
        if most == 0.0 or (self.undecided and sum(math.isclose(each, most) for each in votes) > 1):
            return Vote("", 0.0, len(given), len(answers))
        spelled: dict[str, float] = {}
        for i in groups[votes.index(most)]:
            spelled[answers[i].strip()] = spelled.get(answers[i].strip(), 0.0) + weights[i]
        return Vote(max(spelled, key=spelled.__getitem__), most / size, len(given), len(answers))

    def _groups(self, answers: Sequence[str]) -> list[list[int]]:
        """The numbers of the attempts that gave each answer, in the order of first appearance."""
        spelled: dict[str, list[int]] = {}
        for i, answer in enumerate(answers):
            spelled.setdefault(self.normalise(answer), []).append(i)
        spelled.pop("", None)
        if self.same is None:
            return list(spelled.values())
        joined: dict[str, list[int]] = {}
        for text, group in spelled.items():
            first = next((first for first in joined if self.same(first, text)), text)
            joined.setdefault(first, []).extend(group)
        return [sorted(group) for group in joined.values()]


def by_value(answer: str) -> str:
    """The answer as votes count it: a number by its value, so that 1/2 and 0.5 are one, a formula by its own, so that
    2(x+1) and 2x+2 are (`formulas`), any other text `normalised`. Marks of TeX and of emphasis do not count: 10\\% and
    **10%** are 1/10."""
    text = normalised(answer)
    value = number(answer)
    if value is None:
        value = number(value_of(text).removeprefix("$") if _TEX.search(text) else text)
    return str(value) if value is not None else by_formula(answer) or text


def is_label(task: Task, answer: str) -> bool:
    """Whether an answer is that of the task, `by_value`. Raises RedQueenError for a task without one."""
    if not (wanted := by_value(task.answer)):
        raise RedQueenError(f"the answer of task {task.id!r} is {task.answer!r}: a label needs some text")
    return by_value(answer) == wanted


def label(answers: Sequence[str], count_missing: bool, weights: Sequence[float] | None = None) -> Vote:
    """The majority vote on normalised answers; `Majority` takes another equality."""
    return Majority(count_missing).label(answers, weights)


def collective(answers: Sequence[Sequence[str]], weigh: bool = True) -> tuple[Vote, list[float]]:
    """The vote of several voters with several answers each, numbers compared by value, and the consistency of each: the
    share of its answers that give its own most frequent one. Each answer weighs as its voter is consistent, or with
    `weigh` False all alike (RLCCF, arXiv:2508.12338). A tie of several answers is a vote on ""."""
    own = Majority(count_missing=True, normalise=by_value)
    consistency = [own.label(each).share for each in answers]
    weights = [share if weigh else 1.0 for share, each in zip(consistency, answers, strict=True) for _ in each]
    of_all = replace(own, undecided=True)
    return of_all.label([text for each in answers for text in each], weights), consistency


def confidence(reply: Reply) -> float:
    """exp of the mean log-probability of the reply's own tokens, from 0 to 1: a weight for its vote."""
    if not reply.logprobs.size:
        raise RedQueenError(f"a reply of {reply.player or 'nobody'} has no log-probabilities to weight its vote with")
    return float(np.exp(reply.logprobs.mean()))


def audit(votes: Sequence[Vote], tasks: Sequence[Task], oracle: Verifier) -> Metrics:
    """The quality of labels on tasks with known answers: `label_accuracy` over the labels given, their number, the
    share of tasks that got one, and by how much the mean share of the votes exceeds the accuracy.

    Labels may be right on easy tasks and wrong on most hard ones: audit kinds of task apart.
    """
    made = [(vote, task) for vote, task in zip(votes, tasks, strict=True) if vote.answer]
    metrics = {"labels": float(len(made)), "labelled": len(made) / len(votes) if votes else 0.0}
    if made:
        accuracy = sum(oracle(task, vote.answer) for vote, task in made) / len(made)
        share = math.fsum(vote.share for vote, _ in made) / len(made)
        metrics |= {"label_accuracy": accuracy, "label_overconfidence": share - accuracy}
    return metrics


@dataclass(frozen=True)
class LabelTrust:
    """ADPO's two scales of how far a label is trusted (Agent0, 2025, arXiv:2511.16043), each a ramp over the vote's
    share p between `low` and `high`.

        scale(p)      = least + (1 - least) * clamp((p - low) / (high - low), 0, 1)
        upper_clip(p) = epsilon + slack * clamp((high - p) / (high - low), 0, 1)

    The advantages of a task are multiplied by its scale; the probability ratio of its tokens is clipped at
    1 + upper_clip, looser where the vote is split.
    """

    least: float = 0.6  # s_min of the released script; the default of the released code is 0.5
    epsilon: float = 0.2
    slack: float = 0.1
    low: float = 0.3
    high: float = 0.8

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise RedQueenError(f"the ramp needs low < high, not {self.low} and {self.high}")

    def scale(self, share: float) -> float:
        """The factor for the advantages of a task, by its vote's `share`."""
        return self.least + (1.0 - self.least) * _clamped((share - self.low) / (self.high - self.low))

    def upper_clip(self, share: float) -> float:
        """How far above 1 the probability ratio may rise, by the vote's `share`."""
        return self.epsilon + self.slack * _clamped((self.high - share) / (self.high - self.low))


def _clamped(value: float) -> float:
    return min(1.0, max(0.0, value))
