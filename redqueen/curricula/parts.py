"""Which levels of a domain are for training and which for tests: a data set has a part for each, most have none."""

from __future__ import annotations

from redqueen.protocols import Domain

TRAIN, HELD_OUT = "train", "held_out"


def training_levels(domain: Domain) -> tuple[str, ...]:
    """All levels, but for those that are held out for good."""
    return tuple(level for level in domain.levels if level != HELD_OUT)


def held_out_levels(domain: Domain) -> tuple[str, ...]:
    """The part that is held out where there is one, and else all levels: there tests and training are drawn apart."""
    return (HELD_OUT,) if HELD_OUT in domain.levels else tuple(domain.levels)
