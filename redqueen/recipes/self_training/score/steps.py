"""Two attempts at a task: whether each is right, what the second is worth after the first, what changed between them.

episodes     = twice_graded(domain, play(alone(SecondTry(), tasks, solver, 8), rng))
trajectories = score(episodes, Correction(bonus=10.0))
advantages   = LeaveOneOut(by_first_attempt, RewardToGo(0.0))(trajectories)
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from redqueen.protocols import Domain
from redqueen.types import Episode, Metrics, Outcome, Seat, Trajectory


def twice_graded(domain: Domain, episodes: Sequence[Episode]) -> list[Episode]:
    """The episodes of `SecondTry` with the fact `right`, whether each of the two answers is; the score is that of the
    last one. All answers are checked together."""
    answers = [answer for episode in episodes for answer in episode.outcome.facts["replies"]]
    right = domain.right([episode.task for episode in episodes for _ in range(2)], answers)
    return [
        _graded(episode, pair)
        for episode, pair in zip(episodes, zip(right[::2], right[1::2], strict=True), strict=True)
    ]


def _graded(episode: Episode, right: tuple[bool, bool]) -> Episode:
    (seat,) = episode.seats
    facts = {**episode.outcome.facts, "right": right, "marked": True}
    return replace(episode, outcome=Outcome({seat: float(right[1])}, facts))


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
        before, after = (float(right) for right in episode.outcome.facts["right"])
        return {seat: np.array([self.first * before, after + self.bonus * (after - before)])}


def by_first_attempt(trajectory: Trajectory, turn: int) -> Hashable:
    """First attempts at a task are compared with each other, second ones with those that follow an equally right
    first one: what a first attempt was is no merit of the second."""
    facts = trajectory.episode.outcome.facts
    return (trajectory.episode.game, trajectory.episode.task.id, turn, turn > 0 and facts["right"][0])


def changes(episodes: Sequence[Episode]) -> Metrics:
    """Of two attempts each: how often the first and the second are right (`accuracy_1`, `accuracy_2`), what the
    second gains, how often it mends a wrong one and spoils a right one (shares of all), and how often it repeats the
    first word for word. Nothing where there are no episodes."""
    if not episodes:
        return {}
    first, second = np.array([episode.outcome.facts["right"] for episode in episodes], dtype=float).T
    replies = [episode.outcome.facts["replies"] for episode in episodes]
    return {
        "accuracy_1": float(first.mean()),
        "accuracy_2": float(second.mean()),
        "gain": float((second - first).mean()),
        "wrong_to_right": float(((1 - first) * second).mean()),
        "right_to_wrong": float((first * (1 - second)).mean()),
        "repeated": float(np.mean([one == other for one, other in replies])),
    }
