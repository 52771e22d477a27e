"""For how long a process has waited, less what a busy machine kept from it.

    allowance = Allowance(30.0, process, patience=10.0)
    allowance.over()         True after 30 s of sleeping, of waiting for a lock, for a server that does not answer

A process that works, or would if it had a processor, is not waiting: how much it may work is another limit. What it has
started, a server for one, may work as long as it may wait, and no limit holds that otherwise. Linux tells
(`/proc/PID/task/*/schedstat`); elsewhere each second of the clock counts as waiting.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

_PROCESSES = Path("/proc")
_LOOKS = 20  # at a process, in the time that it may wait


class Allowance:
    """`seconds` that a process may wait, and `patience` times as many by the clock; without a process both are by the
    clock. `tick` is the time between two looks."""

    def __init__(self, seconds: float, process: int | None = None, patience: float = 1.0) -> None:
        self.tick = min(1.0, seconds / _LOOKS)
        self._seconds, self._longest, self._process = seconds, seconds * patience, process
        self._looked = time.monotonic()
        self._passed = self._waited = self._helped = 0.0
        self._before: tuple[float, float] | None = None

    def over(self) -> bool:
        """Whether it is used up: to be asked after each tick. Where this process was stopped in between, or had no
        processor itself, two ticks are counted at most."""
        now = time.monotonic()
        if now - self._looked >= self.tick:
            passed, self._looked = min(now - self._looked, 2 * self.tick), now
            self._passed += passed
            self._waited += passed - self._spared(passed)
        return self._waited >= self._seconds or self._passed >= self._longest

    def _spared(self, passed: float) -> float:
        """The seconds of those `passed` that do not count; none in the first tick, in which most answers come."""
        if self._process is None:
            return 0.0
        before, self._before = self._before, _busy(self._process)
        if before is None:
            return 0.0
        own = min(max(self._before[0] - before[0], 0.0), passed)
        helped = min(max(self._before[1] - before[1], 0.0), passed - own, self._seconds - self._helped)
        self._helped += helped
        return own + helped


def _busy(process: int) -> tuple[float, float]:
    """The seconds in which a process worked, or it or what it has started waited for a processor; and those in which
    what it has started worked."""
    worked, delayed = _of(process)
    started = [_of(each) for each in _started(process)]
    return worked + delayed + sum(off for _, off in started), sum(on for on, _ in started)


def _of(process: int) -> tuple[float, float]:
    """The seconds in which the threads of a process worked, and in which they waited for a processor."""
    worked = delayed = 0
    for thread in _threads(process):
        try:
            on, waiting, _ = (thread / "schedstat").read_text().split()
        except (OSError, ValueError):  # it has ended
            continue
        worked, delayed = worked + int(on), delayed + int(waiting)
    return worked / 1e9, delayed / 1e9


def _started(process: int) -> Iterator[int]:
    """The processes that a process has started, and those that they have."""
    for thread in _threads(process):
        try:
            children = [int(each) for each in (thread / "children").read_text().split()]
        except (OSError, ValueError):
            continue
        for child in children:
            yield child
            yield from _started(child)


def _threads(process: int) -> list[Path]:
    try:
        return list((_PROCESSES / str(process) / "task").iterdir())
    except OSError:
        return []
