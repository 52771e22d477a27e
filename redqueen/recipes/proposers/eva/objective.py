"""The inner algorithms of eva: what each estimates, which responses it packs, and its loss (2411.00062)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from redqueen.credit.advantages.statistics import LeaveOneOut
from redqueen.credit.pairs import best_and_worst
from redqueen.objectives import batch
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.objectives.preference import Dpo
from redqueen.protocols import AdvantageEstimator, Objective, Policy
from redqueen.types import Batch, Trajectory

Pack = Callable[[Sequence[Trajectory], Sequence[np.ndarray], Policy], Batch]
"""Returns a batch of trajectories and their advantages; the policy is the reference, where the loss has one."""


class Inner(NamedTuple):
    """An inner algorithm."""

    estimate: AdvantageEstimator
    pack: Pack
    objective: Objective


def inner_algorithm(name: Literal["dpo", "rloo"], beta: float) -> Inner:
    """DPO at this `beta`, which learns from the best and the worst response to each prompt, or RLOO, which learns from
    all of them."""
    if name == "dpo":
        return Inner(_of_pairs, _best_and_worst, Dpo(beta))
    return Inner(LeaveOneOut(), _all, ClippedRatio())


def _of_pairs(trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
    """[N] for each: 1 for the best of a prompt, -1 for the worst, 0 for those that DPO does not learn from."""
    return best_and_worst(trajectories).advantages(trajectories)


def _best_and_worst(trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray], reference: Policy) -> Batch:
    best, worst = best_and_worst(trajectories)
    pairs = batch.pack_pairs(best, worst)
    return batch.beside(pairs, reference.likelihoods(pairs))


def _all(trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray], reference: Policy) -> Batch:
    return batch.pack(trajectories, advantages)
