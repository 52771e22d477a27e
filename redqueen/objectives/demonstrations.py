"""Demonstrations and sampled replies in one batch, each row with its own loss.

objective = BesideDemonstrations(ClippedRatio(), coefficient)
policy.update(objective.pack(own, advantages, recited), objective)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from redqueen.objectives.additive import weighted_sum
from redqueen.objectives.batch import Weigh, pack, token_mean
from redqueen.protocols import Objective
from redqueen.types import Batch, Likelihoods, Metrics, Trajectory


@dataclass(frozen=True)
class BesideDemonstrations:
    """The `inner` objective on sampled rows, and -log policy on recited ones
    (`Batch.recited`). How much a demonstration counts is in its loss weights, which `pack` makes.

    Metrics: those of the inner objective over the sampled rows, and `imitation_loss`.
    """

    inner: Objective
    coefficient: float = 1.0  # of the demonstrations together

    def pack(
        self,
        trajectories: Sequence[Trajectory],
        advantages: Sequence[np.ndarray],
        recited: Sequence[Trajectory],
        weigh: Weigh = token_mean,
    ) -> Batch:
        """One batch of trajectories with their advantages and of recited demonstrations, weighed by `in_parts`."""
        ones = [np.ones(len(each.turns)) for each in recited]
        return in_parts(pack([*trajectories, *recited], [*advantages, *ones], weigh), self.coefficient)

    def counted(self, batch: Batch) -> Batch:
        return _only(batch, ~batch.recited)

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        loss, metrics = self.inner(likelihoods, self.counted(batch))
        imitation = weighted_sum(_only(batch, batch.recited), -likelihoods.logprobs)
        return loss + imitation, {**metrics, "imitation_loss": float(imitation.detach())}


def _only(batch: Batch, words: Tensor) -> Batch:
    return replace(batch, loss_weights=torch.where(words, batch.loss_weights, 0.0))


def in_parts(batch: Batch, coefficient: float) -> Batch:
    """The batch with the loss weights of sampled tokens summing to one and those of recited tokens to `coefficient`,
    however many there are of each. Within a part weights keep their proportions."""
    sampled, shown = (_only(batch, words).loss_weights for words in (~batch.recited, batch.recited))
    return replace(batch, loss_weights=_summing(sampled, 1.0) + _summing(shown, coefficient))


def _summing(weights: Tensor, total: float) -> Tensor:
    return weights * (total / weights.sum()) if bool(weights.any()) else weights
