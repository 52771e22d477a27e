"""Repetition losses: repeated tokens become less likely.

With p the policy's probability of an own token, the loss of a token is

| objective             | loss of a token                   | for which tokens                    | paper            |
|-----------------------|-----------------------------------|-------------------------------------|------------------|
| `Unlikelihood`        | -log(1 - p)                       | of a run of n that was said before  | arXiv:1908.04319 |
| `PseudoRepetition`    | -log(1 - abs(p - decay p'))       | of the second copy and all later    | arXiv:2206.02369 |

p' is the probability of the same token in the copy before; no gradient goes through it. The first rows are made by
`repeats_marked`, from the policy's own replies; the others by `demonstrations.loops`, which repeats a sentence.
Supervised tokens (`Imitation`) belong in batches of their own between them, as both papers have it.

Both losses grow without bound as a repeat becomes certain. Below 1 - p = 1e-5 they continue as straight lines, so that
the loss is finite and keeps a gradient.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from redqueen.objectives.additive import measured, own_tokens, weighted_sum
from redqueen.types import Batch, Likelihoods, Metrics, RedQueenError

NEAREST = 1e-5  # to certainty


@dataclass(frozen=True)
class Unlikelihood:
    """Sequence-level unlikelihood (Welleck et al. 2019): formula in the module's table. A token that is to become less
    likely has an advantage below 0, whose size is its weight; all others have no loss.

    Metrics: `unlikelihood_loss`; `repeated_share`, the weight of the tokens that are repeats; `entropy`.
    """

    weight: float = 1.0  # alpha
    silent_without_advantage = True

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        repeated = own_tokens(batch) & (batch.advantages < 0)
        chances = torch.where(repeated, likelihoods.logprobs, -torch.inf).exp()
        loss = weighted_sum(batch, _away_from_one(chances) * batch.advantages.clamp(max=0.0).abs())
        return self.weight * loss, {
            "unlikelihood_loss": float(loss.detach()),
            "repeated_share": measured(batch, repeated.to(likelihoods.logprobs.dtype)),
            "entropy": measured(batch, likelihoods.entropies),
        }


@dataclass(frozen=True)
class PseudoRepetition:
    """DITTO (Xu et al. 2022): formula in the module's table. A token of a later copy has an advantage of -d if the
    same token of the copy before stands d places back (`demonstrations.loops`); tokens of the first copy have
    advantage 0 and no loss, but keep their share of the weights.

    Metrics: `repetition_loss`; `repeat_gain`, the mean of p - p' over repeats, above 0 where repeats reinforce
    themselves, times the share that repeats have of the weights; `entropy`.
    """

    decay: float = 0.5  # lambda: what is left of a token's probability with each copy

    silent_without_advantage = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.decay <= 1.0:
            raise RedQueenError(f"the decay of a repeat's probability lies from 0 to 1, not at {self.decay:g}")

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        own = own_tokens(batch)
        back = torch.where(own, -batch.advantages, 0.0).round().long()  # [B, T] places to the copy before
        repeated = back > 0
        places = torch.arange(back.shape[1], device=back.device) - back
        assert bool((places >= 0).all()) and bool(own.gather(1, places)[repeated].all()), (
            "the copy before a repeat must be own tokens of the same row: make the rows with demonstrations.loops"
        )
        chances = torch.where(own, likelihoods.logprobs, -torch.inf).exp()
        before = chances.detach().gather(1, places)
        per_token = torch.where(repeated, _away_from_one((chances - self.decay * before).abs()), 0.0)
        loss = weighted_sum(batch, per_token)
        return loss, {
            "repetition_loss": float(loss.detach()),
            "repeat_gain": measured(batch, torch.where(repeated, chances - before, 0.0)),
            "entropy": measured(batch, likelihoods.entropies),
        }


def _away_from_one(values: Tensor) -> Tensor:
    """-log(1 - v), continued as a straight line from `NEAREST` below 1."""
    near = values.clamp(max=1.0 - NEAREST)
    return -torch.log1p(-near) + (values - near) / NEAREST


def repeats_marked(batch: Batch, run: int = 4) -> Batch:
    """The batch with an advantage of -1 for every own token in a run of `run` own tokens that occurred earlier in its
    row, and 0 for all others: for `Unlikelihood`. Raises RedQueenError for a `run` below 1."""
    if run < 1:
        raise RedQueenError(f"a run has at least one token, not {run}")
    own = own_tokens(batch)
    marks = torch.zeros_like(batch.advantages)
    for row in range(len(batch)):
        places = own[row].nonzero()[:, 0]
        words = batch.tokens[row, places].tolist()
        seen: set[tuple[int, ...]] = set()
        for start in range(len(words) - run + 1):
            gram = tuple(words[start : start + run])
            if gram in seen:
                marks[row, places[start : start + run]] = -1.0
            seen.add(gram)
    return replace(batch, advantages=marks)
