"""Preference losses: of two replies to one prompt, the chosen one becomes likelier than the rejected one.

`batch.pack_pairs` makes the batch. With y the own tokens of one reply, h = log policy(y) - log reference(y), the margin
of a pair m = h(chosen) - h(rejected), and s = -log sigmoid, the loss of a pair is

| objective | loss of a pair                            | paper                                                       |
|-----------|-------------------------------------------|-------------------------------------------------------------|
| `Dpo`     | (1 - e) s(beta m) + e s(-beta m)          | arXiv:2305.18290, equation 7; e > 0 is cDPO                 |
| `Dpo`     | s(beta m), people wrote the chosen one    | SPIN, arXiv:2401.01335, equation 4.7; beta is lambda there  |
| `Hinge`   | max(0, 1 - beta m)                        | SLiC, arXiv:2305.10425; also SPIN's released code           |
| `Ipo`     | (m - 1 / (2 beta))^2                      | arXiv:2310.12036, equation 17; beta is tau there            |
| `StepApo` | s(beta m - alpha d), d the pair's margin  | Step-APO, arXiv:2409.08642                                  |
| `SimPo`   | s(beta m - gamma), h the mean log policy  | arXiv:2405.14734, equation 6; no reference                  |
| `Orpo`    | -h(chosen) + lambda s(o), h as in `SimPo` | arXiv:2403.07691, equations 6 and 7; no reference           |

where o = log odds(chosen) - log odds(rejected), log odds = h - log(1 - exp h),
and for single replies from `batch.pack_samples`, with v the value of a reply,

| `Sppo`    | (h(y) - eta v)^2 / 2                      | SPPO, arXiv:2405.00675, equation 4.4; v = P(y wins) - 1/2   |

`by_token` takes means over tokens in place of sums, so that long replies count as much as short ones (advised by
the authors of `Ipo`; beta then has another scale).

Every pair counts by its weight, whatever the lengths of its replies. The losses are additive over pairs: a part of a
batch must hold both sides of a pair, or it is refused. Metrics of pairs: `preference_loss`; `preference_margin`, the
mean of m; `preference_accuracy`, the share of pairs with m > 0, those within rounding of 0 by half; `chosen_length` and
`rejected_length`, their mean tokens; `entropy` of the policy. Beside a reference, also where the loss reads none:
`chosen_ratio` and `rejected_ratio`, the means of log policy(y) - log reference(y) on either side, since a margin may
grow while both fall; `margin_a_token`, the mean of their difference where they are means over tokens, so that it does
not grow with the replies. Without one they are of log policy(y) alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from redqueen.objectives.additive import Sum, measured, own_tokens
from redqueen.protocols import Objective
from redqueen.types import Batch, Likelihoods, Metrics, RedQueenError


@dataclass(frozen=True)
class Dpo:
    """Direct preference optimisation (Rafailov et al. 2023). Formula: the module's table."""

    beta: float = 0.1
    label_smoothing: float = 0.0  # e, how often a label is taken to be wrong
    by_token: bool = False

    def __post_init__(self) -> None:
        _check_positive(self.beta)
        if not 0.0 <= self.label_smoothing < 0.5:
            raise RedQueenError(f"label smoothing lies from 0 to below 0.5, not at {self.label_smoothing:g}")

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        sides = _sides(batch, likelihoods.logprobs, "Dpo", self.by_token)
        z, wrong = self.beta * sides.margins, self.label_smoothing
        return sides.result(likelihoods, batch, -(1.0 - wrong) * logsigmoid(z) - wrong * logsigmoid(-z))


@dataclass(frozen=True)
class Hinge:
    """Hinge loss: a pair whose margin has reached 1 / beta has no gradient. Formula: the module's table."""

    beta: float = 0.1

    def __post_init__(self) -> None:
        _check_positive(self.beta)

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        sides = _sides(batch, likelihoods.logprobs, "Hinge")
        return sides.result(likelihoods, batch, (1.0 - self.beta * sides.margins).relu())


@dataclass(frozen=True)
class Ipo:
    """Identity preference optimisation: the margin's target is 1 / (2 beta), also if a preference is
    certain (Azar et al. 2023). Formula: the module's table."""

    beta: float = 0.1
    by_token: bool = False

    def __post_init__(self) -> None:
        _check_positive(self.beta)

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        sides = _sides(batch, likelihoods.logprobs, "Ipo", self.by_token)
        return sides.result(likelihoods, batch, (sides.margins - 0.5 / self.beta).square())


@dataclass(frozen=True)
class StepApo:
    """DPO whose margin grows with the pair's difference in value (Wang et al. 2024). Formula: the module's table."""

    beta: float = 0.3
    alpha: float = 1.0

    def __post_init__(self) -> None:
        _check_positive(self.beta)

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        sides = _sides(batch, likelihoods.logprobs, "StepApo")
        return sides.result(likelihoods, batch, -logsigmoid(self.beta * sides.margins - self.alpha * sides.gaps))


