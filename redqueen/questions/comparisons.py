"""Comparisons of replies: win probabilities of each reply to a prompt against the others, or against rivals.

replies = compared(oracle, attempts(SOLVE, prompts, learner, times, rng), rng)
trajectories = score(replies, WinRate())
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from redqueen.checks.preferences import chances, tournament
from redqueen.play.groups import with_facts
from redqueen.protocols import PreferenceOracle
from redqueen.questions.asking import mean_known, said
from redqueen.types import Group, Task


def compared(oracle: PreferenceOracle, groups: Sequence[Group], rng: Random) -> list[Group]:
    """The groups with the fact `wins` of each attempt: its probability to be preferred to each attempt of its group,
    one half against itself, None without a verdict. All pairs are compared in one call of `oracle`."""
    matrices = tournament(oracle, [group.task for group in groups], [said(group.attempts) for group in groups], rng)
    return with_facts(groups, [{"wins": tuple(map(_or_none, row))} for matrix in matrices for row in matrix.tolist()])


def against_rivals(
    oracle: PreferenceOracle, groups: Sequence[Group], rivals: Sequence[Group], rng: Random
) -> list[Group]:
    """The groups with the fact `win_rate` of each attempt: the share of comparisons that it wins against the attempts
    of the group at the same index in `rivals`; None without a verdict."""
    met = [
        (group.task, text, rival)
        for group, of_rival in zip(groups, rivals, strict=True)
        for text in said(group.attempts)
        for rival in said(of_rival.attempts)
    ]
    texts, others = [text for _, text, _ in met], [rival for *_, rival in met]
    found = verdicts(oracle, [task for task, _, _ in met], texts, others, rng)
    counts = [len(each.attempts) for group, each in zip(groups, rivals, strict=True) for _ in group.attempts]
    rows = np.split(found, np.cumsum(counts)[:-1]) if counts else []
    return with_facts(groups, [{"win_rate": _or_none(mean_known(row))} for row in rows])


def _or_none(chance: float) -> float | None:
    return None if np.isnan(chance) else chance


def verdicts(
    oracle: PreferenceOracle, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random
) -> np.ndarray:
    """[n] the oracle's probabilities that `first` is better; 0.5 for equal answers, without a call; NaN is no
    verdict."""
    asked = [number for number, (one, other) in enumerate(zip(first, second, strict=True)) if one != other]
    found = np.full(len(tasks), 0.5)
    if asked:
        of_asked = [tasks[n] for n in asked], [first[n] for n in asked], [second[n] for n in asked]
        found[asked] = chances(oracle, *of_asked, rng)
    return found
