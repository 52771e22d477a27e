"""Rules for the values of settings, and their check."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from operator import attrgetter
from typing import Annotated, Any, Protocol, get_type_hints

import tyro

from redqueen.protocols import has
from redqueen.types import RedQueenError


@dataclass(frozen=True)
class Within:
    """A rule in the annotation of a field: a value from `least` to `most`."""

    least: float
    most: float = math.inf
    above: bool = False  # the least value itself is refused too

    def __str__(self) -> str:
        lower = f"above {self.least:g}" if self.above else f"at least {self.least:g}"
        return lower if math.isinf(self.most) else f"{lower} and at most {self.most:g}"

    def __contains__(self, value: float) -> bool:
        return self.least <= value <= self.most and not (self.above and value == self.least)


@dataclass(frozen=True)
class Rising:
    """A rule in the annotation of a field: two fractions from 0 to 1, the lower one first."""

    def __str__(self) -> str:
        return "two shares from 0 to 1, the lower one first"

    def __contains__(self, value: tuple[float, float]) -> bool:
        return 0.0 <= value[0] <= value[1] <= 1.0


@dataclass(frozen=True)
class PartOf:
    """A rule in the annotation of a field: a fraction (0 to 1) of another count; refused if positive but rounding to
    zero."""

    other: str

    def __str__(self) -> str:
        return "at least 0 and at most 1"

    def __contains__(self, value: float) -> bool:
        return 0.0 <= value <= 1.0

    def check(self, flag: str, value: float, whole: int) -> None:
        """Raises RedQueenError if `value` is positive but `value * whole` rounds to zero."""
        if value > 0.0 and not round(value * whole):
            raise RedQueenError(
                f"{flag} {value:g} of {_flag(self.other)} {whole} is none: set it to 0, or to {1 / whole:.3g} or more"
            )


@dataclass(frozen=True)
class OnlyWith:
    """A rule that refuses anything but the field's default unless the setting `other` has this `value`, or one of
    several: `at_the_ends: Annotated[float, OnlyWith("question_reward", "full")] = 0.0`."""

    other: str
    value: Any

    def has_effect(self, value: Any) -> bool:
        """Whether the field counts for anything where `other` has this value."""
        return bool(value in self.value if isinstance(self.value, tuple) else value == self.value)


@dataclass(frozen=True)
class NotWith:
    """A rule that refuses anything but the field's default if the setting `other` has this `value`:
    `noise: Annotated[int, NotWith("gate", "none")] = 4`."""

    other: str
    value: Any

    def has_effect(self, value: Any) -> bool:
        """Whether the field counts for anything where `other` has this value."""
        return bool(value != self.value)


@dataclass(frozen=True)
class Without:
    """A rule in the annotation of a field that holds settings of its own: those named `part`, one of them or several
    that belong together, are refused with the reason `why`:
    `learner: Annotated[Learner, Without("solver", "nobody solves a task here")]`."""

    part: str
    why: str

    def check(self, settings: Any) -> None:
        """Raises RedQueenError if a setting of the part is not at its default."""
        given = attrgetter(self.part)(settings)
        several = [f"{self.part}.{name}" for name in vars(given)] if is_dataclass(given) else [self.part]
        for name in several:
            if attrgetter(name)(settings) != attrgetter(name)(type(settings)()):
                raise RedQueenError(f"{_flag(name)} has no effect: {self.why}; leave it out")


Whole = Annotated[int, Within(0)]
Count = Annotated[int, Within(1)]
AnyCount = Annotated[int, Within(0)]
Several = Annotated[int, Within(2)]
Amount = Annotated[float, Within(0.0)]
Positive = Annotated[float, Within(0.0, above=True)]
Share = Annotated[float, Within(0.0, 1.0)]
Between = Annotated[tuple[float, float], Rising()]
PartOfTasks = Annotated[float, PartOf("tasks")]


def unset(metavar: str) -> Any:
    """The annotation of a flag without a default value; the help text says what happens without it."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="")


class ChecksItself(Protocol):
    """Settings within settings that know what goes with what."""

    def check(self, config: Any) -> None:
        """Raises RedQueenError for a value that does not go with the others; `config` holds these settings."""
        ...


def check_settings(settings: Any) -> None:
    """Raises RedQueenError for a number that is not finite, for a value that the rule of its field refuses, and for
    a rule that names an unknown setting; nested dataclasses are checked too."""
    hints = get_type_hints(type(settings), include_extras=True)
    for name, value in vars(settings).items():
        if is_dataclass(value):
            check_settings(value)
            if has(value, ChecksItself):
                value.check(settings)
        flag = _flag(name)
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, float) and not math.isfinite(number):
                raise RedQueenError(f"{flag} must be a finite number, not {number}")
        for limit in getattr(hints[name], "__metadata__", ()):
            if isinstance(limit, Within | Rising | PartOf) and value is not None and value not in limit:
                raise RedQueenError(f"{flag} must be {limit}, not {value}")
            if isinstance(limit, PartOf | OnlyWith | NotWith) and limit.other not in hints:
                raise RedQueenError(
                    f"the rule of {name} in {type(settings).__qualname__} names {limit.other!r}, which is not there: "
                    f"name one of {', '.join(each for each in hints if each != name)}"
                )
            if isinstance(limit, OnlyWith | NotWith) and not limit.has_effect(getattr(settings, limit.other)):
                other = getattr(settings, limit.other)
                refuse_unused(settings, [name], f"{_flag(limit.other)} {_shown(other)}")
            if isinstance(limit, Without):
                limit.check(value)
            if isinstance(limit, PartOf):
                limit.check(flag, value, getattr(settings, limit.other))


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _shown(value: Any) -> str:
    """The value as written after a flag."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def refuse_unused(settings: Any, names: Sequence[str], other: str) -> None:
    """Raises RedQueenError if one of the settings `names`, which have no effect with `other`, is not at its default."""
    usual = type(settings)()
    for name in names:
        if getattr(settings, name) != getattr(usual, name):
            given = f"no-{name}" if getattr(usual, name) is True else name
            raise RedQueenError(f"{_flag(given)} has no effect with {other}: leave it out")
