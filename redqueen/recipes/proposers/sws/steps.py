"""What SwS finds weak, what it asks for, and the problems that it learns from (2506.08989)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from redqueen.credit.group_rewards import correct
from redqueen.curricula.epochs import Epochs
from redqueen.curricula.held_out import apart_from
from redqueen.curricula.store import TaskStore
from redqueen.curricula.weaknesses import LearningCurve, LearningCurves, is_weak, weak_counts
from redqueen.measures.alarms import Alarm, Alarms
from redqueen.play.groups import episodes_of
from redqueen.protocols import Proposable, State, shaped
from redqueen.questions.asking import graded
from redqueen.questions.labels import held_to_label
from redqueen.questions.synthesis import aimed, aimed_at, within
from redqueen.questions.verdicts import Truncated
from redqueen.types import Group, Metrics, Task

NOTHING_WEAK = Alarm(
    "nothing_weak", "weak", "no problem is weak, so that no new one is made: {why}", limit=1.0, below=True
)


@dataclass(frozen=True)
class Aim:
    """Which problems count as weak: those whose accuracy never reached one half and rose less than `slope` an epoch.
    With `even`, for comparisons, all problems count, and these categories get equal shares."""

    slope: float
    even: tuple[str, ...] = ()

    def at(self, curve: LearningCurve) -> bool:
        """Whether new problems are made like the one with this learning curve."""
        return bool(self.even) or is_weak(curve, below=self.slope)

    def shares(self, curves: Sequence[LearningCurve]) -> dict[str, int]:
        """The number of weak problems of each category; new problems are shared out in proportion."""
        return dict.fromkeys(self.even, 1) or weak_counts(curves, self.at)


class Lessons:
    """A data set that is drawn in epochs, with the learning curve of each problem, and the new problems made from
    it."""

    reward = correct

    def __init__(self, questions: Proposable, problems: Sequence[Task], aim: Aim, seed: int) -> None:
        self._questions = questions
        self._aim = aim
        self._data = Epochs(problems, seed)
        self._curves = LearningCurves()
        self._new = TaskStore()
        self._weak = Alarms([NOTHING_WEAK], quiet=True)

    def plan(self, config: Any) -> str:
        """The three stages of a run in words, and a warning for a stage that the settings leave without effect."""
        epochs = config.preliminary * config.tasks / len(self._data.tasks)
        told = [
            f"steps 1 to {config.preliminary}: the {len(self._data.tasks)} problems of the data set, {epochs:.3g} "
            "epochs" + ("" if epochs >= 2.0 else "; a learning curve needs two, or no problem is found weak"),
            f"{config.synthesis} steps: new problems like the weak ones",
            "the steps after that: both",
        ]
        if config.steps <= config.preliminary:
            told[1:] = [f"the run ends there: new problems need more --steps than {config.preliminary}"]
        return "\n".join(told)

    def invited(self, count: int, part: int, parts: int, rng: Random) -> list[Task]:
        """`count` invitations: every `parts`-th of `count * parts` that are shared out over the categories, from number
        `part` on; each shows a random weak problem."""
        curves = self._curves.curves()
        aims = aimed(self._aim.shares(curves), count * parts)[part::parts]
        lacking = {curve.task_id for curve in curves if self._aim.at(curve)}
        return aimed_at(self._questions, aims, [task for task in self._data.tasks if task.id in lacking], rng)

    def kept(self, tries: Sequence[Group], middling: tuple[float, float]) -> list[Task]:
        """The new problems of middling accuracy, both ends included, that are not in the data set."""
        return apart_from({"data": self._data.tasks}, within(tries, *middling))

    def add(self, tasks: Sequence[Task], origin: str, step: int) -> None:
        """Adds new problems."""
        self._new.add(tasks, origin=origin, step=step)

    def draw(self, count: int, share: float, rng: Random) -> list[Task]:
        """`count` problems: the share `share` of them new, as soon as there are any, the others of the data set."""
        new = round(share * count) if len(self._new) else 0
        return (self._new.draw(new, rng) if new else []) + self._data.draw(count - new, rng)

    def graded(self, tries: Sequence[Group], truncated: Truncated = "wrong") -> list[Group]:
        """The groups with a verdict on each attempt: by its label on a new problem, by the question set on others;
        `truncated` says what one that was cut off gets."""
        known = {task.id for task in self._data.tasks}
        own = [group.task.id in known for group in tries]
        by_label = iter(held_to_label([group for group, known in zip(tries, own, strict=True) if not known], truncated))
        by_set = iter(
            graded(self._questions, [group for group, known in zip(tries, own, strict=True) if known], truncated)
        )
        return [next(by_set if known else by_label) for known in own]

    def observe(self, tries: Sequence[Group]) -> None:
        """Records graded attempts at problems of the data set as they were drawn, each in its epoch: a step may begin
        several."""
        size = len(self._data.tasks)
        first = self._data.ended * size + self._data.begun - len(tries)
        for place, group in enumerate(tries, first):
            self._end_epochs(place // size)
            self._curves.observe(episodes_of([group]))
        self._end_epochs(self._data.ended)

    def _end_epochs(self, epoch: int) -> None:
        while self._curves.epoch < epoch:
            self._curves.end_epoch()

    def metrics(self) -> Metrics:
        """`weak/CATEGORY`, the shares in which new problems are made. An alarm rings where no problem is weak."""
        shares = self._aim.shares(self._curves.curves())
        found = {f"weak/{category}": float(count) for category, count in shares.items()}
        return found | self._weak.observe({"weak": sum(found.values()), "why": self._why()})

    def _why(self) -> str:
        problems, epochs = len(self._data.tasks), self._curves.epoch
        if epochs < 2:
            return (
                f"{epochs} epochs of the {problems} problems were trained on, and a learning curve needs two: "
                "more --preliminary or --tasks, or less --data"
            )
        return (
            f"each of the {problems} problems was solved half of the time or rose by --slope {self._aim.slope:g} an "
            "epoch: a higher --slope, or harder problems"
        )

    def alarms(self) -> list[str]:
        return self._weak.alarms()

    def state(self) -> State:
        found = {"data": self._data.state(), "curves": self._curves.state(), "new": self._new.state()}
        return {**found, "weak": self._weak.state()}

    def restore(self, state: State) -> None:
        shaped(state, {"data": dict, "curves": dict, "new": dict, "weak?": dict}, "the lessons: ")
        self._data.restore(state["data"])
        self._curves.restore(state["curves"])
        self._new.restore(state["new"])
        if "weak" in state:  # checkpoints of older versions have none
            self._weak.restore(state["weak"])
