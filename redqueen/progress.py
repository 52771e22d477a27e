"""How far a long computation has come: told by what computes, read by what shows it.

with stage("matches", 512) as playing:      # where it is computed
    playing.done += 1
so_far()                                    # "120 of at most 512 matches, about 40 s left"
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(eq=False)
class Stage:
    """A part of a computation: `done` of at most `total` things."""

    name: str  # of the things
    total: int
    done: int = 0
    began: float = field(default_factory=lambda: time.monotonic())

    def __str__(self) -> str:
        spent = time.monotonic() - self.began
        left = f", about {spent * (self.total - self.done) / self.done:.0f} s left" if self.done else ""
        return f"{self.done:,} of at most {self.total:,} {self.name}{left}"


_STAGES: list[Stage] = []  # of this process, the outermost first


@contextmanager
def stage(name: str, total: int) -> Iterator[Stage]:
    """A stage that is going on; what it has done is counted in `done`."""
    new = Stage(name, total)
    _STAGES.append(new)
    try:
        yield new
    finally:
        _STAGES.remove(new)


def counted(name: str, things: Sequence[T]) -> Iterator[T]:
    """The things, counted as a stage while they are gone through."""
    with stage(name, len(things)) as going:
        for thing in things:
            yield thing
            going.done += 1


def so_far() -> str:
    """How far the innermost stage has come of which something is done; "" where there is none. The outermost says what
    it is for."""
    going = [each for each in (*_STAGES,) if each.total]
    moving = [each for each in going if each.done] or going[-1:]
    if not moving or moving[-1] is going[0]:
        return str(moving[-1]) if moving else ""
    outer = going[0]
    return f"{f'{outer.done + 1} of {outer.total} ' if outer.total > 1 else ''}{outer.name}: {moving[-1]}"
