"""Tokens that a policy gradient leaves alone: their advantage becomes zero, and they keep their share of the loss.
Demonstrations are neither counted nor changed.

batch = top_entropy(batch, learner.likelihoods(batch), 0.2)
batch = without_covariance(batch, learner.likelihoods(batch), 0.02, rng)
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import torch
from torch import Tensor

from redqueen.objectives.additive import own_tokens
from redqueen.objectives.demonstrations import sampled_alone
from redqueen.types import Batch, Likelihoods

LEAST, MOST = 1.0, 40.0  # the band of covariances from which tokens are drawn (SPEAR, arXiv:2509.22601)


def top_entropy(batch: Batch, start: Likelihoods, share: float) -> Batch:
    """The batch in which only the `share` of the sampled tokens with the most entropy has an advantage, at least one
    (arXiv:2506.01939); tokens that tie with the last of them have one too."""
    own = own_tokens(sampled_alone(batch))
    entropies = start.entropies.detach()[own]
    if not len(entropies):
        return batch
    least = entropies.sort(descending=True).values[max(round(share * len(entropies)), 1) - 1]
    return _with_advantage(batch, start.entropies.detach() >= least)


def covariances(batch: Batch, start: Likelihoods) -> Tensor:
    """[B, T] (A - mean A) (log pi - mean log pi), means over own tokens; zero elsewhere."""
    own = own_tokens(batch)
    advantages, logprobs = batch.advantages, start.logprobs.detach().to(batch.advantages)
    centred = [torch.where(own, each - each[own].mean(), 0.0) for each in (advantages, logprobs)]
    return centred[0] * centred[1]


def without_covariance(
    batch: Batch, start: Likelihoods, share: float, rng: Random, least: float = LEAST, most: float = MOST
) -> Batch:
    """The batch in which `share` of the sampled tokens, at least one, have no advantage: drawn from those whose
    covariance lies between `least` and `most`, as far as there are any (Clip-Cov, arXiv:2505.22617). Where all
    advantages are equal no covariance differs from zero, and nothing is muted."""
    sampled = sampled_alone(batch)
    own = own_tokens(sampled)
    if not bool(own.any()):
        return batch
    found = covariances(sampled, start)
    candidates = (own & (found > least) & (found < most)).nonzero().tolist()
    count = min(max(int(share * int(own.sum())), 1), len(candidates))
    muted = torch.zeros_like(own)
    for row, column in rng.sample(candidates, count):
        muted[row, column] = True
    return _with_advantage(batch, ~muted)


def _with_advantage(batch: Batch, tokens: Tensor) -> Batch:
    return replace(batch, advantages=torch.where(tokens | batch.recited, batch.advantages, 0.0))
