"""Demonstrations and sampled replies in one batch, each row with its own loss.

batch = in_parts(pack([*own, *recited], [*advantages, *ones]), EachRow(token_mean), coefficient)
policy.update(batch, BesideDemonstrations(ClippedRatio()))
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from redqueen.objectives.additive import weighted_sum
from redqueen.objectives.batch import Shares, reweighed, take
from redqueen.protocols import Objective
from redqueen.types import Batch, Likelihoods, Metrics


@dataclass(frozen=True)
class BesideDemonstrations:
    """The `inner` objective on sampled rows, and -log policy on recited ones
    (`Batch.recited`). How much a demonstration counts is in its loss weights, by `in_parts`.

    Metrics: those of the inner objective over the sampled rows, and `imitation_loss`.
    """

    inner: Objective

    def counted(self, batch: Batch) -> Batch:
        return sampled_alone(batch)

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        loss, metrics = self.inner(likelihoods, self.counted(batch))
        imitation = weighted_sum(_only(batch, batch.recited), -likelihoods.logprobs)
        return loss + imitation, {**metrics, "imitation_loss": float(imitation.detach())}


def sampled_alone(batch: Batch) -> Batch:
    """The batch in which demonstrations have no weight."""
    return _only(batch, ~batch.recited)


def _only(batch: Batch, words: Tensor) -> Batch:
    return replace(batch, loss_weights=torch.where(words, batch.loss_weights, 0.0))


def in_parts(batch: Batch, shares: Shares, coefficient: float) -> Batch:
    """The batch with loss weights by `shares`: those of sampled rows as if these were all, those of recited rows in the
    same proportions, summing to `coefficient` however many there are."""
    recited = batch.recited.any(dim=1)
    weights = torch.zeros(batch.loss_weights.shape, dtype=torch.float64)
    for part in (~recited, recited):
        rows = part.nonzero()[:, 0]
        weights[rows] = reweighed(take(batch, rows), shares).loss_weights
    shown = weights[recited]
    if bool(shown.any()):
        weights[recited] = shown * (coefficient / shown.sum())
    return replace(batch, loss_weights=weights)
