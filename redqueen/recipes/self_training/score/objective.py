"""Objectives on the first thing that a row says: in a conversation packed into one row, the seat's first turn."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from redqueen.objectives.additive import Sum, own_tokens
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.objectives.regularizers import KLPenalty, k2
from redqueen.protocols import Objective
from redqueen.types import Batch, Likelihoods, Mean, Metrics, RedQueenError


def opening_tokens(batch: Batch) -> Tensor:
    """[B, T] bool, the first unbroken run of own tokens in each row. Raises RedQueenError where a conversation has
    several rows, since which of them is its first is not known."""
    if len(torch.unique(batch.trajectory)) < len(batch):
        raise RedQueenError(
            "the first of two answers is told from the second where both are in one row, and here each has its own: "
            "leave --history strip out, and take a chat template that keeps what was said"
        )
    own = own_tokens(batch)
    begins = own & ~torch.cat([torch.zeros_like(own[:, :1]), own[:, :-1]], dim=1)
    return own & (begins.cumsum(dim=1) == 1)


@dataclass(frozen=True)
class OnOpening:
    """Another objective, on the first unbroken run of own tokens in each row alone, at the weights they have. In
    free text a token that was forced ends a run. Its metrics are named `opening_...`."""

    inner: Objective

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        kept = replace(batch, loss_weights=torch.where(opening_tokens(batch), batch.loss_weights, 0.0))
        loss, metrics = self.inner(likelihoods, kept)
        return loss, {f"opening_{name}": value for name, value in metrics.items()}


def opening_divergence(batch: Batch) -> Mean:
    """The mean over rows of log writer - log reference of their opening tokens: KL(writer || reference) of a whole
    first turn in nats, estimated from the sampled tokens. 0 without rows. The batch needs a reference."""
    assert batch.reference is not None, "beside(batch, reference.likelihoods(batch)) comes first"
    if not len(batch):
        return Mean(0.0, 0)
    difference = torch.where(opening_tokens(batch), batch.sampled_logprobs - batch.reference.logprobs, 0.0)
    return Mean(float(difference.sum(dim=1).mean()), len(batch))


def first_stage(kl: float, first_answer_kl: float) -> Objective:
    """Policy gradient, with `kl` times the KL of all own tokens to the reference and `first_answer_kl` times that of
    the first answers (SCoRe, equation 3)."""
    return Sum(Reinforce(), KLPenalty(kl, k2), OnOpening(KLPenalty(first_answer_kl, k2)))


def second_stage(kl: float) -> Objective:
    """Policy gradient, with `kl` times the KL of all own tokens to the reference (SCoRe, equation 4)."""
    return Sum(Reinforce(), KLPenalty(kl, k2))
