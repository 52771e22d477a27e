"""Tokens written by another policy than the one an update starts from: an older one, or the same
weights in another engine.

    batch = corrected(batch, learner.likelihoods(batch), TokenTruncated(2.0))
    learner.update(batch, ClippedRatio())

The weight w = start of the update / writer goes into the advantages, to which every policy-gradient
loss is proportional, and so leaves KL and entropy alone; the ratio is then measured from the start of
the update (decoupled PPO of AReaL, Fu et al. 2025). Truncating w is V-trace's rho-bar (IMPALA, Espeholt
et al. 2018). A token rejected by a weight of zero keeps its share of the loss
weights. Do not correct a batch whose ratio is to be taken to the writer itself: it would count twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from redqueen.objectives.additive import own_tokens
from redqueen.types import Batch, Likelihoods, Metrics

Weigh = Callable[[Tensor, Tensor], Tensor]  # log w and own tokens, both [B, T] -> weights [B, T]


def corrected(batch: Batch, start: Likelihoods, weigh: Weigh) -> Batch:
    """The batch with advantages weighted by `weigh`, and `start`, the learner's likelihoods before the update, as its
    sampled log-probabilities."""
    own = own_tokens(batch)
    start_logprobs = start.logprobs.detach()
    log_weights = torch.where(own, start_logprobs - batch.sampled_logprobs, 0.0).clamp(-20.0, 20.0)
    advantages = torch.where(own, batch.advantages * weigh(log_weights, own), 0.0)
    return replace(batch, advantages=advantages, sampled_logprobs=start_logprobs)


@dataclass(frozen=True)
class TokenTruncated:
    """min(w, cap) for each token (TIS)."""

    cap: float = 2.0

    def __call__(self, log_weights: Tensor, own: Tensor) -> Tensor:
        return log_weights.exp().clamp(max=self.cap)


@dataclass(frozen=True)
class RowTruncated:
    """min(product of w over the row, cap) for each token of the row."""

    cap: float = 2.0

    def __call__(self, log_weights: Tensor, own: Tensor) -> Tensor:
        row = log_weights.sum(dim=1, keepdim=True).clamp(-20.0, 20.0).exp().clamp(max=self.cap)
        return row.expand_as(log_weights)


@dataclass(frozen=True)
class TokenMasked:
    """w where it lies within [least, most], else zero (IcePop; AReaL with least 0, most 5)."""

    least: float = 0.5
    most: float = 2.0

    def __call__(self, log_weights: Tensor, own: Tensor) -> Tensor:
        weights = log_weights.exp()
        return torch.where((weights >= self.least) & (weights <= self.most), weights, 0.0)


@dataclass(frozen=True)
class RowMasked:
    """The geometric mean of w over a row for each of its tokens where it lies within [least, most], else zero."""

    least: float = 0.5
    most: float = 2.0

    def __call__(self, log_weights: Tensor, own: Tensor) -> Tensor:
        words = own.sum(dim=1, keepdim=True).clamp(min=1)
        weights = (log_weights.sum(dim=1, keepdim=True) / words).exp().expand_as(log_weights)
        return torch.where((weights >= self.least) & (weights <= self.most), weights, 0.0)


@dataclass(frozen=True)
class RowWithin:
    """1 for each token of a row whose geometric mean of w lies within [least, most], else zero: it rejects and does not
    weigh (geo-RS of verl; .999 to 1.001 in Dr.Kernel)."""

    least: float = 0.999
    most: float = 1.001

    def __call__(self, log_weights: Tensor, own: Tensor) -> Tensor:
        kept = RowMasked(self.least, self.most)(log_weights, own) > 0
        return kept.to(log_weights.dtype)


@dataclass(frozen=True)
class Vetoed:
    """The weights of `inner`, but zero for a row with a token whose w is below `least`."""

    inner: Weigh
    least: float = 1e-4

    def __call__(self, log_weights: Tensor, own: Tensor) -> Tensor:
        lowest = torch.where(own, log_weights, torch.inf).amin(dim=1, keepdim=True).exp()
        return torch.where(lowest >= self.least, self.inner(log_weights, own), 0.0)


def refreshed_rows(batch: Batch, start: Likelihoods, version: int) -> Batch:
    """The batch with `start`, the learner's likelihoods before the update, as the sampled log-probabilities of tokens
    that an older version than `version` wrote: their ratio begins at 1, where a clip to the writer would silence an
    action that has grown since."""
    older = own_tokens(batch) & (batch.versions < version)
    return replace(batch, sampled_logprobs=torch.where(older, start.logprobs.detach(), batch.sampled_logprobs))


def figures(batch: Batch, start: Likelihoods) -> Metrics:
    """How far the writer of the tokens is from `start`, over own tokens: `weight_mean`, the mean of w; `weight_ess`,
    the effective sample size over their number, (mean w)^2 / mean w^2; `weight_chi2`, mean w^2 - 1; `weight_k3`, the
    mean of w - log w - 1, which estimates KL(writer || start). Empty without own tokens."""
    own = own_tokens(batch)
    log_weights = (start.logprobs.detach() - batch.sampled_logprobs)[own].clamp(-20.0, 20.0)
    if not len(log_weights):
        return {}
    weights = log_weights.exp()
    first, second = float(weights.mean()), float(weights.square().mean())
    return {
        "weight_mean": first,
        "weight_ess": first * first / second,
        "weight_chi2": second - 1.0,
        "weight_k3": float((weights - log_weights - 1.0).mean()),
    }
