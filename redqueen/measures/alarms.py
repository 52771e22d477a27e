"""Alarms: a figure that has been past its limit for too long, and what is said then.

    alarms = Alarms([Alarm("labels", "accuracy", "{value:.0%} are right", limit=0.6, steps=5, below=True)])
    metrics |= alarms.observe({"accuracy": 0.5})     {"alarm/labels": 0.0}; from the fifth such step in a row on 1.0
    alarms.alarms()                                  from then on ["labels: 50% are right"]

A step that does not know the figure neither fires nor resets its alarm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redqueen.protocols import State
from redqueen.types import Metrics, RedQueenError


@dataclass(frozen=True)
class Alarm:
    """A limit of a figure, and the message of the alarm that fires beyond it."""

    name: str  # the figure `alarm/NAME`, and what its message begins with
    figure: str  # which is watched
    message: str  # with {value:.2f}, {limit}, {steps} (so far in a row) or another observed figure where it is to stand
    limit: float
    steps: int = 1  # in a row past the limit before it fires
    below: bool = False  # whether low figures are past the limit; high ones else

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise RedQueenError(f"an alarm needs at least 1 step to fire, not {self.steps}")

    def past(self, value: float) -> bool:
        """Whether `value` is past the limit. NaN is past every limit."""
        return not value >= self.limit if self.below else not value <= self.limit


class Alarms:
    """Counts for each alarm how many steps in a row its figure has been past its limit."""

    def __init__(self, alarms: Sequence[Alarm]) -> None:
        self._alarms: tuple[Alarm, ...] = ()
        self.add(alarms)
        self._steps: dict[str, int] = {}  # alarm -> steps in a row past its limit; none whose figure was never known
        self._messages: dict[str, str] = {}  # alarm -> its message, where its last known figure is past its limit

    def add(self, alarms: Sequence[Alarm]) -> None:
        """Watches these too from now on."""
        self._alarms = (*self._alarms, *alarms)
        names = [alarm.name for alarm in self._alarms]
        if len(set(names)) < len(names):
            raise RedQueenError(f"alarms need names of their own, not {', '.join(names)}")

    def observe(self, figures: Mapping[str, float | str]) -> Metrics:
        """`alarm/NAME` of each alarm whose figure is known or was before: 1.0 while it fires, else 0.0."""
        for alarm in self._alarms:
            if alarm.figure in figures:
                self._count(alarm, figures)
        return {f"alarm/{alarm.name}": float(self._fires(alarm)) for alarm in self._alarms if alarm.name in self._steps}

    def alarms(self) -> list[str]:
        """Messages of all firing alarms, "NAME: message"; empty if none fires."""
        firing = [alarm.name for alarm in self._alarms if self._fires(alarm)]
        return [f"{name.replace('_', ' ')}: {self._messages[name]}" for name in firing]

    def calm(self) -> None:
        """Voids every count, as if no figure had been known yet."""
        self._steps, self._messages = {}, {}

    def _count(self, alarm: Alarm, figures: Mapping[str, float | str]) -> None:
        value = float(figures[alarm.figure])
        if alarm.past(value):
            steps = self._steps[alarm.name] = self._steps.get(alarm.name, 0) + 1
            told = {**figures, "value": value, "limit": alarm.limit, "steps": steps}
            self._messages[alarm.name] = alarm.message.format_map(told)
        else:
            self._steps[alarm.name] = 0
            self._messages.pop(alarm.name, None)

    def _fires(self, alarm: Alarm) -> bool:
        return self._steps.get(alarm.name, 0) >= alarm.steps

    def state(self) -> State:
        return {"steps": dict(self._steps), "messages": dict(self._messages)}

    def restore(self, state: State) -> None:
        self._steps, self._messages = dict(state["steps"]), dict(state["messages"])
