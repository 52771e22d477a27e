"""Whether a policy rates good replies above bad ones that it was not trained on."""

from __future__ import annotations

from random import Random

import numpy as np

from redqueen.credit.rewards import payoff, score
from redqueen.curricula.held_out import HELD_OUT
from redqueen.objectives.additive import own_tokens
from redqueen.objectives.batch import beside, pack_samples
from redqueen.objectives.references import Reference
from redqueen.play.lockstep import play
from redqueen.protocols import Policy, State
from redqueen.questions.dataset import Labelling, said_by
from redqueen.types import Mean, Metrics


class HeldOutLabels:
    """Of up to `count` held-out replies that are called good or bad, by h = log policy - log reference:
    `held_out/preference_accuracy`, the share of pairs of a good and a bad one in which h of the good one is larger
    (equal ones count a half: the area under the ROC curve); `held_out/chosen_ratio`, `held_out/rejected_ratio` and
    `held_out/preference_margin`, the means of h of either kind and their difference. Nothing where one kind is
    missing."""

    def __init__(self, questions: Labelling, learner: Policy, reference: Reference, count: int, seed: int = 0) -> None:
        rng = Random(seed)
        rows = questions.labelled_replies(HELD_OUT, count, rng) if HELD_OUT in questions.levels else []
        said = score(play(said_by(learner, [(each.task, each.text) for each in rows]), rng), payoff)
        self._learner = learner
        self._reference = reference
        self._good = np.array([each.good for each in rows], dtype=bool)
        self._batch = pack_samples(said, [1.0 if good else -1.0 for good in self._good])

    def __call__(self) -> Metrics:
        if self._good.all() or not self._good.any():
            return {}
        if self._batch.reference is None:
            self._batch = beside(self._batch, self._reference.likelihoods(self._batch))
        reference = self._batch.reference
        assert reference is not None, "rated above"
        gaps = self._learner.likelihoods(self._batch).logprobs - reference.logprobs
        ratios = gaps.where(own_tokens(self._batch), gaps.new_zeros(())).sum(dim=1).double().numpy()
        good, bad = ratios[self._good], ratios[~self._good]
        return {
            "held_out/preference_accuracy": Mean(told_apart(good, bad), len(ratios)),
            "held_out/preference_margin": Mean(float(good.mean() - bad.mean()), len(ratios)),
            "held_out/chosen_ratio": Mean(float(good.mean()), len(good)),
            "held_out/rejected_ratio": Mean(float(bad.mean()), len(bad)),
        }

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


def told_apart(good: np.ndarray, bad: np.ndarray) -> float:
    """The share of pairs of one of `good` [n] and one of `bad` [m] in which the good one is larger; equals count a
    half."""
    gaps = good[:, None] - bad[None]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean())
