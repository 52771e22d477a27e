"""Advantages weighted by how long an action took, for samplers that collect more of quick actions in the same time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from redqueen.types import RedQueenError, Trajectory


def durations(trajectory: Trajectory) -> np.ndarray:
    """[N] seconds that each turn's action took, the outcome's fact `durations`: a mapping from the seat to one number
    above 0 for each of its turns. Raises RedQueenError where the game states none, or others."""
    episode = trajectory.episode
    stated = episode.outcome.facts.get("durations")
    if stated is None:
        raise RedQueenError(
            f"the game {episode.game!r} does not say how long actions took, so --weigh-durations has no effect: its "
            'outcome needs a fact "durations", {seat: [seconds of each turn]}'
        )
    found = np.asarray(stated.get(str(trajectory.seat), ()), dtype=np.float64)
    if found.shape != (len(trajectory.turns),) or not (np.isfinite(found) & (found > 0)).all():
        raise RedQueenError(
            f"the game {episode.game!r} must give the seat {trajectory.seat} {len(trajectory.turns)} durations above "
            f"0, one for each turn, not {found.tolist()!s:.60}"
        )
    return found


def weighed_by_duration(
    trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray], most: float
) -> list[np.ndarray]:
    """The advantages, [N] each, times the duration of their turn over the mean duration of all turns, at most `most`
    (arXiv:2509.01684). It mends an estimator without a baseline where an actor repeats quick actions while another
    takes a slow one; one that subtracts a mean points the right way without it."""
    if not trajectories:
        return []
    taken = [durations(each) for each in trajectories]
    mean = float(np.concatenate(taken).mean())
    return [given * np.minimum(each / mean, most) for given, each in zip(advantages, taken, strict=True)]
