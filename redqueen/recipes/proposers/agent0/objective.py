"""ADPO, which trusts a label by the share of the vote that made it (Agent0, 2511.16043)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from redqueen.checks.votes import LabelTrust
from redqueen.credit.advantages.statistics import per_kind_or_group
from redqueen.objectives.additive import log_ratios, measured, weighted_sum
from redqueen.objectives.batch import row_mean
from redqueen.objectives.policy_gradient import LARGEST_LOG_RATIO, ClippedRatio
from redqueen.protocols import Objective
from redqueen.types import Batch, Likelihoods, Metrics, RedQueenError, Trajectory


@dataclass(frozen=True)
class ADPO:
    """GRPO whose advantages are scaled, and whose ratios are clipped, by the `share` of a task's label: its estimator,
    its loss weights and its objective. A proposal, which has no label, is learned from as in GRPO."""

    trust: LabelTrust = LabelTrust()
    weigh = staticmethod(row_mean)

    def estimate(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        """[N] each: GRPO's advantages times the scale of the label's share."""
        scales = [1.0 if share is None else self.trust.scale(share) for share in map(_share, trajectories)]
        return [each * scale for each, scale in zip(per_kind_or_group(trajectories), scales, strict=True)]

    def objective(self, trajectories: Sequence[Trajectory]) -> Objective:
        """The clipped ratio for a batch of these trajectories, each with the upper bound of its label's share."""
        shares = [share for share in map(_share, trajectories) if share is not None]
        return GroupClippedRatio(tuple(map(self.trust.upper_clip, shares))) if shares else ClippedRatio()


def _share(trajectory: Trajectory) -> float | None:
    """The share of the vote for the label of a trajectory's task; None without a label."""
    share = trajectory.episode.task.facts.get("share")
    return None if share is None else float(share)


@dataclass(frozen=True)
class GroupClippedRatio:
    """PPO's loss with the ratio of a row held to [1 - low, 1 + highs[its trajectory]].

    A split vote means that the likely answers may be wrong, so that unlikely ones are given more room to grow. On a
    policy's own fresh tokens the ratio is 1 and no bound is reached: it takes more than one update on the same tokens
    for the bounds to matter.
    """

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
