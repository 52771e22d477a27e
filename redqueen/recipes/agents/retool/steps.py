"""ReTool's reward, the tool of its solver, and figures of its calls (2504.11536)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from redqueen.credit.group_rewards import OfGroup, for_its_seat
from redqueen.credit.outcomes import verdicts
from redqueen.demonstrations.rehearsal import Equipped, with_tool
from redqueen.play.groups import episodes_of
from redqueen.protocols import Player
from redqueen.settings.limits import Within
from redqueen.types import Episode, Group, Metrics, mean_of

AtMost = Annotated[float, Within(-1.0, 0.0)]


def equipped(config: Any, solver: Player) -> Equipped:
    """The solver with the tool of `config`."""
    return with_tool(solver, config.tool, config.calls)


@dataclass(frozen=True)
class Answered:
    """1 for a right answer, min(tried, -1 + per_call c) for a wrong one after c calls, NaN without a verdict."""

    tried: float
    per_call: float

    def of_group(self, group: Group) -> OfGroup:
        right = verdicts(group)
        calls = np.array([_calls(episode) for episode in group.attempts])
        wrong = np.minimum(self.tried, -1.0 + self.per_call * calls)
        return for_its_seat(group, {"answer": np.where(np.isnan(right), np.nan, np.where(right == 1.0, 1.0, wrong))})


def _calls(episode: Episode) -> int:
    return len(episode.outcome.facts["calls"])


def calling(groups: Sequence[Group]) -> Metrics:
    """The mean calls of an attempt, of those that are right and those that are wrong, and the share of all calls that
    failed."""
    episodes, right = episodes_of(groups), np.concatenate([verdicts(group) for group in groups])
    calls = np.array([_calls(episode) for episode in episodes])
    found: Metrics = {"calls": mean_of(calls.tolist())}
    for name, own in (("right", right == 1.0), ("wrong", right == 0.0)):
        if own.any():
            found[f"calls_of_{name}"] = mean_of(calls[own].tolist())
    if failures := [failed for episode in episodes for failed in episode.outcome.facts["failures"]]:
        found["calls_failed"] = mean_of(failures)
    return found
