"""What every update of a language model does, wherever its weights are: rows left out, and the sampler watched."""

from __future__ import annotations

from redqueen.credit.filters import rows_with_advantage
from redqueen.objectives.additive import counted, own_words, silent_without_advantage
from redqueen.objectives.batch import take
from redqueen.protocols import Objective
from redqueen.types import Batch, Likelihoods, Metrics


def with_signal(batch: Batch, objective: Objective) -> tuple[Batch, float, Metrics]:
    """The rows that the objective speaks about, the sum of the loss weights by which its sums over words become means
    (`additive.counted`), and how many were left out, where any could be."""
    kept, dropped = batch, dict[str, float]()
    if silent_without_advantage(objective):
        kept = take(batch, rows_with_advantage(batch))
        dropped = {"rows_without_signal": float(len(batch) - len(kept))}
    return kept, counted(objective, kept) or 1.0, dropped  # of no word at all there is no mean


class Mismatch:
    """How far the sampler's log-probabilities lie from the trainer's, for words said with the present weights."""

    def __init__(self) -> None:
        self._sum, self._count, self._highest = 0.0, 0, 0.0

    def observe(self, likelihoods: Likelihoods, batch: Batch, version: int) -> None:
        fresh = own_words(batch) & (batch.versions == version) & ~batch.recited
        apart = (likelihoods.logprobs.detach() - batch.sampled_logprobs)[fresh].abs()
        if len(apart):
            self._sum += float(apart.sum())
            self._count += len(apart)
            self._highest = max(self._highest, float(apart.max()))

    def metrics(self) -> Metrics:
        if not self._count:
            return {}
        return {"sampler_mismatch_mean": self._sum / self._count, "sampler_mismatch_max": self._highest}
