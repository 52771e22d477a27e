"""Objectives on the first thing that a row says: in a conversation packed into one row, the seat's first turn."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from redqueen.objectives.additive import own_words
from redqueen.protocols import Objective
from redqueen.types import Batch, Likelihoods, Metrics


def opening_words(batch: Batch) -> Tensor:
    """[B, T] bool, the first unbroken run of own words in each row."""
    own = own_words(batch)
    begins = own & ~torch.cat([torch.zeros_like(own[:, :1]), own[:, :-1]], dim=1)
    return own & (begins.cumsum(dim=1) == 1)


@dataclass(frozen=True)
class OnOpening:
    """Another objective, on the first unbroken run of own words in each row alone, at the weights they have. Words of
    free text: a token that was forced ends a run. Its metrics are named `opening_...`."""

    inner: Objective

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        kept = replace(batch, loss_weights=torch.where(opening_words(batch), batch.loss_weights, 0.0))
        loss, metrics = self.inner(likelihoods, kept)
        return loss, {f"opening_{name}": value for name, value in metrics.items()}


def opening_divergence(batch: Batch) -> float:
    """The mean over rows of log writer - log reference of their opening words: KL(writer || reference) of a whole first
    turn in nats, estimated from the words said. 0 without rows. The batch needs a reference."""
    assert batch.reference is not None, "beside(batch, reference.likelihoods(batch)) comes first"
    if not len(batch):
        return 0.0
    difference = torch.where(opening_words(batch), batch.sampled_logprobs - batch.reference.logprobs, 0.0)
    return float(difference.sum(dim=1).mean())
