"""All randomness: seeds and draws derived by counter, so that nothing depends on what else is in flight.

A seed is a 64-bit integer. `derive(seed, step, match, seat, turn)` names one point of a run; the
same path gives the same number on every machine (Python's own `hash` is salted and is not used).
The mixer is SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators").
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np

_MASK = (1 << 64) - 1
Option = TypeVar("Option")


def _mix(value: int) -> int:
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def derive(seed: int, *path: int | str) -> int:
    """The seed derived from `seed` along `path`. Strings are hashed by their bytes."""
    value = _mix(seed & _MASK)
    for part in path:
        value = _below(value, part)
    return value


def _below(value: int, part: int | str) -> int:
    """One step down a path. The parent is mixed once more than the child, so that (a, b) is not (b, a)."""
    return _mix((_mix(value) + (named(part) if isinstance(part, str) else _mix(part & _MASK))) & _MASK)


@lru_cache(maxsize=65536)
def named(part: str) -> int:
    """The hash of a name in a path. Cached: there are a few thousand; of numbers there would be one more each step."""
    return _mix(zlib.crc32(part.encode(errors="surrogatepass")) | (1 << 40))


def uniform(seed: int, counter: int = 0) -> float:
    """A float in [0, 1) with 53 random bits: draw number `counter` of a seed."""
    return (_below(_mix(seed & _MASK), counter) >> 11) * 2.0**-53


def uniforms(seeds: Sequence[int], counters: Sequence[int]) -> np.ndarray:
    """[n] float64, `uniform` of each seed and its counter."""
    seed = np.array([each & _MASK for each in seeds], dtype=np.uint64)
    child = _mixed(_mixed(_mixed(seed)) + _mixed(np.array(counters, dtype=np.uint64)))
    found: np.ndarray = (child >> np.uint64(11)) * 2.0**-53
    return found


def _mixed(values: np.ndarray) -> np.ndarray:
    """`_mix` of each, [n] uint64, whose sums and products are modulo 2 ** 64."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values


def one_of(options: Sequence[Option], draw: float) -> Option:
    """The option that `draw`, uniform in [0, 1), selects from equally likely ones."""
    return options[int(draw * len(options))]


def pick(probabilities: Sequence[float], draw: float) -> int:
    """The index that `draw`, uniform in [0, 1), selects from probabilities that sum to one (up to rounding)."""
    total = 0.0
    last = 0
    for index, probability in enumerate(probabilities):
        if probability > 0.0:
            last = index
            total += probability
            if draw < total:
                return index
    return last  # the draw lies above the sum of the rounded probabilities
