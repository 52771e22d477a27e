"""KL penalties to a reference, and an entropy bonus.

These objectives keep no state: to anneal a coefficient, make a new objective with another one each step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from redqueen.objectives.additive import Sum, log_ratios, measured, own_tokens, weighted_sum
from redqueen.protocols import Objective, State
from redqueen.types import Batch, Likelihoods, Metrics, RedQueenError

Estimator = Callable[[Tensor], Tensor]  # log policy - log reference of sampled tokens -> an estimate of the KL


def k1(difference: Tensor) -> Tensor:
    """d. Unbiased in value; as a loss on the policy's own fresh tokens its expected gradient is zero."""
    return difference


def k2(difference: Tensor) -> Tensor:
    """d^2 / 2. Biased in value, right in gradient on the policy's own fresh tokens."""
    return difference.square() / 2


def k3(difference: Tensor) -> Tensor:
    """exp(-d) + d - 1. Unbiased in value and never negative; its gradient is that of KL(reference || policy)."""
    held = difference.clamp(-20.0, 20.0)
    return torch.exp(-held) + held - 1.0


@dataclass(frozen=True)
class KLPenalty:
    """coefficient * KL(policy || reference), estimated from the sampled tokens (`k1`, `k2`, `k3`).

    With `weigh_by_ratio` the estimate is multiplied by policy / writer, through which gradients flow. Then the
    value is right for tokens of an older policy, and the gradient of `k1` and `k3` is exactly that of
    the KL, on fresh tokens too ("unbiased KL" of DeepSeek-V3.2). Without it only `k2` has the right gradient.
    """

    coefficient: float
    estimator: Estimator
    weigh_by_ratio: bool = False

    def __post_init__(self) -> None:
        if self.estimator is k1 and not self.weigh_by_ratio:
            raise RedQueenError(
                "k1 in a loss has an expected gradient of zero: choose k2, set weigh_by_ratio=True, or put it into the "
                "reward with kl_in_reward"
            )

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        difference = likelihoods.logprobs - _reference(batch, "KLPenalty").logprobs
        estimates = self.estimator(torch.where(own_tokens(batch), difference, 0.0))
        if self.weigh_by_ratio:
            estimates = estimates * log_ratios(likelihoods, batch).clamp(-20.0, 20.0).exp()
        loss = self.coefficient * weighted_sum(batch, estimates)
        return loss, {"reference_kl": measured(batch, estimates), "reference_kl_loss": float(loss.detach())}


@dataclass(frozen=True)
class ExactKL:
    """coefficient * KL(policy || reference), summed over every legal next token where replies are listed.

    Exact in value and gradient at the positions that were reached, whoever wrote the tokens. Raises RedQueenError for
    rows whose replies are not listed.
    """

    coefficient: float

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        policy, reference = likelihoods.legal_logprobs, _reference(batch, "ExactKL").legal_logprobs
        if policy is None or reference is None:
            raise RedQueenError("ExactKL needs listed replies: for free text use KLPenalty with an estimator")
        own = own_tokens(batch)
        if not bool(((policy != -torch.inf).any(dim=-1) | ~own).all()):
            raise RedQueenError("ExactKL met tokens that were not held to listed replies: use KLPenalty for free text")
        divergences = divergence(torch.where(own.unsqueeze(-1), policy, -torch.inf), reference)
        loss = self.coefficient * weighted_sum(batch, divergences)
        return loss, {"reference_kl": measured(batch, divergences), "reference_kl_loss": float(loss.detach())}


def divergence(policy: Tensor, reference: Tensor) -> Tensor:
    """[B, T] KL(policy || reference) of log-probabilities [B, T, K] and [B, T, K or more], padded with -inf where there
    are fewer. Terms of probability zero are zero, in value and in gradient."""
    present = policy != -torch.inf
    policy = torch.where(present, policy, 0.0)  # before exp and the product, for 0 * inf has no gradient
    reference = torch.where(present, reference[..., : policy.shape[-1]], 0.0)  # of a larger batch, it is wider
    return torch.where(present, policy.exp() * (policy - reference), 0.0).sum(dim=-1)


def near_reference(loss: Objective, kl: float, batch: Batch) -> Objective:
    """`loss` plus `kl` times KL(policy || reference of `batch`): exact if all replies of the batch are listed,
    else by `k2`. `loss` alone if `kl` is 0."""
    if not kl:
        return loss
    listed = _reference(batch, "near_reference").legal_logprobs is not None
    return Sum(loss, ExactKL(kl) if listed else KLPenalty(kl, k2))


