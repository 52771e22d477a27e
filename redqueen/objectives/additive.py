"""Weighted sums over own tokens, and sums of objectives: a loss does not depend on how its batch is split.

Each token carries its share of the whole batch's loss, so the losses and metrics of any parts of a
batch add up to those of the whole. Nothing in this module, or in the objectives built on it, divides by a
count.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from redqueen.protocols import CountsSome, Objective, StatesSilence, has
from redqueen.types import Batch, Likelihoods, Metrics


def among(scores: Tensor, absent: Tensor) -> tuple[Tensor, Tensor]:
    """[n, K] the log-probabilities among the listed tokens with these scores [n, K], -inf where one is `absent` (its
    score is -inf, but in a row without any), and [n] their entropy in nats."""
    logprobs = scores.log_softmax(dim=1)
    surprise = torch.where(absent, 0.0, logprobs)
    entropies = -(surprise.exp() * surprise).masked_fill(absent, 0.0).sum(dim=1)
    return logprobs.masked_fill(absent, -torch.inf), entropies


def own_tokens(batch: Batch) -> Tensor:
    """[B, T] bool, where the batch learns."""
    return batch.loss_weights != 0


def weighted_sum(batch: Batch, per_token: Tensor) -> Tensor:
    """The sum (scalar) of `per_token` [B, T] under the loss weights; values outside own tokens are not read."""
    return (batch.loss_weights * torch.where(own_tokens(batch), per_token, 0.0)).sum()


def measured(batch: Batch, per_token: Tensor) -> float:
    """The same sum as a float, for logs: a mean over own tokens if the weights sum to one."""
    return float(weighted_sum(batch, per_token.detach()))


def log_ratios(likelihoods: Likelihoods, batch: Batch) -> Tensor:
    """[B, T] log(policy / policy that wrote the token); zero outside own tokens."""
    return torch.where(own_tokens(batch), likelihoods.logprobs - batch.sampled_logprobs, 0.0)


def silent_without_advantage(objective: Objective) -> bool:
    """Whether rows whose advantages are zero add nothing to the loss and gradient of `objective`, so that they
    need not be computed (`StatesSilence`)."""
    return has(objective, StatesSilence) and objective.silent_without_advantage


def counted(objective: Objective, batch: Batch) -> float:
    """The sum of the loss weights that divides the metrics of `objective` into means: over all own tokens, or over
    those that a `CountsSome` counts."""
    return float((objective.counted(batch) if has(objective, CountsSome) else batch).loss_weights.sum())


@dataclass(frozen=True, init=False)
class Sum:
    """Objectives added up: `Sum(ClippedRatio(), EntropyBonus(0.01))`. Each names its metrics differently."""

    parts: tuple[Objective, ...]

    def __init__(self, *parts: Objective) -> None:
        assert parts, "a sum needs at least one objective"
        object.__setattr__(self, "parts", parts)

    @property
    def silent_without_advantage(self) -> bool:
        return all(silent_without_advantage(part) for part in self.parts)

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        loss, metrics = self.parts[0](likelihoods, batch)
        metrics = dict(metrics)
        for part in self.parts[1:]:
            more, measures = part(likelihoods, batch)
            loss = loss + more
            twice = metrics.keys() & measures.keys()
            assert not twice, f"two parts of a sum both report {', '.join(sorted(twice))}"
            metrics.update(measures)
        return loss, metrics
