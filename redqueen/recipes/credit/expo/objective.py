"""The inner algorithms of ExPO: what each estimates and packs, and its loss (2507.02834)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.pairs import Pairs, against
from redqueen.objectives import batch
from redqueen.objectives.demonstrations import BesideDemonstrations, in_parts
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.objectives.preference import Dpo
from redqueen.protocols import Objective, Policy
from redqueen.types import Batch, Trajectory

Shown = Sequence[Trajectory]
Estimate = Callable[[Sequence[Trajectory], Shown], list[np.ndarray]]
"""[N] for each attempt: its credit in the loss, given what was shown of their groups."""
Pack = Callable[[Sequence[Trajectory], Sequence[np.ndarray], Shown, float], Batch]
"""The batch of attempts, their credit and what was shown, which counts by a coefficient."""


class Inner(NamedTuple):
    """An inner algorithm."""

    estimate: Estimate
    pack: Pack
    objective: Objective


def inner_algorithm(name: Literal["grpo", "dpo"], beta: float, start: Policy) -> Inner:
    """GRPO with imitation of what is shown, or DPO at this `beta`, with the `start` as reference."""
    if name == "dpo":
        return Inner(_of_pairs, lambda own, credit, shown, share: _paired(own, shown, start), Dpo(beta))
    return Inner(lambda own, shown: GroupRelative()(own), _beside, BesideDemonstrations(ClippedRatio()))


def pairs(own: Sequence[Trajectory], shown: Shown) -> Pairs:
    """What is shown of each group as chosen, and the first wrong attempt of the group as rejected."""
    wrong: dict[int | None, Trajectory] = {}
    for each in own:
        if each.rewards[-1] == 0.0:
            wrong.setdefault(each.group, each)
    told = [each for each in shown if each.group in wrong]
    return against(told, [wrong[each.group] for each in told])


def _of_pairs(own: Sequence[Trajectory], shown: Shown) -> list[np.ndarray]:
    return pairs(own, shown).advantages(own)


def _paired(own: Sequence[Trajectory], shown: Shown, start: Policy) -> Batch:
    found = batch.pack_pairs(*pairs(own, shown))
    return batch.beside(found, start.likelihoods(found))


def _beside(own: Sequence[Trajectory], credit: Sequence[np.ndarray], shown: Shown, share: float) -> Batch:
    ones = [np.ones(len(each.turns)) for each in shown]
    mixed = batch.pack([*own, *shown], [*credit, *ones])
    return in_parts(mixed, batch.EachRow(batch.token_mean), share)
