"""Replies compared with one another: what each of K replies to one prompt wins against the others.

attempts = play(alone(SOLVE, prompts, learner, times), rng)
attempts = contested(oracle, attempts, times, rng)          # the scores are win rates now
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from redqueen.protocols import PreferenceOracle
from redqueen.rewards import marked
from redqueen.rollout.questions import said
from redqueen.types import Episode
from redqueen.verifiers.preferences import tournament, win_rates


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
