"""What a model gained in others' tests by its training, and what it forgot.

Both of its states are asked the same documents. A figure that is right or wrong has the exact binomial interval
(Clopper and Pearson, 1934), and its difference that of the share that rose among the documents whose result has
changed (McNemar's exact test): with d of n changed and the share p of them from wrong to right, the difference is
d / n (2 p - 1). Other means have Student's t over the documents, and their paired differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from redqueen.measures.intervals import Interval, exact_binomial_interval, paired_difference, student_interval
from redqueen.types import Mark, RedQueenError

HEADINGS = ("task", "figure", "of", "before", "after", "after - before", "shows")


@dataclass(frozen=True)
class Change:
    """One figure before and after the training, and what their difference shows."""

    task: str
    figure: str
    count: int  # documents; 0 where the figure is no mean over them
    before: Interval
    after: Interval
    difference: Interval
    shows: str  # gained, forgotten, unchanged, or not shown

    def cells(self, narrow: bool = False) -> list[str]:
        """What stands under `HEADINGS`; if it must be `narrow`, before and after without their intervals."""
        count = str(self.count) if self.count else ""
        ends = [f"{end.mean:.4g}" if narrow else _written(end) for end in (self.before, self.after)]
        return [self.task, self.figure, count, *ends, _signed(self), self.shows]


def changes(before: Sequence[Mark], after: Sequence[Mark]) -> list[Change]:
    """Every figure of the same tasks before and after. Raises RedQueenError where the two do not belong together."""
    if [(mark.task, mark.figure) for mark in before] != [(mark.task, mark.figure) for mark in after]:
        raise RedQueenError("a suite gave other figures before the training than after it")
    return [_change(*pair) for pair in zip(before, after, strict=True)]


def _change(before: Mark, after: Mark) -> Change:
    if not before.each or len(before.each) != len(after.each):
        values = (before.value, after.value, after.value - before.value)
        one, other, between = (Interval(value, -inf, inf) for value in values)
        return Change(before.task, before.figure, 0, one, other, between, "not shown")
    count = len(before.each)
    if {*before.each, *after.each} <= {0.0, 1.0}:
        one, other = (exact_binomial_interval(round(sum(mark.each)), count) for mark in (before, after))
        between = _of_changed(before.each, after.each)
    else:
        one, other = student_interval(before.each), student_interval(after.each)
        between = paired_difference(after.each, before.each)
    return Change(before.task, before.figure, count, one, other, between, _shown(before, after, between))


def _of_changed(before: Sequence[float], after: Sequence[float]) -> Interval:
    """The difference of two shares of the same documents and its exact interval, given how many have changed."""
    better = sum(one < other for one, other in zip(before, after, strict=True))
    changed = better + sum(one > other for one, other in zip(before, after, strict=True))
    if not changed:
        return Interval(0.0, 0.0, 0.0)
    share = changed / len(before)
    return Interval(*(share * (2.0 * bound - 1.0) for bound in exact_binomial_interval(better, changed)))


def _shown(before: Mark, after: Mark, between: Interval) -> str:
    if before.each == after.each:
        return "unchanged"
    if between.low <= 0.0 <= between.high:
        return "not shown"
    return "gained" if (between.low > 0.0) == before.higher_is_better else "forgotten"


def _written(interval: Interval) -> str:
    if interval.low == -inf:
        return f"{interval.mean:.4g}"
    return f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def _signed(change: Change) -> str:
    return str(change.difference) if change.count else f"{change.difference.mean:+.4g}"
