"""Results of the attempts of a group: answers, verdicts, solve rate, majority."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from typing import Any

import numpy as np

from redqueen.checks.extraction import Kind, given
from redqueen.checks.votes import Majority, Vote, by_value
from redqueen.credit.learnability import SolveRate, solve_rate
from redqueen.types import Episode, Group, RedQueenError, Seat, Truncated


def answers(episodes: Sequence[Episode], truncated: Truncated = "wrong") -> list[str]:
    """The answer of each attempt: its reply, or where the task says what kind of answer it has (the fact `answered_as`)
    what is found in it. "" if it was cut off, unless `truncated` ones are graded."""
    return ["" if cut_off(each) and truncated != "graded" else _answer(each) for each in episodes]


def _answer(episode: Episode) -> str:
    reply, facts = str(episode.outcome.facts["reply"]), episode.task.facts
    return given(reply, Kind(facts["answered_as"]), facts.get("options", ())) if "answered_as" in facts else reply


def whole_reply(episode: Episode) -> str:
    """What was said in the last turn: a solution with its working, where the game was given the answer alone, and
    without what was thought between marks of thoughts."""
    reply = episode.turns[-1].reply
    return "\n".join(part for part in (reply.working, reply.text) if part.strip())


def cut_off(episode: Episode) -> bool:
    """Whether the last reply of an episode was cut off at the maximum length."""
    return episode.turns[-1].reply.truncated


def verdicts(group: Group) -> np.ndarray:
    """[G] 1 for an attempt that is right, 0 for one that is wrong, NaN without a verdict."""
    return numbers(group, "right")


def result(episode: Episode, seat: Seat) -> float:
    """The result of a seat: its verdict (the fact `right`; the last of several) if the episode has one (NaN for None),
    else its score."""
    right = episode.outcome.facts.get("right", episode.outcome.scores[seat])
    return number(right[-1] if isinstance(right, tuple) else right)


def unknown(episode: Episode) -> bool:
    """Whether a verdict is unknown: the fact `right`, or any of several, is None."""
    right = episode.outcome.facts.get("right", True)
    return right is None or (isinstance(right, tuple) and None in right)


def rate(group: Group) -> SolveRate:
    """The solve rate of a group over its `verdicts`."""
    return solve_rate(verdicts(group))


def vote(group: Group, count_missing: bool = True, truncated: Truncated = "wrong", undecided: bool = False) -> Vote:
    """The majority answer of a group, numbers compared by value, and its share of all attempts; without `count_missing`
    of those with an answer. An attempt that was cut off gave none; it votes as its text says where `truncated` ones are
    graded, and is no attempt where they are unknown. Of answers with equally many votes the first wins, or none where
    a tie is `undecided`."""
    counted = [each for each in group.attempts if truncated != "unknown" or not cut_off(each)]
    return Majority(count_missing, by_value, undecided=undecided).label(answers(counted, truncated))


def doubt(shape: Callable[[float], float], groups: Sequence[Group], truncated: Truncated) -> np.ndarray:
    """[groups] the `shape` at the majority's share of the attempts of each; NaN (unknown) for a group of which fewer
    than two attempts count, as where those that were cut off are unknown."""
    votes = [vote(group, truncated=truncated) for group in groups]
    return np.array([shape(each.share) if each.total > 1 else nan for each in votes])


def calls(group: Group) -> float:
    """The mean number of calls of a tool over the attempts of a group."""
    return float(np.mean([len(each.outcome.facts.get("calls", ())) for each in group.attempts]))


def numbers(group: Group, fact: str) -> np.ndarray:
    """[G] a fact of each attempt as a number, NaN where it is None."""
    return np.array([number(each.outcome.facts[fact]) for each in group.attempts], dtype=np.float64)


def number(fact: Any) -> float:
    """A fact as a number, NaN where it is None."""
    return nan if fact is None else float(fact)


def as_numbers(values: object, part: str) -> np.ndarray:
    """The numbers of a part of a reward. Raises RedQueenError for what is none."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise RedQueenError(f"the part {part!r} of a reward is numbers, one an attempt, not {values!r:.60}") from None
