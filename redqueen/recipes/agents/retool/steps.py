"""ReTool's reward, and the tool of its solver (2504.11536)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from redqueen.credit.group_rewards import OfGroup, for_its_seat
from redqueen.credit.outcomes import verdicts
from redqueen.demonstrations.rehearsal import Equipped, with_tool
from redqueen.measures.calls import calls_of
from redqueen.protocols import Player
from redqueen.settings.limits import Within
from redqueen.types import Group

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
        calls = np.array([calls_of(episode) for episode in group.attempts])
        wrong = np.minimum(self.tried, -1.0 + self.per_call * calls)
        return for_its_seat(group, {"answer": np.where(np.isnan(right), np.nan, np.where(right == 1.0, 1.0, wrong))})
