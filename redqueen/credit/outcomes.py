"""What the attempts of a group came to: answers, verdicts, how many are right, what most of them say."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

import numpy as np

from redqueen.checks.votes import Majority, Vote
from redqueen.credit.learnability import SolveRate, solve_rate
from redqueen.types import Episode, Group, Seat


def answers(episodes: Sequence[Episode]) -> list[str]:
    """What each attempt answers, "" where it was cut off: half an answer is none."""
    return ["" if cut_off(each) else str(each.outcome.facts["reply"]) for each in episodes]


def cut_off(episode: Episode) -> bool:
    """Whether its last reply was cut off at the longest length."""
    return episode.turns[-1].reply.truncated


def verdicts(group: Group) -> np.ndarray:
    """[G] 1 where an attempt is right, 0 where it is wrong, NaN where nobody knows."""
    return numbers(group, "right")


def result(episode: Episode, seat: Seat) -> float:
    """What a seat came to: its verdict (the fact `right`, of several the last) where there is one, NaN where nobody
    knows, else its score."""
    right = episode.outcome.facts.get("right", episode.outcome.scores[seat])
    return number(right[-1] if isinstance(right, tuple) else right)


def unknown(episode: Episode) -> bool:
    """Whether somebody was asked for a verdict (the fact `right`, of several any) and does not know."""
    right = episode.outcome.facts.get("right", True)
    return right is None or (isinstance(right, tuple) and None in right)


def scores(group: Group) -> np.ndarray:
    """[G] the verdicts as evidence of how hard the task is: NaN also where an attempt was cut off, for a limit on
    length is not difficulty."""
    return np.where([cut_off(each) for each in group.attempts], nan, verdicts(group))


def rate(group: Group) -> SolveRate:
    """How many of the attempts are right, of those that say how hard the task is."""
    return solve_rate(scores(group))


def vote(group: Group, count_missing: bool = True) -> Vote:
    """What the attempts agree on; `count_missing` says whether those without an answer count in its share."""
    return Majority(count_missing).label(answers(group.attempts))


def numbers(group: Group, fact: str) -> np.ndarray:
    """[G] a fact of each attempt as a number, NaN where it is None."""
    return np.array([number(each.outcome.facts[fact]) for each in group.attempts], dtype=np.float64)


def number(fact: Any) -> float:
    """A fact as a number, NaN where it is None."""
    return nan if fact is None else float(fact)
