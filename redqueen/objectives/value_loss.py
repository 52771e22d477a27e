"""The loss of a critic: squared error of its values against their targets."""

from __future__ import annotations

import torch
from torch import Tensor

from redqueen.types import Metrics


def clipped_value_loss(
    values: Tensor, old_values: Tensor, targets: Tensor, weights: Tensor, clip: float
) -> tuple[Tensor, Metrics]:
    """Half the larger of two squared errors, of the values and of the values clipped to within `clip` of the old ones
    (PPO), summed under `weights`; and metrics.

    All tensors have one shape; `old_values` are those from which the targets were made, and targets are never
    whitened. Values with weight zero are not read.
    """
    own = weights != 0
    held = torch.minimum(torch.maximum(values, old_values - clip), old_values + clip)
    free_error, held_error = (values - targets).square(), (held - targets).square()
    loss = (weights * torch.where(own, 0.5 * torch.maximum(free_error, held_error), 0.0)).sum()
    clipped = torch.where(own, (held_error > free_error).to(weights.dtype), 0.0)
    return loss, {"value_loss": float(loss.detach()), "value_clip_fraction": float((weights * clipped).sum())}