@dataclass(frozen=True)
class SimPo:
    """Simple preference optimisation, which needs no reference (Meng et al. 2024). Formula: the module's table."""

    beta: float = 2.0
    gamma: float = 1.0  # by how much the chosen reply should win

    def __post_init__(self) -> None:
        _check_positive(self.beta)

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        sides = _sides(batch, likelihoods.logprobs, by_token=True)
        return sides.result(likelihoods, batch, -logsigmoid(self.beta * sides.margins - self.gamma))


@dataclass(frozen=True)
class Orpo:
    """Imitation of the chosen replies, and the odds ratio of the two, without a reference (Hong et al. 2024). Formula:
    the module's table."""

    weight: float = 0.1  # lambda

    def __post_init__(self) -> None:
        _check_positive(self.weight)

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        sides = _sides(batch, likelihoods.logprobs, by_token=True)
        odds = _log_odds(sides.chosen) - _log_odds(sides.rejected)
        return sides.result(likelihoods, batch, -sides.chosen - self.weight * logsigmoid(odds))


@dataclass(frozen=True)
class Sppo:
    """Self-play preference optimisation: the target of each reply's log-ratio is eta times its value (Wu et al. 2024).

    Its gradient with respect to h does not shrink or grow with eta, so that one rate of gradient descent suits every
    eta. Metrics, in units of eta so that runs compare: `preference_loss`, the loss over eta^2 (the loss itself is about
    10^5 at the paper's eta of 1000); `value_error`, the mean distance of h from its target; and `entropy`.
    """

    eta: float = 1.0

    def __post_init__(self) -> None:
        if not self.eta > 0.0:
            raise RedQueenError(f"eta must be above 0, not {self.eta:g}")

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        if batch.pairs is None:
            raise RedQueenError("Sppo needs whole replies: make the batch with pack_samples(trajectories, values)")
        own = own_tokens(batch)
        numbers, places = torch.unique(batch.pairs, return_inverse=True)

        def over_replies(of_rows: Tensor) -> Tensor:
            return of_rows.new_zeros(len(numbers)).index_add(0, places, of_rows)

        ratios = torch.where(own, likelihoods.logprobs - _reference(batch, "Sppo"), 0.0)
        rows_of = over_replies(own.any(dim=1).to(batch.advantages.dtype)).clamp(min=1.0)
        values = over_replies(torch.where(own, batch.advantages, 0.0).sum(dim=1) / own.sum(dim=1).clamp(min=1))
        errors = over_replies(ratios.sum(dim=1)) - self.eta * values / rows_of
        weights = over_replies(batch.loss_weights.sum(dim=1))
        loss = (weights * errors.square()).sum() / 2.0
        return loss, {
            "preference_loss": float(loss.detach()) / self.eta**2,
            "value_error": float((weights * errors.detach().abs()).sum()) / self.eta,
            "entropy": measured(batch, likelihoods.entropies),
        }


@dataclass(frozen=True)
class ChosenLikelihood:
    """`weight` times the mean of -log policy over the tokens of chosen replies: added to a preference loss, which
    alone lets both replies become less likely. Metric: `chosen_loss`, in nats per token."""

    weight: float = 1.0

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        chosen = own_tokens(batch) & (batch.advantages > 0)  # half of the weight is theirs
        loss = 2.0 * (batch.loss_weights * torch.where(chosen, -likelihoods.logprobs, 0.0)).sum()
        return self.weight * loss, {"chosen_loss": float(loss.detach())}


ROUNDING = 1e-5  # nats a token by which two ratings of the same reply may differ
PairLoss = Literal["logistic", "squared", "hinge", "simpo", "orpo", "step-apo"]
BETAS: Mapping[PairLoss, float] = MappingProxyType({"simpo": 2.0, "step-apo": 0.3})
"""The beta of a paper, where it is not 0.1."""


def dpo_with_chosen(beta: float, weight: float) -> Objective:
    """`Dpo` plus `weight` times the -log likelihood of the chosen replies; `Dpo` alone if `weight` is 0."""
    return preference_loss("logistic", beta, weight)


