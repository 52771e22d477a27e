"""The loss and the advantages of WebRL's released trainer (2411.02337, github.com/THUDM/WebRL)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import smooth_l1_loss

from redqueen.objectives.additive import measured, own_tokens
from redqueen.types import Batch, Likelihoods, Metrics

SURE_BETA, SURE = 5.0, 0.8  # beta for an act whose tokens have at least this mean chance under the reference
COST, FAILED = 0.05, -0.6  # of a step, and the target of an act that is worse than expected


def mean_chances(logprobs: Tensor, batch: Batch) -> Tensor:
    """[B] of each row, exp of the mean of the log-probabilities [B, T] of its own tokens."""
    own = own_tokens(batch)
    return (torch.where(own, logprobs, 0.0).sum(dim=1) / own.sum(dim=1).clamp(min=1)).exp()


def coded_advantages(values: np.ndarray, rewards: np.ndarray, discount: float = 0.9) -> np.ndarray:
    """[N] of the acts of an episode: V' - V - .05 + r + the discounted rewards from there on, within -1 and 1, as in
    the released trainer; `values` [N] and `rewards` [N] as they are met, V' of the last act 0."""
    later = np.zeros(len(rewards))
    for place in reversed(range(len(rewards))):
        later[place] = rewards[place] + (discount * later[place + 1] if place + 1 < len(rewards) else 0.0)
    return np.asarray(np.clip(np.append(values[1:], 0.0) - values - COST + rewards + later, -1.0, 1.0))


@dataclass(frozen=True)
class CodedRegression:
    """smoothL1(beta d, 1) / beta over the acts with A >= 0, d the mean log-ratio of their tokens to the reference; the
    others, whose target would be -.6, have no part (the released trainer). beta is 1, and 5 where the reference gives a
    token a mean chance of .8 or more, and at most |A / d|. The batch is of `pack_samples`, one row an act, the
    advantage of its tokens A."""

    silent_without_advantage: ClassVar[bool] = False

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        assert batch.reference is not None, "the reference rates the batch first"
        own = own_tokens(batch)
        count = own.sum(dim=1).clamp(min=1)
        given = torch.where(own, batch.advantages, 0.0).sum(dim=1) / count
        ratio = torch.where(own, likelihoods.logprobs - batch.reference.logprobs, 0.0).sum(dim=1) / count  # [B], d
        target = torch.where(given >= 0.0, 1.0, FAILED)
        sure = (given >= 0.0) & (mean_chances(batch.reference.logprobs, batch) >= SURE)
        most = (target / ratio.detach()).abs().nan_to_num(posinf=SURE_BETA)
        beta = torch.minimum(torch.where(sure, SURE_BETA, 1.0), most)
        each = smooth_l1_loss(beta * ratio, target, reduction="none") / beta
        loss = (batch.loss_weights.sum(dim=1) * torch.where(given >= 0.0, each, 0.0)).sum()
        return loss, {"policy_loss": float(loss.detach()), "entropy": measured(batch, likelihoods.entropies)}
