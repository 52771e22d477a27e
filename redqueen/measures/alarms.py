"""Alarms: a figure that has been past its limit for too long, and what is said then.

    alarms = Alarms([Alarm("labels", "accuracy", "{value:.0%} are right", limit=0.6, steps=5, below=True)])
    metrics |= alarms.observe({"accuracy": 0.5})     {"alarm/labels": 0.0}; from the fifth such step in a row on 1.0
    alarms.alarms()                                  from then on ["labels: 50% are right"]

A step that does not know the figure neither fires nor resets its alarm. Where the figure is a share of a few trials,
chance alone passes a limit now and then: an alarm that names its `trials` waits until the share is surely past it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redqueen.measures.intervals import wilson_interval
from redqueen.protocols import AMOUNT, COUNT, Row, State, shaped
from redqueen.types import Metrics, RedQueenError

SURE = 0.98  # of the interval of a share, at whose bounds alarms look


@dataclass(frozen=True)
class Alarm:
    """A limit of a figure, and the message of the alarm that fires beyond it."""

    name: str  # the figure `alarm/NAME`, and what its message begins with
    figure: str  # which is watched
    message: str  # with {value:.2f}, {limit}, {steps} (so far in a row) or another observed figure where it is to stand
    limit: float
    steps: int = 1  # in a row past the limit before it fires
    below: bool = False  # whether low figures are past the limit; high ones else
    trials: str = ""  # the figure that counts the trials, where the one that is watched is a share of them

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise RedQueenError(f"an alarm needs at least 1 step to fire, not {self.steps}")

    def past(self, value: float) -> bool:
        """Whether `value` is past the limit. NaN is past every limit."""
        return not value >= self.limit if self.below else not value <= self.limit

    def surely_past(self, hits: float, trials: float) -> bool:
        """Whether a share of `hits` among `trials` is past the limit by more than chance."""
        if not trials:
            return False
        share = wilson_interval(min(hits, trials), round(trials), SURE)
        return self.past(share.high if self.below else share.low)


def at_least(hits: int, trials: int) -> float:
    """The share that is surely reached where `hits` of `trials` succeeded: 0.43 for 4 of 4, 0.86 for 32 of 32."""
    return wilson_interval(hits, trials, SURE).low if trials else 0.0


_STATE = {"steps": {...: COUNT}, "messages": {...: str}, "trials?": {...: Row(AMOUNT, AMOUNT)}, "fired?": [str]}


class Alarms:
    """Counts for each alarm how many steps in a row its figure has been past its limit. `quiet` alarms have a figure of
    their own only from the step in which they first fire."""

    def __init__(self, alarms: Sequence[Alarm], quiet: bool = False) -> None:
        self._alarms: tuple[Alarm, ...] = ()
        self.add(alarms)
        self._quiet = quiet
        self._fired: list[str] = []  # alarms that fire or have fired
        self._trials: dict[str, tuple[float, float]] = {}  # alarm -> hits and trials of these steps
        self._steps: dict[str, int] = {}  # alarm -> steps in a row past its limit; none whose figure was never known
        self._messages: dict[str, str] = {}  # alarm -> its message, where its last known figure is past its limit

    def add(self, alarms: Sequence[Alarm]) -> None:
        """Adds alarms, which are watched from now on."""
        self._alarms = (*self._alarms, *alarms)
        names = [alarm.name for alarm in self._alarms]
        if len(set(names)) < len(names):
            raise RedQueenError(f"alarms need names of their own, not {', '.join(names)}")

    def observe(self, figures: Mapping[str, float | str]) -> Metrics:
        """`alarm/NAME` of each alarm whose figure is known or was before: 1.0 while it fires, else 0.0."""
        for alarm in self._alarms:
            if alarm.figure in figures:
                self._count(alarm, figures)
        fires = {alarm.name: self._fires(alarm) for alarm in self._alarms if alarm.name in self._steps}
        self._fired += [name for name, now in fires.items() if now and name not in self._fired]
        return {f"alarm/{name}": float(now) for name, now in fires.items() if not self._quiet or name in self._fired}

    def alarms(self) -> list[str]:
        """Messages of all firing alarms, "NAME: message"; empty if none fires."""
        firing = [alarm.name for alarm in self._alarms if self._fires(alarm)]
        return [f"{name.replace('_', ' ')}: {self._messages[name]}" for name in firing]

    def calm(self) -> None:
        """Resets every count, as if no figure had been known yet."""
        self._steps, self._messages, self._trials = {}, {}, {}

    def _count(self, alarm: Alarm, figures: Mapping[str, float | str]) -> None:
        value = float(figures[alarm.figure])
        if alarm.past(value):
            if alarm.trials:
                hits, trials = self._trials.get(alarm.name, (0.0, 0.0))
                count = float(figures[alarm.trials])
                self._trials[alarm.name] = hits + value * count, trials + count
            steps = self._steps[alarm.name] = self._steps.get(alarm.name, 0) + 1
            told = {**figures, "value": value, "limit": alarm.limit, "steps": steps}
            self._messages[alarm.name] = alarm.message.format_map(told)
        else:
            self._steps[alarm.name] = 0
            self._messages.pop(alarm.name, None)
            self._trials.pop(alarm.name, None)

    def _fires(self, alarm: Alarm) -> bool:
        long_enough = self._steps.get(alarm.name, 0) >= alarm.steps
        return long_enough and (not alarm.trials or alarm.surely_past(*self._trials.get(alarm.name, (0.0, 0.0))))

    def state(self) -> State:
        trials = {name: list(pair) for name, pair in self._trials.items()}
        return {"steps": dict(self._steps), "messages": dict(self._messages), "trials": trials, "fired": self._fired[:]}

    def restore(self, state: State) -> None:
        shaped(state, _STATE, "the alarms: ")
        self._steps, self._messages = dict(state["steps"]), dict(state["messages"])
        self._trials = {name: (hits, count) for name, (hits, count) in state.get("trials", {}).items()}
        self._fired = list(state.get("fired", ()))


class Ringing:
    """A part that has nothing to keep between steps but its alarms, `_alarms`: they ring and are saved as its own."""

    _alarms: Alarms

    def alarms(self) -> list[str]:
        return self._alarms.alarms()

    def state(self) -> State:
        return {"alarms": self._alarms.state()}

    def restore(self, state: State) -> None:
        self._alarms.restore(state["alarms"])
