"""Advantage alignment: a seat's own advantages, and those of the others weighted by its own advantages so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from redqueen.credit.advantages.keys import by_task_role_and_turn
from redqueen.credit.advantages.statistics import LeaveOneOut, RewardToGo
from redqueen.protocols import AdvantageEstimator
from redqueen.types import RedQueenError, Trajectory


def aligned(beta: float, discount: float) -> Aligned:
    """The paper's estimator: returns discounted by `discount`, less the mean of the other matches of the same
    environment seed and seat, aligned with the other seats' by `beta`."""
    return Aligned(LeaveOneOut(by_task_role_and_turn, RewardToGo(discount)), beta, discount)


@dataclass(frozen=True)
class Aligned:
    """Another estimator's advantages A, aligned with those of the other seats of the match (Duque et al. 2024,
    arXiv:2406.14662):

        A*(t) = A(t) + beta * w(t) * sum of the others' A(t),    w(t) = sum over k < t of gamma^(t - k) * A(k)

    A seat with gains so far (w > 0) is credited for what is good for the others too, one with losses for what hurts
    them: both cooperation and retaliation are learned, so that the cooperation is not exploited.

    Time t is counted in rounds: the turns after which gains fell (`Outcome.facts["gains"]`) end one. A seat's turns of
    one round, a message and a move or a second try, are one action with one advantage, so `inner` sees each seat as if
    it had spoken once a round. All seats of a match must be among the trajectories, also of players who do not learn.
    With `beta=0` a game of one turn a round gets `inner`'s advantages, bit for bit.
    """

    inner: AdvantageEstimator
    beta: float = 0.5
    discount: float = 0.9  # gamma, a round

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        """[N] for each trajectory."""
        rounds = [rounds_of(trajectory) for trajectory in trajectories]
        own = [
            dict(zip(dict.fromkeys(numbers), advantages.tolist(), strict=True))
            for numbers, advantages in zip(rounds, self.inner(list(map(by_round, trajectories, rounds))), strict=True)
        ]
        matches: dict[int, list[int]] = {}
        for index, trajectory in enumerate(trajectories):
            matches.setdefault(id(trajectory.episode), []).append(index)
        aligned = []
        for index, (trajectory, numbers) in enumerate(zip(trajectories, rounds, strict=True)):
            others = [own[other] for other in matches[id(trajectory.episode)] if other != index]
            found = self._aligned(own[index], others)
            aligned.append(np.array([found[number] for number in numbers]))
        return aligned

    def _aligned(self, own: dict[int, float], others: Sequence[dict[int, float]]) -> dict[int, float]:
        """The aligned advantage of each round in which the seat spoke."""
        found, weight = {}, 0.0
        for number in range(max(own, default=-1) + 1):
            if number in own:
                theirs = sum(other.get(number, 0.0) for other in others)
                found[number] = own[number] + self.beta * weight * theirs
            weight = self.discount * (weight + own.get(number, 0.0))  # powers of 1 / gamma would overflow
        return found


def rounds_of(trajectory: Trajectory) -> list[int]:
    """[N] the round of each turn, from 0. Raises RedQueenError for a game that does not report its gains by round."""
    episode = trajectory.episode
    if "gains" not in episode.outcome.facts:
        raise RedQueenError(
            f"advantages are aligned round by round, but {episode.game!r} reports no gains that end one"
        )
    ends = [after for after, _ in episode.outcome.facts["gains"]]
    places = [place for place, turn in enumerate(episode.turns) if turn.ask.seat == trajectory.seat]
    return [int(np.searchsorted(ends, place)) for place in places]


def by_round(trajectory: Trajectory, rounds: Sequence[int]) -> Trajectory:
    """The trajectory as if the seat had spoken once a round: the last turn of each, with the rewards of all."""
    last = dict(zip(rounds, trajectory.turns, strict=True))
    numbers = list(last)
    rewards = np.zeros(len(numbers))
    np.add.at(rewards, [numbers.index(number) for number in rounds], trajectory.rewards)
    return Trajectory(trajectory.episode, trajectory.seat, tuple(last.values()), rewards)
