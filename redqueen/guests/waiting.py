"""For how long a process has waited, less what a busy machine kept from it.

    allowance = Allowance(30.0, process, patience=10.0)
    allowance.over()         True after 30 s of sleeping, of waiting for a lock, for a server that does not answer

A process that works, or would if it had a processor, is not waiting: how much it may work is another limit. Linux tells
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
        self._begun = self._looked = time.monotonic()
        self._busy: float | None = None
        self._spared = 0.0

    def over(self) -> bool:
        """Whether it is used up. Looks at the process, but not within the first tick, in which most answers come."""
        now = time.monotonic()
        if now - self._looked >= self.tick:
            self._look(now)
        passed = now - self._begun
        return passed - self._spared >= self._seconds or passed >= self._longest

    def _look(self, now: float) -> None:
        busy = _busy(self._process) if self._process is not None else 0.0
        if self._busy is not None:
            self._spared += min(max(busy - self._busy, 0.0), now - self._looked)
        self._busy, self._looked = busy, now


def _busy(process: int) -> float:
    """The seconds in which a process worked, and in which it and those that it started waited for a processor. Work of
    those counts as waiting: nothing else limits it."""
    worked, delayed = _of(process)
    return worked + delayed + sum(_of(each)[1] for each in _started(process))


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
