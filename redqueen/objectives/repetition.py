"""Repetition: words that were said before become less likely where they are said again.

With p the policy's probability of a word of its own, the loss of a word is

| objective             | loss of a word                    | for which words                     | paper            |
|-----------------------|-----------------------------------|-------------------------------------|------------------|
| `Unlikelihood`        | -log(1 - p)                       | of a run of n that was said before  | arXiv:1908.04319 |
| `PseudoRepetition`    | -log(1 - abs(p - decay p'))       | of the second copy and all later    | arXiv:2206.02369 |

p' is the probability of the same token in the copy before; no gradient goes through it. The first rows are made by
`repeats_marked`, from what the policy said; the others by `demonstrations.loops`, which repeats a sentence.
Supervised words (`Imitation`) belong in batches of their own between them, as both papers have it.

Both losses grow without bound where a repeat is certain. From 1 - p = 1e-5 on they go on as straight lines, so that the
loss is finite and still pulls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from redqueen.objectives.additive import measured, own_words, weighted_sum
from redqueen.types import Batch, Likelihoods, Metrics, RedQueenError

NEAREST = 1e-5  # to certainty


@dataclass(frozen=True)
class Unlikelihood:
    """Sequence-level unlikelihood (Welleck et al. 2019): see the module. A word that is to become less
    likely has an advantage below 0, which says by how much it counts; all others have no loss.

    Metrics: `unlikelihood_loss`; `repeated_share`, the weight of the words that are repeats; `entropy`.
    """

    weight: float = 1.0  # alpha
    silent_without_advantage = True

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        repeated = own_words(batch) & (batch.advantages < 0)
        chances = torch.where(repeated, likelihoods.logprobs, -torch.inf).exp()
        loss = weighted_sum(batch, _away_from_one(chances) * batch.advantages.clamp(max=0.0).abs())
        return self.weight * loss, {
            "unlikelihood_loss": float(loss.detach()),
            "repeated_share": measured(batch, repeated.to(likelihoods.logprobs.dtype)),
            "entropy": measured(batch, likelihoods.entropies),
        }


@dataclass(frozen=True)
class PseudoRepetition:
    """DITTO (Xu et al. 2022): see the module. A token of a later copy has an advantage of -d, where the same token
    of the copy before stands d places back (`demonstrations.loops`); those of the first copy have 0 and no loss, but
    their share of the weights.

    Metrics: `repetition_loss`; `repeat_gain`, the mean of p - p' over repeats, above 0 where repeats reinforce
    themselves, times the share that repeats have of the weights; `entropy`.
    """

    decay: float = 0.5  # lambda: what is left of a word's probability with each copy

    silent_without_advantage = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.decay <= 1.0:
            raise RedQueenError(f"the decay of a repeat's probability lies from 0 to 1, not at {self.decay:g}")

    def __call__(self, likelihoods: Likelihoods, batch: Batch) -> tuple[Tensor, Metrics]:
        own = own_words(batch)
        back = torch.where(own, -batch.advantages, 0.0).round().long()  # [B, T] places to the copy before
        repeated = back > 0
        places = torch.arange(back.shape[1], device=back.device) - back
        assert bool((places >= 0).all()) and bool(own.gather(1, places)[repeated].all()), (
            "the copy before a repeat must be own words of the same row: make the rows with demonstrations.loops"
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
    """-log(1 - v), from `NEAREST` below 1 on as the straight line that goes on from there."""
    near = values.clamp(max=1.0 - NEAREST)
    return -torch.log1p(-near) + (values - near) / NEAREST


def repeats_marked(batch: Batch, run: int = 4) -> Batch:
    """The batch with an advantage of -1 for every own word that stands in a run of so many own words which stood in its
    row before, and 0 for all others: what the policy said itself, for `Unlikelihood`."""
    if run < 1:
        raise RedQueenError(f"a run has at least one word, not {run}")
    own = own_words(batch)
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
