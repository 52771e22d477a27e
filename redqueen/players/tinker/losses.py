"""Which of our objectives a server has built in, word for word.

| here                          | there           | loss of a word, c its loss weight times its advantage |
|-------------------------------|-----------------|-------------------------------------------------------|
| `Reinforce`                   | linear          | -c log policy                                         |
| `Imitation`                   | linear          | the same, c the loss weight alone                     |
| `ClippedRatio` without `dual` | ppo             | max(-c r, -c clip(r))                                 |
| `Cispo`                       | cispo           | -clip(r) c log policy, clip(r) held constant          |

Everything else goes over the log-probabilities: one pass to read them, our own loss and its gradient here, one pass to
send it as a linear loss. `importance_sampling` is none of ours: it is `ClippedRatio` without a clip. Ours holds ratios
below e^20, which no server does.
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
    """A loss of the server, summed over words. Ratios are clipped to [low, high]."""

    kind: str  # linear, ppo or cispo
    low: float = 1.0
    high: float = 1.0


LINEAR = Loss("linear")


def built_in(objective: Objective) -> Loss | None:
    """The loss of the server that is this objective; None where there is none."""
    make = _BUILT_IN.get(type(objective))
    return make(objective) if make else None


def coefficients(objective: Objective, batch: Batch) -> Tensor:
    """[B, T] c of a built-in loss."""
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
