"""Replies compared with one another: what each of K replies to one prompt wins against the others.

attempts = play(alone(SOLVE, prompts, learner, times), rng)
attempts = contested(oracle, attempts, times, rng)          # the scores are win rates now
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from random import Random

import numpy as np

from redqueen.checks.preferences import chances, tournament, win_rates
from redqueen.credit.rewards import marked
from redqueen.protocols import PreferenceOracle
from redqueen.questions.asking import said
from redqueen.types import Episode, Task


def contested(
    oracle: PreferenceOracle, attempts: Sequence[Episode], times: int, rng: Random, beside_itself: bool = False
) -> list[Episode]:
    """The attempts, `times` at each task one after the other, with the share of comparisons that each wins against the
    others at its task as its score (see `win_rates`); one that was compared with nobody is left out of learning."""
    texts = said(attempts)
    starts = range(0, len(attempts), times)
    groups = [texts[start : start + times] for start in starts]
    matrices = tournament(oracle, [attempts[start].task for start in starts], groups, rng)
    rates = [rate for matrix in matrices for rate in win_rates(matrix, beside_itself).tolist()]
    return marked(attempts, rates)


def against_rivals(
    oracle: PreferenceOracle, attempts: Sequence[Episode], rivals: Sequence[Episode], rng: Random
) -> list[Episode]:
    """The attempts, each with the share of comparisons that it wins against its rivals as its score: as many to each,
    one after the other, at the same tasks. One without a verdict is left out of learning."""
    if not attempts:
        return []
    times = len(rivals) // len(attempts)
    ours = [text for text in said(attempts) for _ in range(times)]
    found = verdicts(oracle, [episode.task for episode in rivals], ours, said(rivals), rng).reshape(-1, times)
    return marked(attempts, [float(row[~np.isnan(row)].mean()) if not np.isnan(row).all() else nan for row in found])


def verdicts(
    oracle: PreferenceOracle, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random
) -> np.ndarray:
    """[n] what the oracle says, with equal answers a half, about which nobody is asked; NaN is no verdict."""
    asked = [number for number, (one, other) in enumerate(zip(first, second, strict=True)) if one != other]
    found = np.full(len(tasks), 0.5)
    if asked:
        of_asked = [tasks[n] for n in asked], [first[n] for n in asked], [second[n] for n in asked]
        found[asked] = chances(oracle, *of_asked, rng)
    return found
