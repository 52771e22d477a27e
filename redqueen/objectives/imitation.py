"""Imitation: raises the likelihood of a demonstration's tokens, whoever wrote them."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from redqueen.objectives.additive import measured, weighted_sum
from redqueen.types import Batch, Likelihoods, Metrics


@dataclass(frozen=True)
class Imitation:
    """-log policy of every own token: supervised fine-tuning. Advantages are not read; for demonstrations that
    count differently (STP), `Reinforce` with the weights as advantages is the same loss.

    Metrics: `imitation_loss`, in nats per token, and `entropy`.
    """

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        loss = weighted_sum(batch, -likelihoods.logprobs)
        return loss, {"imitation_loss": float(loss.detach()), "entropy": measured(batch, likelihoods.entropies)}
