"""Two attempts at a task: whether each is right, what the second is worth after the first, what changed between them.

pairs        = twice_graded(questions, attempts(SecondTry(), tasks, solver, 8, rng))
trajectories = score(pairs, Correction(bonus=10.0))
advantages   = LeaveOneOut(by_first_attempt, RewardToGo(0.0))(trajectories)
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from redqueen.credit.advantages.keys import by_group
from redqueen.credit.advantages.statistics import LeaveOneOut, RewardToGo
from redqueen.credit.outcomes import number
from redqueen.play.groups import Played, episodes_of, with_facts
from redqueen.protocols import Questions
from redqueen.questions.verdicts import Truncated, with_truncated
from redqueen.types import Episode, Group, Metrics, Seat, Trajectory, mean_of


def twice_graded(questions: Questions, groups: Sequence[Group], truncated: Truncated = "wrong") -> list[Group]:
    """The groups of `SecondTry` with the fact `right` of each attempt, whether each of its two answers is. All answers
    are checked together; `truncated` says what one that was cut off gets."""
    episodes = episodes_of(groups)
    answers = [answer for episode in episodes for answer in episode.outcome.facts["replies"]]
    found = questions.right([episode.task for episode in episodes for _ in range(2)], answers)
    cut = [turn.reply.truncated for episode in episodes for turn in episode.turns]
    right = [with_truncated(each, ended, truncated) for each, ended in zip(found, cut, strict=True)]
    return with_facts(groups, [{"right": pair} for pair in zip(right[::2], right[1::2], strict=True)])


@dataclass(frozen=True)
class Correction:
    """What two attempts earn, r(n) = 1 where the n-th is right and 0 where it is not:

        first attempt    first * r(1)
        second attempt   r(2) + bonus * (r(2) - r(1))

    With a bonus of 10 (alpha of SCoRe) the second earns 11 where it mends the first, 1 and 0 where it changes nothing
    in that, and -10 where it spoils it.
    """

    bonus: float = 0.0
    first: float = 1.0

    def __call__(self, episode: Episode) -> dict[Seat, np.ndarray]:
        (seat,) = episode.seats
        before, after = (number(right) for right in episode.outcome.facts["right"])  # NaN where nobody knows
        return {seat: np.array([self.first * before, after + self.bonus * (after - before)])}


def by_first_attempt(trajectory: Trajectory, turn: int) -> Hashable:
    """First attempts of a group are compared with each other, second ones with those that follow an equally right first
    one: the second is not credited for what the first did."""
    facts = trajectory.episode.outcome.facts
    return (*by_group(trajectory, turn), turn, turn > 0 and facts["right"][0])


against_like_firsts = LeaveOneOut(by_first_attempt, RewardToGo(discount=0.0))  # RLOO, each answer for itself


def changes(played: Played) -> Metrics:
    """Figures of episodes of two attempts: how often the first and the second are right (`accuracy_1`, `accuracy_2`),
    how much the second gains, how often it mends a wrong one and spoils a right one (shares of all), and how often it
    repeats the first word for word. Nothing where there are no episodes of which both verdicts are known."""
    episodes = [each for each in episodes_of(played) if None not in each.outcome.facts["right"]]
    if not episodes:
        return {}
    first, second = np.array([episode.outcome.facts["right"] for episode in episodes], dtype=float).T
    replies = [episode.outcome.facts["replies"] for episode in episodes]
    return {
        "accuracy_1": mean_of(first),
        "accuracy_2": mean_of(second),
        "gain": mean_of(second - first),
        "wrong_to_right": mean_of((1 - first) * second),
        "right_to_wrong": mean_of(first * (1 - second)),
        "repeated": mean_of(one == other for one, other in replies),
    }
