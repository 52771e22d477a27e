"""A clipped ratio whose upper bound is each group's own: looser where a group's label is in doubt.

ADPO (Agent0, 2511.16043) clips the ratio of a word to [1 - low, 1 + high(p)], where p is the share of the vote that
made the label of the word's task: a split vote means that the likely answers may be wrong, so that unlikely ones are
given more room to grow. On a policy's own fresh words the ratio is 1 and no bound is ever reached: it takes more than
one update on the same words for the bounds to matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from redqueen.objectives.additive import log_ratios, measured, weighted_sum
from redqueen.objectives.policy_gradient import LARGEST_LOG_RATIO
from redqueen.types import Batch, Likelihoods, Metrics, RedQueenError


@dataclass(frozen=True)
class GroupClippedRatio:
    """PPO's loss with the ratio of a row held to [1 - low, 1 + highs[its trajectory]]."""

    silent_without_advantage: ClassVar[bool] = True

    highs: tuple[float, ...]  # above 0, one for each trajectory of the batch
    low: float = 0.2

    def __post_init__(self) -> None:
        if not 0.0 < self.low <= 1.0 or not all(high > 0.0 for high in self.highs):
            raise RedQueenError(f"a ratio is clipped with 0 < low <= 1 and highs above 0, not {self.low}, {self.highs}")

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        ratios = log_ratios(likelihoods, batch).clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp()
        highs = torch.tensor(self.highs, dtype=ratios.dtype)[batch.trajectory.cpu()]
        most = 1.0 + highs.to(ratios.device)
        held = torch.minimum(ratios.clamp(min=1.0 - self.low), most[:, None])
        free, bounded = -batch.advantages * ratios, -batch.advantages * held
        loss = weighted_sum(batch, torch.maximum(free, bounded))
        return loss, {
            "policy_loss": float(loss.detach()),
            "entropy": measured(batch, likelihoods.entropies),
            "approx_kl": measured(batch, -log_ratios(likelihoods, batch)),
            "clip_fraction": measured(batch, (bounded > free).to(ratios.dtype)),
        }
