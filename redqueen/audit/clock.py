"""A clock that jumps, for code that should not look at one."""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_NAMES = ("time", "monotonic", "perf_counter", "process_time", "time_ns", "monotonic_ns", "perf_counter_ns")
# what waits for environments and limits them, which goes by the true clock
_OURS = tuple(f"redqueen.{room}" for room in ("play", "guests", "checks", "progress", "players", "audit"))


@contextmanager
def jumping_clock(seconds: float = 3600.0) -> Iterator[Callable[[], None]]:
    """Puts the clock forward at each call of what it yields, for modules that are neither Python's own nor at work
    around an environment (tables, guests, the sandbox). Other processes do not see it."""
    ahead = 0.0

    def later(name: str) -> Callable[[], Any]:
        real, unit = getattr(time, name), 1_000_000_000 if name.endswith("_ns") else 1

        def told() -> Any:
            jumped = ahead if _sees(sys._getframe(1).f_globals.get("__name__", "")) else 0.0
            return real() + (int(jumped * unit) if unit > 1 else jumped)

        return told

    def jump() -> None:
        nonlocal ahead
        ahead += seconds

    true = datetime.datetime

    class Later(true):  # type: ignore[misc, valid-type]
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return true.now(tz) + datetime.timedelta(seconds=ahead)

        @classmethod
        def utcnow(cls) -> Any:
            return cls.now(datetime.UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

    instead: dict[int, Any] = {id(getattr(time, name)): later(name) for name in _NAMES}
    instead[id(true)] = Later
    changed = list[tuple[ModuleType, str, Any]]()
    try:
        for module in (time, datetime, *_others()):
            for name, value in list(vars(module).items()):
                if id(value) in instead:
                    changed.append((module, name, value))
                    setattr(module, name, instead[id(value)])
        yield jump
    finally:
        for module, name, value in changed:
            setattr(module, name, value)


def _sees(module: str) -> bool:
    return module.partition(".")[0] not in sys.stdlib_module_names and not module.startswith(_OURS)


def _others() -> list[ModuleType]:
    """The modules that see the clock that jumps."""
    return [each for name, each in list(sys.modules.items()) if isinstance(each, ModuleType) and _sees(name)]
