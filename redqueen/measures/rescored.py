"""Recorded episodes scored anew, and how far the new scores go with those that were learned from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan, nan
from random import Random
from typing import Any

import numpy as np

from redqueen.credit.outcomes import cut_off
from redqueen.credit.rewards import score
from redqueen.measures.intervals import Interval, paired_difference
from redqueen.protocols import GroupReward, Questions, Reward
from redqueen.questions.judge_oracles import JudgedScores
from redqueen.questions.verdicts import as_scores
from redqueen.types import Episode, Message, RedQueenError, Seat, Task

Scorer = Callable[[Sequence[tuple[str, Episode]]], list[dict[Seat, float]]]
"""Scores named episodes anew: a number for each seat that it scores, NaN where it has no verdict."""


def by_reward(reward: Reward | GroupReward, spec: str) -> Scorer:
    """The sum of a reward over the turns of each seat. Raises RedQueenError for a reward that is no function of a
    recorded episode: one of a group, one that cannot be computed, one that says something else the second time."""
    if isinstance(reward, GroupReward):
        raise RedQueenError(f"{spec} is a reward of a group, and a record holds single episodes, not whole groups")

    def scored(named: Sequence[tuple[str, Episode]]) -> list[dict[Seat, float]]:
        first = [_earned(reward, spec, name, episode) for name, episode in named]
        again = [_earned(reward, spec, name, deepcopy(episode)) for name, episode in reversed(named)]
        for (name, _), one, other in zip(named, first, reversed(again), strict=True):
            if repr(one) != repr(other):
                raise RedQueenError(
                    f"{spec} is no function of the record: of episode {name} it says {_said(one)}, then {_said(other)}"
                    "; it must not depend on chance, on a clock, or on what it was asked before"
                )
        return first

    return scored


def _earned(reward: Reward, spec: str, name: str, episode: Episode) -> dict[Seat, float]:
    try:
        return {each.seat: float(each.rewards.sum()) for each in score([episode], reward)}
    except RedQueenError as error:
        raise RedQueenError(f"{spec}, of episode {name}: {error}") from None
    except Exception as error:  # a reward of the user's
        raise RedQueenError(
            f"{spec} cannot be computed from the record of episode {name}: {type(error).__name__}: "
            f"{' '.join(str(error).split())}"
        ) from error


def _said(earned: Mapping[Seat, float]) -> str:
    return ", ".join(f"{value:g} for {seat}" for seat, value in earned.items()) or "nothing"


def by_check(questions: Questions) -> Scorer:
    """1 for a recorded reply that the question set finds right, 0 for one that it finds wrong or that was cut off, NaN
    where it does not know."""

    def scored(named: Sequence[tuple[str, Episode]]) -> list[dict[Seat, float]]:
        replies = [_reply(name, episode) for name, episode in named]
        right = as_scores(questions.right([episode.task for _, episode in named], [text for _, text in replies]))
        if not any(value == 1.0 for value in right) and not any(episode.task.answer for _, episode in named):
            raise RedQueenError(
                f"no recorded task has an answer, and {questions.name} finds no reply right: name the question set "
                "that the tasks are of"
            )
        cut = [cut_off(episode) for _, episode in named]
        pairs = zip(replies, right, cut, strict=True)
        return [{seat: 0.0 if ended else float(value)} for (seat, _), value, ended in pairs]

    return scored


def by_answers(scores: Callable[[Sequence[Task], Sequence[str]], Sequence[float]]) -> Scorer:
    """What a judge or a reward model says of each recorded reply, who is shown what its seat was shown at first."""

    def scored(named: Sequence[tuple[str, Episode]]) -> list[dict[Seat, float]]:
        replies = [_reply(name, episode) for name, episode in named]
        found = scores([_shown(episode) for _, episode in named], [text for _, text in replies])
        return [{seat: float(value)} for (seat, _), value in zip(replies, found, strict=True)]

    return scored


def judged(judge: JudgedScores, seed: int) -> Scorer:
    """The score of each recorded reply by a judge."""
    return by_answers(lambda tasks, texts: judge.scores(tasks, texts, Random(seed)).tolist())


def _reply(name: str, episode: Episode) -> tuple[Seat, str]:
    """The only seat that spoke, and its reply."""
    seats = {turn.ask.seat for turn in episode.turns}
    if len(seats) != 1 or "reply" not in episode.outcome.facts:
        raise RedQueenError(
            f"episode {name} of {episode.game} has no one reply to be judged: score it by a reward of your own, "
            "--with path/to/file.py:my_reward"
        )
    return seats.pop(), str(episode.outcome.facts["reply"])


def _shown(episode: Episode) -> Task:
    def text(message: Message) -> str:
        return message.text

    return replace(episode.task, prompt="\n\n".join(map(text, episode.turns[0].ask.messages)), messages=())


@dataclass(frozen=True)
class Rescored:
    """One seat of a recorded episode: what was learned from, and what is said of it now; NaN where either is not
    known."""

    name: str
    episode: Episode
    seat: Seat
    then: float
    now: float

    @property
    def step(self) -> str:
        return self.name.partition(".")[0]


def rescored(recorded: Sequence[tuple[str, Episode, Mapping[str, Any]]], scorer: Scorer) -> list[Rescored]:
    """What `scorer` says of each recorded episode (name, episode, credit), beside the credit."""
    found = scorer([(name, episode) for name, episode, _ in recorded])
    return [
        Rescored(name, episode, seat, _then(credit, seat), now)
        for (name, episode, credit), by_seat in zip(recorded, found, strict=True)
        for seat, now in by_seat.items()
    ]


def _then(credit: Mapping[str, Any], seat: Seat) -> float:
    rewards = credit.get(str(seat), {}).get("rewards", [None])
    return nan if None in rewards else float(sum(rewards))


@dataclass(frozen=True)
class OfRole:
    """How the new scores of a role go with those that were learned from, over episodes that have both."""

    role: str
    scored: int  # with a score now
    unknown: int  # without one
    difference: Interval | None  # now minus then; None for fewer than two
    then: float
    now: float
    correlation: float  # of the ranks (Spearman); NaN where one of them tells nothing apart
    same: int  # pairs of attempts at one task in one step that both put in the same order
    opposite: int
    only_then: int  # pairs told apart by the old score alone
    only_now: int


def agreement(found: Sequence[Rescored]) -> list[OfRole]:
    """One for each role, in the order in which they occur."""
    return [_of_role(role, [each for each in found if each.seat.role == role]) for role in _roles(found)]


def _roles(found: Sequence[Rescored]) -> list[str]:
    return list(dict.fromkeys(each.seat.role for each in found))


def _of_role(role: str, own: Sequence[Rescored]) -> OfRole:
    known = [each for each in own if not isnan(each.now)]
    both = [each for each in known if not isnan(each.then)]
    now, then = [each.now for each in both], [each.then for each in both]
    signs = [
        (np.sign(one.then - other.then), np.sign(one.now - other.now))
        for one, other in combinations(both, 2)
        if (one.step, one.episode.task) == (other.step, other.episode.task)
    ]
    return OfRole(
        role,
        len(known),
        len(own) - len(known),
        paired_difference(now, then) if len(both) > 1 else None,
        float(np.mean(then)) if both else nan,
        float(np.mean(now)) if both else nan,
        _correlation(_ranks(then), _ranks(now)),
        same=sum(old * new > 0 for old, new in signs),
        opposite=sum(old * new < 0 for old, new in signs),
        only_then=sum(old != 0 and new == 0 for old, new in signs),
        only_now=sum(old == 0 and new != 0 for old, new in signs),
    )


def farthest(found: Sequence[Rescored], most: int) -> list[Rescored]:
    """Those whose rank among the old scores and among the new ones of their role differs most, the farthest first."""
    gaps = dict[int, float]()
    for role in _roles(found):
        own = [each for each in found if each.seat.role == role and not isnan(each.now + each.then)]
        for each, old, new in zip(own, _ranks([e.then for e in own]), _ranks([e.now for e in own]), strict=True):
            gaps[id(each)] = abs(old - new)
    known = [each for each in found if gaps.get(id(each))]
    return sorted(known, key=lambda each: -gaps[id(each)])[:most]


def _ranks(values: Sequence[float]) -> list[float]:
    """The share of the values below each, equal ones counted by half."""
    sample = np.asarray(values)
    return [float(((sample < each).sum() + 0.5 * (sample == each).sum()) / len(sample)) for each in sample]


def _correlation(first: Sequence[float], second: Sequence[float]) -> float:
    if len(set(first)) < 2 or len(set(second)) < 2:
        return nan
    return float(np.corrcoef(first, second)[0, 1])
