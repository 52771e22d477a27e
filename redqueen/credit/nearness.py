"""How near a failed attempt came to the successes of its own group.

trajectories = with_progress(score(groups, correct), by_group, paid_or_score, most=0.6)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from math import exp, isnan, sqrt

import numpy as np

from redqueen.credit.novelty import words
from redqueen.protocols import Key
from redqueen.types import Trajectory

STEEPNESS = 10.0  # of the curve from the farthest failure to the nearest (SRPO)
Shares = dict[str, float]  # by word


def progress(distances: Sequence[float], most: float = 0.6) -> list[float]:
    """What failures at these distances from the successes of their group earn (SRPO, arXiv:2511.15605):

    most * sigmoid(10 (1/2 - d)),   d = (distance - smallest) / (largest - smallest), 1/2 where all are alike
    """
    low, high = min(distances, default=0.0), max(distances, default=0.0)
    shares = [(each - low) / (high - low) if high > low else 0.5 for each in distances]
    return [most / (1.0 + exp(-STEEPNESS * (0.5 - share))) for share in shares]


def shares_of_words(trajectory: Trajectory) -> Shares:
    """The share of each word among those that the seat said."""
    counts = Counter(word for turn in trajectory.turns for word in words(turn.reply.text))
    return {word: count / counts.total() for word, count in counts.items()}


def with_progress(
    trajectories: Sequence[Trajectory], key: Key, measure: Callable[[Trajectory], float], most: float
) -> list[Trajectory]:
    """The trajectories, where a failed one (a measure of 0 or less) of a group with successes is paid up to `most` more
    on its last turn, by how near its words come to the mean of theirs: the part "progress". Groups without a success
    or without a failure stay as they are, and so do trajectories without a verdict."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for place, each in enumerate(trajectories):
        if not isnan(measure(each)):
            groups[key(each, 0)].append(place)
    found = [_paid(each, 0.0) for each in trajectories]
    for places in groups.values():
        failed = [place for place in places if measure(trajectories[place]) <= 0.0]
        centre = _mean([shares_of_words(trajectories[place]) for place in places if place not in failed])
        if centre:
            distances = [_apart(shares_of_words(trajectories[place]), centre) for place in failed]
            for place, pay in zip(failed, progress(distances, most), strict=True):
                found[place] = _paid(trajectories[place], pay)
    return found


def _mean(vectors: Sequence[Shares]) -> Shares:
    total: Counter[str] = Counter()
    for each in vectors:
        total.update(each)
    return {word: value / len(vectors) for word, value in total.items()}


def _apart(one: Shares, other: Shares) -> float:
    return sqrt(sum((one.get(word, 0.0) - other.get(word, 0.0)) ** 2 for word in sorted(one.keys() | other.keys())))


def _paid(trajectory: Trajectory, pay: float) -> Trajectory:
    more = np.zeros(len(trajectory.turns))
    more[-1] = pay
    parts = {**(trajectory.parts or {"task": trajectory.rewards}), "progress": more}
    return replace(trajectory, rewards=trajectory.rewards + more, parts=parts)
