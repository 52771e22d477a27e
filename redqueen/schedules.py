"""How a setting changes over a run, and which phase of a method a step is in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from redqueen.types import RedQueenError

T = TypeVar("T")


def anneal(start: float, end: float, fraction: float) -> float:
    """Geometric interpolation from `start` to `end` as `fraction` goes from 0 to 1. Raises RedQueenError unless both
    are above 0, or equal."""
    if start == end:
        return start
    if start <= 0.0 or end <= 0.0:
        raise RedQueenError(f"nothing falls by equal factors from {start:g} to {end:g}: both must be above 0, or equal")
    return float(start * (end / start) ** min(max(fraction, 0.0), 1.0))


def linear(start: float, end: float, fraction: float) -> float:
    """The number on the line from `start` to `end`. Raises RedQueenError for a `fraction` outside 0 to 1."""
    return start + (end - start) * _of_the_run(fraction)


def cosine(start: float, end: float, fraction: float) -> float:
    """The number on half a cosine from `start` to `end`, flat at both. Raises RedQueenError for a `fraction` outside 0
    to 1."""
    return start + (end - start) * (1.0 - math.cos(math.pi * _of_the_run(fraction))) / 2.0


def stepwise(values: Sequence[T], fraction: float) -> T:
    """The value of the stage that `fraction` of the run lies in: as many stages of the same length as there are
    `values`, the end of the run in the last. Raises RedQueenError without values, and for a `fraction` outside 0 to
    1."""
    if not values:
        raise RedQueenError("stages need at least one value")
    return values[min(int(_of_the_run(fraction) * len(values) + 1e-9), len(values) - 1)]


def _of_the_run(fraction: float) -> float:
    if not 0.0 <= fraction <= 1.0:
        raise RedQueenError(f"a schedule runs from 0 to 1 of a run, not to {fraction:g}: it is past its end")
    return fraction


@dataclass(frozen=True)
class Pace:
    """How a learning rate changes over the steps of a run: it rises evenly over the first `warm_up` steps, the last of
    which has all of it, then stays ("constant") or falls towards 0 on a line ("linear") or half a cosine ("cosine").

    The shapes are those of transformers' `get_linear_schedule_with_warmup` and `get_cosine_schedule_with_warmup`; but
    their first step has the rate 0 and learns nothing, ours has 1 / `warm_up` of it."""

    kind: Literal["constant", "linear", "cosine"] = "constant"
    warm_up: int = 0  # steps

    @property
    def changes(self) -> bool:
        """Whether any step has less than the whole rate."""
        return self.kind != "constant" or self.warm_up > 0

    def at(self, step: int, steps: int) -> float:
        """Share of the learning rate in a step, counted from 0, of a run of `steps`. Raises RedQueenError for a warm-up
        that the run does not outlast."""
        if self.warm_up and self.warm_up >= steps:
            raise RedQueenError(
                f"a warm-up of {self.warm_up} steps is no shorter than the run of {steps}: set --warm-up to "
                f"{steps - 1} or less, or --steps to more than {self.warm_up}"
            )
        if step < self.warm_up:
            return (step + 1) / self.warm_up
        gone = (step - self.warm_up) / (steps - self.warm_up)
        if self.kind == "linear":
            return 1.0 - gone
        return 0.5 * (1.0 + math.cos(math.pi * gone)) if self.kind == "cosine" else 1.0


@dataclass(frozen=True)
class Phase:
    """The phase of a step, and whether the step is the first of that phase."""

    name: str
    first: bool


class Phases:
    """Phases of a method, repeated round after round: `Phases({"proposer": 5, "solver": 20})`. A phase of 0 steps is
    left out."""

    def __init__(self, steps: Mapping[str, int]) -> None:
        if any(count < 0 for count in steps.values()) or not any(steps.values()):
            raise RedQueenError(f"phases take 0 steps or more, and at least one of them 1 or more, not {dict(steps)}")
        self._round = [
            Phase(name, first=number == 0) for name, count in steps.items() for number in range(count)
        ]  # of one round, a phase a step

    def at(self, step: int) -> Phase:
        """The phase of a step, counted from 0."""
        return self._round[step % len(self._round)]