def with_k3(loss: Objective, kl: float) -> Objective:
    """`loss` plus `kl` times KL(policy || reference of the batch), estimated by `k3`; `loss` alone if `kl` is 0."""
    return Sum(loss, KLPenalty(kl, k3)) if kl else loss


def with_entropy(loss: Objective, coefficient: float) -> Objective:
    """`loss` with an entropy bonus; `loss` alone if `coefficient` is 0."""
    return Sum(loss, EntropyBonus(coefficient)) if coefficient else loss


@dataclass(frozen=True)
class EntropyBonus:
    """-coefficient * entropy of the policy at each own token, exact."""

    coefficient: float

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        if likelihoods.logprobs.requires_grad and not likelihoods.entropies.requires_grad:
            raise RedQueenError(
                "the entropies of this player carry no gradient (a server gives none for free text), so an entropy "
                "bonus would do nothing: leave it out"
            )
        loss = -self.coefficient * weighted_sum(batch, likelihoods.entropies)
        return loss, {"entropy_loss": float(loss.detach())}


@dataclass(frozen=True)
class CovariancePull:
    """coefficient * |log(policy / writer)| for the tokens whose covariance (A - mean A) (log writer - mean log writer)
    is at least `least` and above 0 (KL-Cov, arXiv:2505.22617, with the coefficient and the absolute value of its
    released code). It has no gradient while the policy is the writer. Made for a batch by `covariance_pull`."""

    mean_advantage: float
    mean_logprob: float
    least: float
    coefficient: float = 1.0

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        together = _covariances(batch, self.mean_advantage, self.mean_logprob)
        pulled = own_tokens(batch) & (together >= self.least) & (together > 0)
        per_token = torch.where(pulled, log_ratios(likelihoods, batch).abs(), 0.0)
        loss = self.coefficient * weighted_sum(batch, per_token)
        return loss, {"covariance_kl": measured(batch, per_token), "pulled": measured(batch, pulled.to(per_token))}


def covariance_pull(batch: Batch, share: float) -> CovariancePull:
    """The pull of the `share` of the batch's own tokens with the largest covariances, at least one token."""
    own = own_tokens(batch)
    if not bool(own.any()):
        return CovariancePull(0.0, 0.0, torch.inf)
    means = float(batch.advantages[own].mean()), float(batch.sampled_logprobs[own].mean())
    found = _covariances(batch, *means)[own].sort(descending=True).values
    return CovariancePull(*means, float(found[max(int(share * len(found)), 1) - 1]))


def _covariances(batch: Batch, mean_advantage: float, mean_logprob: float) -> Tensor:
    return (batch.advantages - mean_advantage) * (batch.sampled_logprobs - mean_logprob)


class EntropyTarget:
    """A coefficient of the entropy bonus for each policy, which keeps entropy from falling below `target` (Skywork-OR1,
    arXiv:2505.22312): it grows by `step` after an update whose entropy was below the target, falls by
    `step` after one above it, but not below 0, and counts only in updates at or below it."""

    def __init__(self, target: float, start: float = 0.0, step: float = 0.005) -> None:
        self._target, self._start, self._step = target, start, step
        self._next: dict[str, float] = {}

    def __call__(self, policy: str, entropy: float) -> float:
        """The coefficient of this update, of a `policy` whose tokens have this mean `entropy` as it begins."""
        held = self._next.get(policy, self._start)
        change = self._step if entropy < self._target else -self._step if entropy > self._target else 0.0
        self._next[policy] = max(held + change, 0.0)
        return held if entropy <= self._target else 0.0

    def state(self) -> State:
        return {"coefficients": dict(self._next)}

    def restore(self, state: State) -> None:
        self._next = dict(state["coefficients"])


def adapted(coefficient: float, *, measured_kl: float, target: float, samples: int, horizon: int = 10_000) -> float:
    """The coefficient of the next step under an adaptive KL controller (Ziegler et al. 2019): it grows while
    the KL is above the target, by at most a fifth of samples / horizon."""
    error = min(max(measured_kl / target - 1.0, -0.2), 0.2)
    return coefficient * (1.0 + error * samples / horizon)


def _reference(batch: Batch, who: str) -> Likelihoods:
    if batch.reference is None:
        raise RedQueenError(f"{who} needs a reference in its batch: beside(batch, reference.likelihoods(batch))")
    return batch.reference
