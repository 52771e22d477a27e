"""A player between two policies: the geometric mixture, Nash-MD's opponent (Munos et al. 2023, arXiv:2312.00886).

pi_mix(y | x) in proportion to  pi(y | x)^(1 - b)  mu(y | x)^b
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from redqueen.chance import derive, pick, uniform
from redqueen.objectives.batch import one_turn, pack
from redqueen.protocols import Policy
from redqueen.types import Ask, RedQueenError, Reply


class Mixture:
    """`share` is b: 0 is the policy, 1 the reference.

    Where replies are listed and can be read, their probabilities are multiplied and renormalised: the mixture is exact.
    In free text `candidates` replies of the policy are sampled, and one of them is drawn in proportion to (mu / pi)^b
    of the whole reply. This tends to the mixture over whole replies as `candidates` grows; with one candidate it is the
    policy itself. (A token-by-token mixture, as the paper implements it, is another distribution.)
    """

    def __init__(self, policy: Policy, reference: Policy, share: float, candidates: int = 8) -> None:
        if not 0.0 <= share <= 1.0:
            raise RedQueenError(f"the share of the reference in a mixture lies from 0 to 1, not at {share:g}")
        if candidates < 1:
            raise RedQueenError(f"a mixture chooses among at least one candidate, not {candidates}")
        self._policy = policy
        self._reference = reference
        self._share = share
        self._candidates = candidates

    @property
    def name(self) -> str:
        return "mixture"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        listed = [bool(ask.choices) and self._policy.open and self._reference.open for ask in asks]
        exact = iter(self._choose([ask for ask, read in zip(asks, listed, strict=True) if read]))
        free = iter(self._resample([ask for ask, read in zip(asks, listed, strict=True) if not read]))
        return [next(exact if read else free) for read in listed]

    def probabilities(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        """[K] for each ask, the exact probabilities of the mixture where replies are listed."""
        pairs = zip(self._policy.probabilities(asks), self._reference.probabilities(asks), strict=True)
        powers = [one ** (1.0 - self._share) * other**self._share for one, other in pairs]
        return [power / power.sum() for power in powers]

    def _choose(self, asks: Sequence[Ask]) -> list[Reply]:
        chances = self.probabilities(asks) if asks else []
        return [
            Reply(ask.choices[pick(row.tolist(), uniform(ask.seed))], self.name, self._policy.version)
            for ask, row in zip(asks, chances, strict=True)
        ]

    def _resample(self, asks: Sequence[Ask]) -> list[Reply]:
        copies = [
            replace(ask, seed=derive(ask.seed, "candidate", number))
            for ask in asks
            for number in range(self._candidates)
        ]
        written = self._policy.reply(copies) if asks else []
        ratios = self._share * self._log_ratios(copies, written)  # [asks x candidates]
        chosen = []
        for number, ask in enumerate(asks):
            place = slice(number * self._candidates, (number + 1) * self._candidates)
            weights = np.exp(ratios[place] - ratios[place].max())
            best = pick((weights / weights.sum()).tolist(), uniform(ask.seed, 1))
            chosen.append(replace(written[place][best], player=self.name))
        return chosen

    def _log_ratios(self, asks: Sequence[Ask], replies: Sequence[Reply]) -> np.ndarray:
        """[n] log mu - log pi of whole replies, both computed by `likelihoods`."""
        if not replies:
            return np.zeros(0)
        batch = pack(
            [one_turn(ask, reply) for ask, reply in zip(asks, replies, strict=True)], [np.ones(1)] * len(replies)
        )
        assert len(batch) == len(replies), "a reply in free text has a token that was sampled"
        gaps = self._reference.likelihoods(batch).logprobs - self._policy.likelihoods(batch).logprobs
        return np.asarray((gaps * (batch.loss_weights != 0)).sum(dim=1).double().numpy())
