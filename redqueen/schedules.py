"""How a setting changes over a run, and which phase of a method a step is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redqueen.types import RedQueenError


def anneal(start: float, end: float, fraction: float) -> float:
    """Geometric interpolation from `start` to `end` as `fraction` goes from 0 to 1. Raises RedQueenError unless both
    are above 0, or equal."""
    if start == end:
        return start
    if start <= 0.0 or end <= 0.0:
        raise RedQueenError(f"nothing falls by equal factors from {start:g} to {end:g}: both must be above 0, or equal")
    return float(start * (end / start) ** min(max(fraction, 0.0), 1.0))


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
