"""What every update of a language model does, on any backend: rows left out, and the sampler's mismatch measured."""

from __future__ import annotations

from redqueen.credit.filters import rows_with_advantage
from redqueen.objectives.additive import counted, own_tokens, silent_without_advantage
from redqueen.objectives.batch import take
from redqueen.protocols import Objective
from redqueen.types import Batch, Likelihoods, Metrics


def with_signal(batch: Batch, objective: Objective) -> tuple[Batch, float, Metrics]:
    """The rows that the objective needs, the sum of loss weights by which its sums over tokens become means
    (`additive.counted`), and the number of rows left out, if any could be."""
    kept, dropped = batch, dict[str, float]()
    if silent_without_advantage(objective):
        kept = take(batch, rows_with_advantage(batch))
        dropped = {"rows_without_signal": float(len(batch) - len(kept))}
    return kept, counted(objective, kept) or 1.0, dropped  # without any token there is no mean


class Mismatch:
    """Distance of the sampler's log-probabilities from the trainer's, over tokens sampled with the current weights."""

    def __init__(self) -> None:
        self._sum, self._count, self._highest = 0.0, 0, 0.0

    def observe(self, likelihoods: Likelihoods, batch: Batch, version: int) -> None:
        fresh = own_tokens(batch) & (batch.versions == version) & ~batch.recited
        apart = (likelihoods.logprobs.detach() - batch.sampled_logprobs)[fresh].abs()
        if len(apart):
            self._sum += float(apart.sum())
            self._count += len(apart)
            self._highest = max(self._highest, float(apart.max()))

    def metrics(self) -> Metrics:
        if not self._count:
            return {}
        return {"sampler_mismatch_mean": self._sum / self._count, "sampler_mismatch_max": self._highest}
