"""A memory of a policy's own trajectories, from which groups are repaired whose attempts were all alike.

experience = Experience(most=4, age=200)
again = replays(trajectories, experience, by_group, paid_or_score)     # one with another result for each even group
experience.add(trajectories, step)
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np

from redqueen.credit.filters import paid_or_score
from redqueen.protocols import COUNT, FINITE, Key, Row, State, shaped
from redqueen.records import EPISODE, episode_from_json, episode_to_json
from redqueen.types import RedQueenError, Seat, Trajectory

MOST_KEPT = 4096  # trajectories of all tasks: a few hundred megabytes of long replies


@dataclass(frozen=True)
class Kept:
    """A trajectory, and the step at which it was played."""

    trajectory: Trajectory
    step: int


class Experience:
    """The `most` latest trajectories of each task and role that were paid more than 0, and as many of the others, so
    that the many do not push out the few; those older than `age` steps are left out. Raises RedQueenError for room for
    none, or for more of one task than the whole may hold."""

    def __init__(self, most: int = 4, age: int = 200) -> None:
        if not 1 <= most <= MOST_KEPT or age < 1:
            raise RedQueenError(
                f"an experience holds 1 to {MOST_KEPT} trajectories of a task, for 1 step or more, not {most} for {age}"
            )
        self._most, self._age = most, age
        self._step = 0
        self.next_step = 0  # the one after the last that was kept, also after a run was resumed
        self._kept: dict[Hashable, deque[Kept]] = {}  # in the order in which the tasks were last met

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))

    def add(self, trajectories: Sequence[Trajectory], step: int) -> None:
        """Keeps the trajectories of a step; those without a verdict are not kept."""
        self._step, self.next_step = step, step + 1
        for each in trajectories:
            if not np.isnan(each.rewards).any():
                name = (_task(each), _paid(each))
                alike = self._kept.pop(name, deque(maxlen=self._most))
                alike.append(Kept(each, step))
                self._kept[name] = alike
        while len(self) > MOST_KEPT:
            self._kept.pop(next(iter(self._kept)))

    def latest(self, like: Trajectory, wanted: Callable[[Trajectory], bool]) -> Trajectory | None:
        """The latest trajectory at the task and in the role of `like` that is `wanted`; None if there is none."""
        held = [each for paid in (True, False) for each in self._kept.get((_task(like), paid), ())]
        fresh = [each for each in held if self._step - each.step < self._age and wanted(each.trajectory)]
        return max(fresh, key=lambda each: each.step).trajectory if fresh else None

    def fresh(self) -> list[Trajectory]:
        """All that are held and not too old, task by task."""
        held = (each for alike in self._kept.values() for each in alike)
        return [each.trajectory for each in held if self._step - each.step < self._age]

    def clear(self) -> None:
        """Forgets all that is held."""
        self._kept = {}

    def state(self) -> State:
        return {
            "step": self._step,
            "kept": [
                [{"step": each.step, **trajectory_to_json(each.trajectory)} for each in alike]
                for alike in self._kept.values()
            ],
        }

    def restore(self, state: State) -> None:
        shaped(state, {"step": COUNT, "kept": [[_KEPT]]}, "the experience: ")
        self._step, self.next_step, self._kept = state["step"], state["step"] + 1, {}
        for alike in state["kept"]:
            kept = [Kept(trajectory_from_json(each), each["step"]) for each in alike]
            first = kept[0].trajectory
            self._kept[(_task(first), _paid(first))] = deque(kept, maxlen=self._most)


def replays(
    trajectories: Sequence[Trajectory],
    experience: Experience,
    key: Key,
    measure: Callable[[Trajectory], float],
) -> list[Trajectory]:
    """For each group of at least two trajectories whose measures are all the same, the latest one at its task with
    another measure, as a further attempt of the group (CCR of R3, arXiv:2601.19620); none where none is kept, nor for a
    group of several tasks."""
    groups: dict[Hashable, list[Trajectory]] = defaultdict(list)
    for each in trajectories:
        if not isnan(measure(each)):
            groups[key(each, 0)].append(each)
    found = []
    for group in groups.values():
        values = set(map(measure, group))
        if len(values) == 1 and len(group) > 1 and len(set(map(_task, group))) == 1:
            other = experience.latest(group[0], lambda kept, values=values: measure(kept) not in values)  # type: ignore[misc]
            found += [replace(other, group=group[0].group)] if other is not None else []
    return found


def informative(trajectories: Sequence[Trajectory], key: Key, measure: Callable[[Trajectory], float]) -> float:
    """The number of groups over the number of those with a spread (G / G_good of RAPO, arXiv:2509.24107), at least 1;
    1 where no group has one."""
    groups: dict[Hashable, set[float]] = defaultdict(set)
    for each in trajectories:
        if not isnan(measure(each)):
            groups[key(each, 0)].add(measure(each))
    spread = sum(len(values) > 1 for values in groups.values())
    return len(groups) / spread if spread else 1.0


def _task(trajectory: Trajectory) -> Hashable:
    episode = trajectory.episode
    return (episode.game, episode.task.kind, episode.task.id, trajectory.seat.role)


def _paid(trajectory: Trajectory) -> bool:
    """Whether it was right or won, whatever else it was paid; of what has no result of its own, whether it was paid."""
    return paid_or_score(trajectory) > 0.0


TRAJECTORY = {"episode": EPISODE, "seat": Row(str, COUNT), "rewards": [FINITE], "parts": {...: [FINITE]}}
"""What `trajectory_to_json` writes."""
_KEPT = {"step": COUNT, **TRAJECTORY}


def trajectory_to_json(trajectory: Trajectory) -> dict[str, object]:
    """The trajectory without the number of its group, as JSON."""
    return {
        "episode": episode_to_json(trajectory.episode),
        "seat": [trajectory.seat.role, trajectory.seat.number],
        "rewards": trajectory.rewards.tolist(),
        "parts": {name: part.tolist() for name, part in trajectory.parts.items()},
    }


def trajectory_from_json(data: State) -> Trajectory:
    """The trajectory that `trajectory_to_json` wrote."""
    episode, seat = episode_from_json(data["episode"]), Seat(*data["seat"])
    turns = tuple(turn for turn in episode.turns if turn.ask.seat == seat)
    parts = {name: np.array(part) for name, part in data["parts"].items()}
    return Trajectory(episode, seat, turns, np.array(data["rewards"]), parts)
