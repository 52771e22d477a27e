"""The loss of Self-J: a judge that sees the right answer, and one without it that is to say the same (2409.00935)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from redqueen.objectives.additive import own_tokens
from redqueen.objectives.regularizers import divergence
from redqueen.types import Batch, Likelihoods, Metrics, RedQueenError


def in_twos(batch: Batch) -> Batch:
    """A batch of samples in which each two that follow one another, aided (value 1) and plain (-1), have one number."""
    return replace(batch, pairs=batch.trajectory // 2)


@dataclass(frozen=True)
class Distilled:
    """The mean over pairs of  -log p_T(y) - `plain` log p_S(y) + `distill` KL(p_T || p_S)  over the listed labels: p_T
    with the right answer in view, p_S without it, no gradient through p_T in the divergence. Raises RedQueenError for
    labels that are not listed, and for a batch that is not `in_twos`.

    Metrics: `aided_loss` and `plain_loss` in nats a label, `distilled_kl` in nats."""

    plain: float = 0.3
    distill: float = 2.0

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        legal = likelihoods.legal_logprobs
        if batch.pairs is None or legal is None:
            raise RedQueenError("Self-J learns pairs of listed labels: in_twos(pack_samples(aided and plain, ...))")
        own, aided = own_tokens(batch), (batch.advantages > 0).any(dim=1)
        order = torch.argsort(2 * batch.pairs + (~aided).to(batch.pairs.dtype))
        first, second = order[::2], order[1::2]
        assert bool((own[first].sum(dim=1) == own[second].sum(dim=1)).all()), "a pair is one label, said twice"
        distances = divergence(legal[first][own[first]].detach(), legal[second][own[second]])
        losses = [self._pairs(batch, rows, -likelihoods.logprobs[rows][own[rows]]) for rows in (first, second)]
        distance = self._pairs(batch, second, distances)
        loss = losses[0] + self.plain * losses[1] + self.distill * distance
        told = zip(("aided_loss", "plain_loss", "distilled_kl"), (*losses, distance), strict=True)
        return loss, {name: float(value.detach()) for name, value in told}

    def _pairs(self, batch: Batch, rows: Tensor, per_token: Tensor) -> Tensor:
        """The sum of `per_token` over the own tokens of one side, which has half the weight of its pair."""
        weights = batch.loss_weights[rows]
        return 2.0 * (weights[weights != 0] * per_token).sum()
