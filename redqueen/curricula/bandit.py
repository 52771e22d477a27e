"""SEC, the self-evolving curriculum (Chen et al., 2025, arXiv:2505.14970): which category to train on, as a bandit.

An arm is a category: a kind of task, a level of difficulty. Its reward at a step is the mean |advantage| over
its rollouts, which for GRPO with scores 0 and 1 is greatest where half of the attempts succeed:

    Q(c) <- (1 - alpha) Q(c) + alpha r(c)      for the arms that were drawn; the others stay

Each slot of a batch draws an arm from softmax(Q / tau), then a task of that arm.

A small tau locks on to one arm. If advantages are divided by a deviation, |advantage| hardly depends on how far
scores differ. With all values at 0, the paper's start, an arm is found by chance only; with a start
above the highest expected reward (about 0.9) every arm is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import exp, isfinite
from random import Random
from statistics import fmean

import numpy as np

from redqueen.chance import pick
from redqueen.curricula.dealt import Sampled
from redqueen.protocols import FINITE, Curriculum, State, shaped
from redqueen.types import Episode, Metrics, RedQueenError, Task, Trajectory


class SelfEvolving:
    """A curriculum over curricula, the arms. The recipe itself calls the arms' `observe` and saves them."""

    def __init__(
        self,
        arms: Mapping[str, Curriculum],
        arm_of: Callable[[Task], str] | None = None,  # default: its kind
        step_size: float = 0.5,  # alpha in the paper
        temperature: float = 0.4,  # tau in the paper
        start: float = 0.0,  # Q before anything was seen
    ) -> None:
        if len(arms) < 2:
            raise RedQueenError(
                f"a bandit needs at least two arms, and there is {', '.join(arms) or 'none'}: take a question "
                "set with several levels to train on, such as sums (of a file name the column that holds them, "
                "--columns level=COL; of reasoning_gym several sets)"
            )
        if not 0.0 < step_size <= 1.0:
            raise RedQueenError(f"step_size must be above 0 and up to 1, not {step_size}")
        if not temperature > 0.0:
            raise RedQueenError(f"temperature must be above 0, not {temperature}")
        if not isfinite(start):
            raise RedQueenError(f"start must be a finite number, not {start}")
        self.arms = dict(arms)
        self.arm_of = arm_of or (lambda task: task.kind)
        self.step_size = step_size
        self.temperature = temperature
        self.values = dict.fromkeys(self.arms, float(start))  # Q in the paper

    def chances(self) -> dict[str, float]:
        """The probability of each arm in one slot: softmax(Q / tau)."""
        highest = max(self.values.values())
        powers = {arm: exp((value - highest) / self.temperature) for arm, value in self.values.items()}
        total = sum(powers.values())
        return {arm: power / total for arm, power in powers.items()}

    def draw(self, count: int, rng: Random) -> list[Task]:
        """One task for each of `count` slots. Raises RedQueenError if an arm gives a task of another arm."""
        chances = list(self.chances().values())
        names = list(self.arms)
        slots = [names[pick(chances, rng.random())] for _ in range(count)]
        dealt = {arm: iter(self._of_arm(arm, slots.count(arm), rng)) for arm in names if arm in slots}
        return [next(dealt[arm]) for arm in slots]

    def observe(self, episodes: Sequence[Episode]) -> None:
        """Does nothing: values follow from advantages, see `observe_advantages`."""

    def observe_advantages(self, trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray]) -> None:
        """Moves the value of every arm in the batch towards its mean |advantage|; `advantages` holds [N] for each
        trajectory, and each trajectory counts once, one without a verdict (NaN) not at all. Call it with the
        solver's trajectories, after the update."""
        sizes: dict[str, list[float]] = {}
        for trajectory, given in zip(trajectories, advantages, strict=True):
            given = given[~np.isnan(given)]
            if len(given):
                arm = self._known(self.arm_of(trajectory.episode.task), trajectory.episode.task)
                sizes.setdefault(arm, []).append(float(np.abs(given).mean()))
        for arm, of_arm in sizes.items():
            self.credit(arm, fmean(of_arm))

    def credit(self, arm: str, reward: float) -> None:
        """Q <- (1 - alpha) Q + alpha reward."""
        if arm not in self.values:
            raise RedQueenError(f"there is no arm {arm!r}: the arms are {', '.join(self.arms)}")
        if not isfinite(reward):
            raise RedQueenError(f"the reward of arm {arm!r} must be a finite number, not {reward}")
        self.values[arm] = (1.0 - self.step_size) * self.values[arm] + self.step_size * reward

    def metrics(self) -> Metrics:
        """The value and the probability of every arm."""
        values = {f"bandit/value/{arm}": value for arm, value in self.values.items()}
        return values | {f"bandit/chance/{arm}": chance for arm, chance in self.chances().items()}

    def state(self) -> State:
        return {"values": dict(self.values)}

    def restore(self, state: State) -> None:
        shaped(state, {"values": {...: FINITE}}, "the bandit: ")
        if list(state["values"]) != list(self.arms):
            raise RedQueenError(
                f"the state is of a bandit with the arms {', '.join(state['values'])}, not {', '.join(self.arms)}"
            )
        self.values = dict(state["values"])

    def _of_arm(self, arm: str, count: int, rng: Random) -> list[Task]:
        tasks = self.arms[arm].draw(count, rng)
        if len(tasks) != count:
            raise RedQueenError(f"the arm {arm!r} gave {len(tasks)} tasks where {count} were asked for")
        for task in tasks:
            if self._known(self.arm_of(task), task) != arm:
                raise RedQueenError(f"the arm {arm!r} gave task {task.id!r}, which belongs to {self.arm_of(task)!r}")
        return tasks

    def _known(self, arm: str, task: Task) -> str:
        if arm not in self.arms:
            raise RedQueenError(
                f"task {task.id!r} belongs to {arm!r}, which is no arm: they are {', '.join(self.arms)}"
            )
        return arm


def dealt_by(tasks: Sequence[Task], arm_of: Callable[[Task], str]) -> dict[str, Sampled]:
    """One arm for each category, in order of appearance, that draws the category's tasks by weight."""
    by_arm: dict[str, list[Task]] = {}
    for task in tasks:
        by_arm.setdefault(arm_of(task), []).append(task)
    return {arm: Sampled(of_arm) for arm, of_arm in by_arm.items()}
