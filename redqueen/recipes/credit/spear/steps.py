"""SPEAR's bonus for calls of tools, and its memory of good attempts (2509.22601)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from redqueen.credit.rewards import spoken_turns
from redqueen.curricula.experience import Experience
from redqueen.objectives.mismatch import refreshed_rows
from redqueen.protocols import FINITE, Policy, State, shaped
from redqueen.schedules import cosine
from redqueen.types import Batch, Episode, Metrics, Seat, Trajectory

LATEST = 10_240  # groups whose means say what is usual
SURPLUS = 1.5  # times the capacity, from which on there is a replay
A_TASK = 64  # attempts of one task that are kept at most


@dataclass(frozen=True)
class CallBonus:
    """min(1, bonus x calls of tools) on the last turn of each seat, times a weight that falls on half a cosine from 1
    at step 0 to 0 at step `last`."""

    bonus: float
    step: int
    last: int

    @property
    def weight(self) -> float:
        return cosine(1.0, 0.0, min(self.step / self.last, 1.0))

    def __call__(self, episode: Episode) -> dict[Seat, np.ndarray]:
        paid = min(1.0, self.bonus * len(episode.outcome.facts.get("calls", ()))) * self.weight
        found = {}
        for seat, turns in spoken_turns(episode).items():
            found[seat] = np.zeros(len(turns))
            found[seat][-1:] = paid
        return found


class Memory:
    """Attempts that were better than others of their group, and the means of the latest groups, by whose median they
    are rated anew. With a `capacity` of 0 nothing is kept."""

    def __init__(self, capacity: int, tolerance: int, rise: int) -> None:
        self._capacity, self._rise = capacity, rise
        self._experience = Experience(A_TASK, tolerance)
        self._means: deque[float] = deque(maxlen=LATEST)
        self._replayed = 0

    @property
    def usual(self) -> float:
        """The median of the means of the latest groups; 0 before there are any."""
        return float(np.median(self._means)) if self._means else 0.0

    def observe(self, trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray], step: int) -> None:
        """Takes in the means of the groups of a step, and its attempts with an advantage above 0."""
        if not self._capacity:
            return
        groups: dict[int | None, list[float]] = {}
        for each in trajectories:
            groups.setdefault(each.group, []).append(float(each.rewards.sum()))
        self._means.extend(float(np.nanmean(found)) for found in groups.values() if not np.isnan(found).all())
        pairs = zip(trajectories, advantages, strict=True)
        self._experience.add([each for each, given in pairs if given.mean() > 0.0], step)

    def replay(self, step: int, rng: Random) -> tuple[list[Trajectory], list[np.ndarray]] | None:
        """Attempts to imitate in this step, with what their advantages are now; None while there are too few."""
        self._replayed = 0
        rated = [(each, float(each.rewards.sum()) - self.usual) for each in self._experience.fresh()]
        good = [(each, more) for each, more in rated if more > 0.0]
        if not self._capacity or len(good) <= SURPLUS * self._capacity:
            return None
        self._experience.clear()
        weight = cosine(0.0, 1.0, min(step / self._rise, 1.0))
        if not weight:
            return None
        chosen = rng.sample(good, largest_power_of_two(len(good)))
        self._replayed = len(chosen)
        return [each for each, _ in chosen], [np.full(len(each.turns), weight * more) for each, more in chosen]

    def metrics(self) -> Metrics:
        """Figures of the memory: the median of the group means, the attempts kept, and those replayed in the step."""
        kept = {"buffer/usual": self.usual, "buffer/kept": float(len(self._experience))}
        return {**kept, "buffer/replayed": float(self._replayed)}

    def state(self) -> State:
        return {"means": list(self._means), "experience": self._experience.state()}

    def restore(self, state: State) -> None:
        shaped(state, {"means": [FINITE], "experience": dict}, "the memory of good attempts: ")
        self._means = deque(state["means"], maxlen=LATEST)
        self._experience.restore(state["experience"])


def largest_power_of_two(count: int) -> int:
    """The largest power of two that is at most `count`."""
    return 1 << (count.bit_length() - 1)


def begun_at_one(policy: Policy, batch: Batch) -> Batch:
    """The batch with its sampled log-probabilities replaced by those of the policy now, so that all ratios begin at
    1."""
    return refreshed_rows(batch, policy.likelihoods(batch), policy.version) if len(batch) else batch
