"""Which of our objectives a server has built in.

| here                          | there           | loss of a token; c is its loss weight times advantage |
|-------------------------------|-----------------|-------------------------------------------------------|
| `Reinforce`                   | linear          | -c log policy                                         |
| `Imitation`                   | linear          | the same, c the loss weight alone                     |
| `ClippedRatio` without `dual` | ppo             | max(-c r, -c clip(r))                                 |
| `Cispo`                       | cispo           | -clip(r) c log policy, clip(r) held constant          |

All other objectives use the log-probabilities: one pass reads them, our loss and its gradient are computed here, and
one pass sends the gradient as a linear loss. `importance_sampling` is none of ours: it is `ClippedRatio` without a
clip. Ours holds ratios below e^20, which no server does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from redqueen.objectives.imitation import Imitation
from redqueen.objectives.policy_gradient import Cispo, ClippedRatio, Reinforce
from redqueen.protocols import Objective
from redqueen.types import Batch


@dataclass(frozen=True)
class Loss:
    """A loss of the server, summed over tokens. Ratios are clipped to [low, high]."""

    kind: str  # linear, ppo or cispo
    low: float = 1.0
    high: float = 1.0


LINEAR = Loss("linear")


def built_in(objective: Objective) -> Loss | None:
    """The server's loss that equals this objective; None if there is none."""
    make = _BUILT_IN.get(type(objective))
    return make(objective) if make else None


def coefficients(objective: Objective, batch: Batch) -> Tensor:
    """[B, T] the coefficients c of a built-in loss (see the table in the module)."""
    weighs_alone = type(objective) is Imitation
    return batch.loss_weights if weighs_alone else batch.loss_weights * batch.advantages


def _linear(_: Any) -> Loss:
    return LINEAR


def _ppo(objective: ClippedRatio) -> Loss | None:
    return None if objective.dual is not None else Loss("ppo", 1.0 - objective.low, 1.0 + objective.high)


def _cispo(objective: Cispo) -> Loss:
    least = 0.0 if objective.below_one is None else 1.0 - objective.below_one
    return Loss("cispo", least, 1.0 + objective.above_one)


_BUILT_IN: Mapping[type[Any], Callable[[Any], Loss | None]] = {
    Reinforce: _linear,
    Imitation: _linear,
    ClippedRatio: _ppo,
    Cispo: _cispo,
}
