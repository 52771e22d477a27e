"""A critic that is a table: one number for each information state it has met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from redqueen.protocols import FINITE, State, shaped
from redqueen.records import ASK, ask_from_json, ask_to_json
from redqueen.types import Ask, Metrics, RedQueenError, Trajectory


class TabularCritic:
    """A table of values, trained by gradient descent on squared error, summed over states:

        L = sum over states s of  mean over the turns at s of  (V(s) - target)^2 / 2

    so an update moves each value the share `learning_rate` of the way to the mean of its targets; at 1 earlier
    targets have no effect. A new state starts at 0.
    """

    def __init__(self, learning_rate: float = 0.1) -> None:
        if not 0.0 < learning_rate <= 1.0:
            raise RedQueenError(
                f"the learning rate of a tabular critic must be above 0 and at most 1, not {learning_rate:g}"
            )
        self.learning_rate = learning_rate
        self._values: dict[Ask, float] = {}

    def values(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        return [np.array([self._values.get(turn.ask, 0.0) for turn in trajectory.turns]) for trajectory in trajectories]

    def update(self, trajectories: Sequence[Trajectory], targets: Sequence[np.ndarray]) -> Metrics:
        """Returns `value_loss`: half the mean squared error over turns, before the step. Raises RedQueenError, with
        the table unchanged, if a target is not finite."""
        errors: dict[Ask, list[float]] = {}
        for trajectory, target, values in zip(trajectories, targets, self.values(trajectories), strict=True):
            for turn, error in zip(trajectory.turns, (target - values).tolist(), strict=True):
                errors.setdefault(turn.ask, []).append(error)
        every = np.array([error for group in errors.values() for error in group])
        if not np.isfinite(every).all():
            raise RedQueenError("a target of the tabular critic is not finite: look at the rewards")
        for ask, group in errors.items():
            self._values[ask] = self._values.get(ask, 0.0) + self.learning_rate * float(np.mean(group))
        return {"value_loss": 0.5 * float(np.mean(every**2)) if len(every) else 0.0}

    def state(self) -> State:
        return {"asks": [ask_to_json(ask) for ask in self._values], "values": list(self._values.values())}

    def restore(self, state: Mapping[str, Any]) -> None:
        shaped(state, {"asks": [ASK], "values": [FINITE]}, "the critic: ")
        self._values = {ask_from_json(ask): value for ask, value in zip(state["asks"], state["values"], strict=True)}
