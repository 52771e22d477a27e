"""How a setting changes over a run."""

from __future__ import annotations

from redqueen.types import RedQueenError


def anneal(start: float, end: float, fraction: float) -> float:
    """From start to end by equal factors as the fraction goes from 0 to 1. Raises RedQueenError where no
    factors lead from one to the other."""
    if start == end:
        return start
    if start <= 0.0 or end <= 0.0:
        raise RedQueenError(f"nothing falls by equal factors from {start:g} to {end:g}: both must be above 0, or equal")
    return float(start * (end / start) ** min(max(fraction, 0.0), 1.0))
