"""Verdicts on answers, some of which may be unknown: as scores, and as figures that leave the unknown out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan
from statistics import fmean

from redqueen.protocols import Questions
from redqueen.types import Mean, Metrics, RedQueenError, Task
from redqueen.types import Truncated as Truncated


def as_scores(verdicts: Iterable[float | None]) -> list[float]:
    """1 for each right answer, 0 for each wrong one, NaN for each unknown one."""
    return [nan if each is None else float(each) for each in verdicts]


def with_truncated(right: bool | None, cut_off: bool, score: Truncated) -> bool | None:
    """The verdict `right` on a reply, or where the reply was cut off the one that `score` says."""
    return right if not cut_off or score == "graded" else (False if score == "wrong" else None)


def share_right(name: str, verdicts: Iterable[float | None]) -> Metrics:
    """`name`, the share of right answers among those with a verdict, and `NAME_unknown`, the share without one; each
    only where there are any."""
    scores = as_scores(verdicts)
    known = [score for score in scores if not isnan(score)]
    found: Metrics = {name: Mean(fmean(known), len(known))} if known else {}
    if len(known) < len(scores):
        found[f"{name}_unknown"] = Mean(1.0 - len(known) / len(scores), len(scores))
    return found


def check_known(questions: Questions, tests: Mapping[str, Sequence[Task]], otherwise: str = "") -> None:
    """Raises RedQueenError for a question set without a verdict on any of its problems `tests`, by level; `otherwise`
    says what does without one."""
    tasks = [task for level in tests.values() for task in level]
    if all(right is None for right in questions.right(tasks, ["1"] * len(tasks))):
        raise RedQueenError(
            f"{questions.name} does not know what is right: {otherwise}--columns answer=COL names a column with answers"
        )
