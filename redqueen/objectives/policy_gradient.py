"""Policy-gradient losses, from the advantage of each token.

A is the advantage of a token, r = policy / policy that wrote it. All are additive over rows; how much
a token counts (token mean, row mean, constant) was fixed by `pack`. On the policy's own fresh tokens
r = 1, and every objective here has the gradient of `Reinforce`.

| objective      | loss of a token                                      | where the ratio leaves its range        |
|----------------|------------------------------------------------------|-----------------------------------------|
| `Reinforce`    | -A log policy                                        | no ratio                                |
| `ClippedRatio` | max(-A r, -A clip(r)), at most -A dual where A < 0   | no gradient, where leaving paid         |
| `Cispo`        | -clip(r) A log policy, clip(r) held constant         | a bounded gradient                      |
| `Gspo`         | as `ClippedRatio`, r the geometric mean of the row   | no gradient for the whole row           |
| `Sapo`         | -A 4 sigmoid(tau (r - 1)) / tau                      | a gradient that fades                   |
| `Gmpo`         | -A times the geometric mean of the row's clipped r   | no gradient for the token               |

Metrics, each a sum under the loss weights: `policy_loss`; `entropy` of the policy (nats); `approx_kl`, the mean
of log writer - log policy; `clip_fraction`, the share of tokens without gradient (in `Cispo`: with a bounded one);
`dual_clip_fraction`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from redqueen.objectives.additive import log_ratios, measured, own_tokens, weighted_sum
from redqueen.types import Batch, Likelihoods, Metrics, RedQueenError

LARGEST_LOG_RATIO = 20.0  # e^20: beyond it a ratio is not a number one can sum


def _result(likelihoods: Likelihoods, batch: Batch, per_token: Tensor) -> tuple[Tensor, Metrics]:
    loss = weighted_sum(batch, per_token)
    return loss, {
        "policy_loss": float(loss.detach()),
        "entropy": measured(batch, likelihoods.entropies),
        "approx_kl": measured(batch, -log_ratios(likelihoods, batch)),
    }


def _ratios(likelihoods: Likelihoods, batch: Batch) -> Tensor:
    return log_ratios(likelihoods, batch).clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp()


@dataclass(frozen=True)
class Reinforce:
    """-A log policy (Williams, 1992). Right for tokens that the policy itself has just sampled."""

    silent_without_advantage: ClassVar[bool] = True

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        return _result(likelihoods, batch, -batch.advantages * likelihoods.logprobs)


@dataclass(frozen=True)
class ClippedRatio:
    """PPO's loss (Schulman et al. 2017): the ratio is clipped to [1 - low, 1 + high].

    DAPO's clip-higher is low 0.2, high 0.28. With `dual` (Ye et al. 2020; 3 in verl, 1.4 in MARS) the loss of a
    token with A < 0 is at most -A * dual: a token grown far likelier since it was written cannot outweigh the batch.
    """

    silent_without_advantage: ClassVar[bool] = True

    low: float = 0.2
    high: float = 0.2
    dual: float | None = None

    def __post_init__(self) -> None:
        _check_range(self.low, self.high)
        if self.dual is not None and self.dual <= 1.0 + self.high:
            raise RedQueenError(
                f"dual must be above 1 + high = {1.0 + self.high:g}, not {self.dual:g}: it bounds ratios that the clip "
                "lets through"
            )

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        per_token, clipped = _clipped(_ratios(likelihoods, batch), batch.advantages, self.low, self.high)
        metrics = {"clip_fraction": measured(batch, clipped)}
        if self.dual is not None:
            bound = torch.where(batch.advantages < 0, -batch.advantages * self.dual, torch.inf)
            metrics["dual_clip_fraction"] = measured(batch, (per_token > bound).to(per_token.dtype))
            per_token = torch.minimum(per_token, bound)
        loss, measures = _result(likelihoods, batch, per_token)
        return loss, measures | metrics


def _clipped(ratios: Tensor, advantages: Tensor, low: float, high: float) -> tuple[Tensor, Tensor]:
    """[B, T] each: the larger of the two losses, and 1 where that is the clipped one."""
    free, held = -advantages * ratios, -advantages * ratios.clamp(1.0 - low, 1.0 + high)
    return torch.maximum(free, held), (held > free).to(ratios.dtype)


def _check_range(low: float, high: float) -> None:
    if not 0.0 < low <= 1.0 or high <= 0.0:
        raise RedQueenError(
            f"a ratio is clipped to [1 - low, 1 + high] with 0 < low <= 1 and 0 < high, not low={low:g}, high={high:g}"
        )


@dataclass(frozen=True)
class Cispo:
    """-clip(r) A log policy, the clipped ratio held constant (MiniMax-M1, 2025): every token keeps a gradient.

    The ratio is held to [1 - below_one, 1 + above_one]; the published method has no lower bound. TRL
    states the upper bound itself (its 5.0 is `above_one=4.0`). On tokens of another or older policy this is REINFORCE
    under a truncated importance weight, min(r, 1 + above_one): the rho-bar of V-trace's policy gradient (IMPALA,
    Espeholt et al. 2018, section 4.2, there 1) without its targets of values.
    """

    silent_without_advantage: ClassVar[bool] = True

    above_one: float
    below_one: float | None = None

    def __post_init__(self) -> None:
        _check_range(1.0 if self.below_one is None else self.below_one, self.above_one)

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        ratios = _ratios(likelihoods, batch).detach()
        least = 0.0 if self.below_one is None else 1.0 - self.below_one
        held = ratios.clamp(least, 1.0 + self.above_one)
        loss, metrics = _result(likelihoods, batch, -held * batch.advantages * likelihoods.logprobs)
        return loss, metrics | {"clip_fraction": measured(batch, (held != ratios).to(ratios.dtype))}


@dataclass(frozen=True)
class Gspo:
    """PPO's loss on the ratio of a row (GSPO, Zheng et al. 2025): s = exp(mean of log r over own tokens).

    Each token has the value s and s times its own gradient (straight-through), so the
    gradient is that of s itself if all tokens of a row weigh the same: `row_mean`, as published. A row of
    several turns has one ratio.
    """

    silent_without_advantage: ClassVar[bool] = True

    low: float = 3e-4
    high: float = 4e-4

    def __post_init__(self) -> None:
        _check_range(self.low, self.high)

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        log_ratio = log_ratios(likelihoods, batch)
        lengths = own_tokens(batch).sum(dim=1, keepdim=True).clamp(min=1)  # a row without weight has no tokens
        row = (log_ratio.detach().sum(dim=1, keepdim=True) / lengths).clamp(max=10.0).exp()
        ratios = row * torch.exp(log_ratio - log_ratio.detach())
        per_token, clipped = _clipped(ratios, batch.advantages, self.low, self.high)
        loss, metrics = _result(likelihoods, batch, per_token)
        return loss, metrics | {"clip_fraction": measured(batch, clipped)}


@dataclass(frozen=True)
class Sapo:
    """-A (4 / tau) sigmoid(tau (r - 1)) (SAPO, Gao et al. 2025): a smooth gate in place of the clip. Its slope at r = 1
    is 1, and falls faster where A < 0 (`tau_negative`); its value there is -2 A / tau, which is no other loss's.
    """

    silent_without_advantage: ClassVar[bool] = True

    tau: float = 1.0
    tau_negative: float = 1.05

    def __post_init__(self) -> None:
        if self.tau <= 0.0 or self.tau_negative <= 0.0:
            raise RedQueenError(f"a gate has a tau above 0, not {self.tau:g} and {self.tau_negative:g}")

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        tau = torch.where(batch.advantages > 0, self.tau, self.tau_negative)
        gate = 4.0 / tau * torch.sigmoid(tau * (_ratios(likelihoods, batch) - 1.0))
        return _result(likelihoods, batch, -batch.advantages * gate)


@dataclass(frozen=True)
class Gmpo:
    """-A times the geometric mean of the ratios of a row (GMPO, Zhao et al. 2025), each ratio clipped before to
    [exp(-low), exp(high)] on the side that A pays for.

    Each token has the value of the mean and its own share of the gradient, so that the loss is the published one if all
    tokens of a row weigh the same (`row_mean`).
    """

    silent_without_advantage: ClassVar[bool] = True

    low: float = 0.4
    high: float = 0.4

    def __post_init__(self) -> None:
        _check_range(self.low, self.high)

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        free = log_ratios(likelihoods, batch)
        held = torch.where(batch.advantages > 0, free.clamp(max=self.high), free.clamp(min=-self.low))
        lengths = own_tokens(batch).sum(dim=1, keepdim=True).clamp(min=1)
        row = (held.detach().sum(dim=1, keepdim=True) / lengths).clamp(max=10.0).exp()
        loss, metrics = _result(likelihoods, batch, -batch.advantages * row * torch.exp(held - held.detach()))
        return loss, metrics | {"clip_fraction": measured(batch, (held != free).to(free.dtype))}
