"""How often tools are called, of attempts that are right and of those that are wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from redqueen.credit.outcomes import result
from redqueen.play.groups import episodes_of
from redqueen.types import Episode, Group, Metrics, mean_of


def calling(groups: Sequence[Group]) -> Metrics:
    """The mean calls of an attempt, of those that are right and those that are wrong, and the share of all calls that
    failed."""
    episodes = episodes_of(groups)
    right = np.array([result(each, each.seats[0]) for each in episodes])
    calls = np.array([calls_of(each) for each in episodes])
    found: Metrics = {"calls": mean_of(calls.tolist())}
    for name, own in (("right", right == 1.0), ("wrong", right == 0.0)):
        if own.any():
            found[f"calls_of_{name}"] = mean_of(calls[own].tolist())
    if failures := [failed for episode in episodes for failed in episode.outcome.facts["failures"]]:
        found["calls_failed"] = mean_of(failures)
    return found


def calls_of(episode: Episode) -> int:
    """How many calls were run in an episode."""
    return len(episode.outcome.facts["calls"])