def preference_loss(
    shape: PairLoss,
    beta: float | None = None,
    chosen_weight: float = 0.0,
    label_smoothing: float = 0.0,
    by_token: bool = False,
    gamma: float = 1.0,
    alpha: float = 1.0,
) -> Objective:
    """`Dpo` ("logistic"), `Ipo` ("squared"), `Hinge`, `SimPo`, `Orpo` or `StepApo`, plus `chosen_weight` times the -log
    likelihood of the chosen replies if that is not 0. `beta` is the paper's where it is None, and the weight of the
    odds ratio in `Orpo`. `label_smoothing` is read by `Dpo` only, `by_token` by `Dpo` and `Ipo`, `gamma` by `SimPo`,
    `alpha` by `StepApo`."""
    at = BETAS.get(shape, 0.1) if beta is None else beta
    made: dict[str, Objective] = {
        "logistic": Dpo(at, label_smoothing, by_token),
        "squared": Ipo(at, by_token),
        "hinge": Hinge(at),
        "simpo": SimPo(at, gamma),
        "orpo": Orpo(at),
        "step-apo": StepApo(at, alpha),
    }
    return Sum(made[shape], ChosenLikelihood(chosen_weight)) if chosen_weight else made[shape]


@dataclass(frozen=True)
class _Sides:
    """What a preference loss reads from K pairs, [K] each."""

    chosen: Tensor  # h
    rejected: Tensor
    gaps: Tensor  # by how much the chosen one is better
    weights: Tensor
    moved: Tensor  # [K, 2], beside the reference: of the chosen and of the rejected side
    lengths: Tensor  # [K, 2], their tokens
    by_token: bool  # whether h are means

    @property
    def margins(self) -> Tensor:
        return self.chosen - self.rejected

    def result(self, likelihoods: Likelihoods, batch: Batch, per_pair: Tensor) -> tuple[Tensor, Metrics]:
        loss, margins = (self.weights * per_pair).sum(), self.margins.detach()
        rounding = ROUNDING * (1.0 if self.by_token else self.lengths.sum(dim=1))
        ahead = torch.where(margins.abs() <= rounding, 0.5, (margins > 0).to(margins.dtype))
        a_token = self.moved / self.lengths.clamp(min=1.0)

        def mean(values: Tensor) -> float:
            return float((self.weights * values.detach()).sum())

        return loss, {
            "preference_loss": float(loss.detach()),
            "preference_margin": mean(margins),
            "preference_accuracy": mean(ahead),
            "chosen_ratio": mean(self.moved[:, 0]),
            "rejected_ratio": mean(self.moved[:, 1]),
            "margin_a_token": mean(a_token[:, 0] - a_token[:, 1]),
            "chosen_length": mean(self.lengths[:, 0]),
            "rejected_length": mean(self.lengths[:, 1]),
            "entropy": measured(batch, likelihoods.entropies),
        }


def _sides(batch: Batch, logprobs: Tensor, beside: str = "", by_token: bool = False) -> _Sides:
    """The sums (or means) of `logprobs` [B, T] over the tokens of each side of a pair, less those of the reference that
    the objective named `beside` needs. A pair without own tokens has weight 0."""
    if batch.pairs is None:
        raise RedQueenError("a preference needs pairs of replies: make the batch with pack_pairs(chosen, rejected)")
    own = own_tokens(batch)
    numbers, places = torch.unique(batch.pairs, return_inverse=True)
    chosen = (own & (batch.advantages > 0)).any(dim=1)
    sides = 2 * places + torch.where(chosen, 0, 1)  # [B]

    def over_sides(of_words: Tensor) -> Tensor:
        """[K, 2] sums over the own tokens of each side."""
        of_rows = torch.where(own, of_words, 0.0).sum(dim=1)
        return of_rows.new_zeros(2 * len(numbers)).index_add(0, sides, of_rows).view(-1, 2)

    counts = over_sides(own.to(logprobs.dtype))
    assert bool(((counts > 0)[:, 0] == (counts > 0)[:, 1]).all()), "a pair is one chosen and one rejected reply"
    sums = over_sides(logprobs - _reference(batch, beside) if beside else logprobs)
    values = sums / counts.clamp(min=1.0) if by_token else sums
    moved = over_sides(logprobs - batch.reference.logprobs) if batch.reference is not None else sums
    better = over_sides(batch.advantages.to(logprobs.dtype)) / counts.clamp(min=1.0)
    weights = over_sides(batch.loss_weights).sum(dim=1)
    return _Sides(values[:, 0], values[:, 1], better[:, 0] - better[:, 1], weights, moved.detach(), counts, by_token)


def _log_odds(logs: Tensor) -> Tensor:
    """log(p / (1 - p)) of log p, whose rounding to p = 1 is left out."""
    logs = logs.clamp(max=-torch.finfo(logs.dtype).eps)
    return logs - torch.log(-torch.expm1(logs))


def _reference(batch: Batch, who: str) -> Tensor:
    if batch.reference is None:
        raise RedQueenError(f"{who} needs a reference in its batch: beside(batch, reference.likelihoods(batch))")
    return batch.reference.logprobs


def _check_positive(beta: float) -> None:
    if not beta > 0.0:
        raise RedQueenError(f"beta of a preference must be above 0, not {beta:g}")
