"""ReMix's window of groups that the last policies played, and the two policies to which it is pulled (2507.06892)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np

from redqueen.curricula.experience import TRAJECTORY, trajectory_from_json, trajectory_to_json
from redqueen.objectives.references import Reference, of_mixture
from redqueen.protocols import Policy, State, shaped
from redqueen.types import Batch, Likelihoods, Trajectory

ALONE = 50  # steps that the base pulls alone
EACH = 10  # steps, after which it pulls a tenth less


class Window:
    """The groups of the last `steps` steps."""

    def __init__(self, steps: int) -> None:
        self._steps = deque[list[list[Trajectory]]](maxlen=steps)

    def observe(self, trajectories: Sequence[Trajectory]) -> None:
        """Takes in the groups of a step, without attempts that have no verdict, and lets go of those of the oldest."""
        groups: dict[int | None, list[Trajectory]] = {}
        for each in trajectories:
            if not np.isnan(each.rewards).any():
                groups.setdefault(each.group, []).append(each)
        self._steps.append(list(groups.values()))

    def draw(self, count: int, rng: Random) -> list[list[Trajectory]]:
        """`count` different groups, each as likely as any other; all of them where there are fewer."""
        held = [group for groups in self._steps for group in groups]
        return rng.sample(held, min(count, len(held)))

    def state(self) -> State:
        return {"steps": [[[trajectory_to_json(each) for each in group] for group in groups] for groups in self._steps]}

    def restore(self, state: State) -> None:
        shaped(state, {"steps": [[[TRAJECTORY]]]}, "the window of older groups: ")
        for groups in state["steps"]:
            self._steps.append([[trajectory_from_json(each) for each in group] for group in groups])


def apart(groups: Sequence[Sequence[Trajectory]], first: int) -> list[Trajectory]:
    """The trajectories of the groups, which are numbered from `first` on."""
    return [replace(each, group=number) for number, group in enumerate(groups, first) for each in group]


class Anchor:
    """KL-Convex as one reference: the mixture of a base and of the `learner` as its last step began, in the shares
    lambda and 1 - lambda, lambda at least `least`. The base is the start, until a rebirth."""

    def __init__(self, learner: Policy, least: float) -> None:
        self._least = least
        self._base, self._begun = Reference(learner), Reference(learner)
        self._before = self._begun.policy
        self.share = 1.0  # lambda

    def begin(self, step: int, rebirth: bool = False) -> None:
        """A step begins; with a `rebirth` the learner is the base from now on."""
        self._before = self._begun.policy
        self._begun.refresh()
        if rebirth:
            self._base.refresh()
        self.share = max(1.0 - 0.1 * -(-max(step - ALONE, 0) // EACH), self._least)

    def likelihoods(self, batch: Batch) -> Likelihoods:
        """Those of the mixture."""
        return of_mixture(self._base.likelihoods(batch), self._before.likelihoods(batch), self.share)

    def state(self) -> State:
        return {"base": self._base.state(), "begun": self._begun.state()}

    def restore(self, state: State) -> None:
        shaped(state, {"base": dict, "begun": dict}, "the two policies of the pull: ")
        self._base.restore(state["base"])
        self._begun.restore(state["begun"])
