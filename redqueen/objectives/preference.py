"""Preferences: of two replies to one prompt, the chosen one is to become likelier than the rejected one.

`batch.pack_pairs` makes the batch. With y the own words of a side, h = log policy(y) - log reference(y), and the
margin m = h(chosen) - h(rejected), the loss of a pair is

| objective | loss of a pair                                                              | reference |
|-----------|-----------------------------------------------------------------------------|-----------|
| `Dpo`     | -log sigmoid(beta m)                                                        | needed    |
| `Ipo`     | (m - 1 / (2 beta))^2                                                        | needed    |
| `SimPo`   | -log sigmoid(beta m - gamma), h the mean of log policy over the words of y  | none      |

Every pair counts the same, whatever the lengths of its replies. The losses are additive over pairs: a part of a batch
must hold both sides of a pair, or it is refused. Metrics: `preference_loss`; `preference_margin`, the mean of m;
`preference_accuracy`, the share of pairs with m > 0; `entropy` of the policy.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from redqueen.objectives.additive import measured, own_words
from redqueen.types import Batch, Likelihoods, Metrics, RedQueenError


@dataclass(frozen=True)
class Dpo:
    """Direct preference optimisation (Rafailov et al. 2023, arXiv:2305.18290, equation 7)."""

    beta: float = 0.1

    def __post_init__(self) -> None:
        _check_positive(self.beta)

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        margins, weights = _margins(batch, likelihoods.logprobs - _reference(batch, "Dpo"))
        return _result(likelihoods, batch, -logsigmoid(self.beta * margins), margins, weights)


@dataclass(frozen=True)
class Ipo:
    """Identity preference optimisation: the margin is led to 1 / (2 beta) and no further, also where a preference is
    certain (Azar et al. 2023, arXiv:2310.12036, equation 17; beta is tau there)."""

    beta: float = 0.1

    def __post_init__(self) -> None:
        _check_positive(self.beta)

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        margins, weights = _margins(batch, likelihoods.logprobs - _reference(batch, "Ipo"))
        return _result(likelihoods, batch, (margins - 0.5 / self.beta).square(), margins, weights)


@dataclass(frozen=True)
class SimPo:
    """Simple preference optimisation, which needs no reference (Meng et al. 2024, arXiv:2405.14734, equation 6)."""

    beta: float = 2.0
    gamma: float = 1.0  # by how much the chosen reply should win

    def __post_init__(self) -> None:
        _check_positive(self.beta)

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        margins, weights = _margins(batch, likelihoods.logprobs, by_word=True)
        return _result(likelihoods, batch, -logsigmoid(self.beta * margins - self.gamma), margins, weights)


def _margins(batch: Batch, per_token: Tensor, by_word: bool = False) -> tuple[Tensor, Tensor]:
    """[K] each: a [B, T] quantity summed over the chosen words of a pair minus that over its rejected ones (or the
    means of both), and how much the pair counts. A pair without own words counts nothing."""
    if batch.pairs is None:
        raise RedQueenError("a preference needs pairs of replies: make the batch with pack_pairs(chosen, rejected)")
    own = own_words(batch)
    numbers, places = torch.unique(batch.pairs, return_inverse=True)
    chosen = (own & (batch.advantages > 0)).any(dim=1)
    sides = 2 * places + torch.where(chosen, 0, 1)  # [B]

    def over_sides(of_words: Tensor) -> Tensor:
        """[K, 2] sums over the own words of each side."""
        of_rows = torch.where(own, of_words, 0.0).sum(dim=1)
        return of_rows.new_zeros(2 * len(numbers)).index_add(0, sides, of_rows).view(-1, 2)

    counts = over_sides(own.to(per_token.dtype))
    assert bool(((counts > 0)[:, 0] == (counts > 0)[:, 1]).all()), "a pair is one chosen and one rejected reply"
    values = over_sides(per_token) / (counts.clamp(min=1.0) if by_word else 1.0)
    return values[:, 0] - values[:, 1], over_sides(batch.loss_weights).sum(dim=1)


def _result(
    likelihoods: Likelihoods, batch: Batch, per_pair: Tensor, margins: Tensor, weights: Tensor
) -> tuple[Tensor, Metrics]:
    loss, found = (weights * per_pair).sum(), margins.detach()
    return loss, {
        "preference_loss": float(loss.detach()),
        "preference_margin": float((weights * found).sum()),
        "preference_accuracy": float((weights * (found > 0)).sum()),
        "entropy": measured(batch, likelihoods.entropies),
    }


def _reference(batch: Batch, who: str) -> Tensor:
    if batch.reference is None:
        raise RedQueenError(f"{who} needs a reference in its batch: beside(batch, reference.likelihoods(batch))")
    return batch.reference.logprobs


def _check_positive(beta: float) -> None:
    if not beta > 0.0:
        raise RedQueenError(f"beta of a preference must be above 0, not {beta:g}")
