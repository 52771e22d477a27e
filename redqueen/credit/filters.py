"""Filters: of trajectories before the estimate, of turns after it, of rows after `pack`.

Trajectories dropped before the estimate are in no mean and no deviation. Those muted after it still are, and keep
their share of the loss weights.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from redqueen.credit.advantages.keys import by_group
from redqueen.credit.outcomes import result
from redqueen.protocols import Key
from redqueen.types import Batch, Group, Trajectory

if TYPE_CHECKING:
    from torch import Tensor


def drop_truncated(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """The trajectories in which no reply was cut off. Applied before the estimate: what is left is compared
    only with what is left."""
    return [trajectory for trajectory in trajectories if not any(turn.reply.truncated for turn in trajectory.turns)]


def mute_truncated(trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The advantages, [N] each, with zero for turns that were cut off, which then have no gradient; NaN, of what has no
    verdict, stays. Applied after the estimate: their rewards were counted, and their tokens still count in the loss
    weights."""
    return [
        np.where([turn.reply.truncated for turn in trajectory.turns] & ~np.isnan(given), 0.0, given)
        for trajectory, given in zip(trajectories, advantages, strict=True)
    ]


JUDGED_LATER = "single_reply:"  # begins the names of games whose score is always 0, as what is said is judged later


def own_score(trajectory: Trajectory) -> float:
    """The seat's result (its verdict, or the game's score) without bonus or penalty; NaN without a verdict."""
    return result(trajectory.episode, trajectory.seat)


def paid_or_score(trajectory: Trajectory) -> float:
    """The seat's result, and for what has none of its own, such as a proposal, the sum of its rewards."""
    episode = trajectory.episode
    has_result = "right" in episode.outcome.facts or not episode.game.startswith(JUDGED_LATER)
    return own_score(trajectory) if has_result else reward(trajectory)


def reward(trajectory: Trajectory) -> float:
    """The sum of its rewards; NaN without a verdict."""
    return float(trajectory.rewards.sum())


def drop_even_groups(
    trajectories: Sequence[Trajectory], key: Key = by_group, measure: Callable[[Trajectory], float] = own_score
) -> list[Trajectory]:
    """The trajectories of groups whose measures differ, and those that are alone in their group: the filter of
    DAPO's dynamic sampling. A group that is all right or all wrong has no gradient; nor has one without a verdict.

    What is left is of medium difficulty: its mean reward is no measure of progress.
    """
    groups: dict[Hashable, list[float]] = defaultdict(list)
    for trajectory in trajectories:
        if not isnan(measure(trajectory)):
            groups[key(trajectory, 0)].append(measure(trajectory))
    kept = {name for name, measures in groups.items() if _differ(measures)}
    return [trajectory for trajectory in trajectories if key(trajectory, 0) in kept]


def in_band(
    trajectories: Sequence[Trajectory],
    band: tuple[float, float],
    key: Key = by_group,
    measure: Callable[[Trajectory], float] = own_score,
) -> list[Trajectory]:
    """The trajectories of groups whose mean measure lies strictly between the two of the `band`."""
    groups: dict[Hashable, list[float]] = defaultdict(list)
    for trajectory in trajectories:
        if not isnan(measure(trajectory)):
            groups[key(trajectory, 0)].append(measure(trajectory))
    kept = {name for name, found in groups.items() if band[0] < sum(found) / len(found) < band[1]}
    return [trajectory for trajectory in trajectories if key(trajectory, 0) in kept]


def even(group: Group) -> bool:
    """Whether the known results of the attempts of a group are the same for each seat, so that none is better than
    another; a seat with a single known result is not even."""
    seats = dict.fromkeys(seat for episode in group.attempts for seat in episode.seats)
    results = [[result(each, seat) for each in group.attempts if seat in each.seats] for seat in seats]
    return not any(_differ([value for value in found if not isnan(value)]) for found in results)


def _differ(measures: Sequence[float]) -> bool:
    return len(measures) == 1 or (len(measures) > 1 and max(measures) > min(measures))


def rows_with_advantage(batch: Batch) -> Tensor:
    """[n] int, the rows in which some token has a weight and an advantage other than zero, for `take`.

    Taking only these is exact, since a taken row keeps its weight: the same loss and gradient
    for any objective whose loss of a token is proportional to its advantage. With a KL penalty or an entropy
    bonus it is not: those also act where the advantage is zero.
    """
    return ((batch.loss_weights != 0) & (batch.advantages != 0)).any(dim=1).nonzero().squeeze(1)
