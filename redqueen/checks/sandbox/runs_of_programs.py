"""A program that a model wrote, and the verdict on its run: plain data, shared by every tier."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from redqueen.types import RedQueenError


class Kind(StrEnum):
    """How a run ended. Every kind but `VALUE` and `EXCEPTION` leaves the program's result unknown."""

    VALUE = "value"
    EXCEPTION = "exception"  # the program raised it
    TIMEOUT = "timeout"
    MEMORY = "memory"  # more memory, recursion or output than allowed
    FORBIDDEN = "forbidden"  # it reached for something outside its box, and was stopped
    UNSUPPORTED = "unsupported"  # this tier cannot run it, or its value has no plain literal
    NONDETERMINISTIC = "nondeterministic"  # runs that should agree did not


@dataclass(frozen=True)
class Limits:
    """The limits of one run."""

    seconds: float = 1.0  # by the clock on the wall
    memory: int = 64 << 20  # bytes, in addition to those of an empty program
    recursion: int = 200  # frames
    output: int = 4096  # characters of what is printed, and of the literal of the value

    def __post_init__(self) -> None:
        for name in ("seconds", "memory", "recursion", "output"):
            if getattr(self, name) <= 0:
                raise RedQueenError(f"the limit on {name} must be above 0, not {getattr(self, name)}")


@dataclass(frozen=True)
class Program:
    """Source, and the call whose value is wanted. Arguments travel as values and are never pasted into the source.

    Without a function the source is run as a script: its value is None, and what it prints is what counts.
    """

    source: str
    function: str = ""
    arguments: tuple[Any, ...] = ()  # plain data: what `literals.literal` can write
    test: str = ""  # of the user's: lines run after it, in a module of their own; the value is then True
    setup: str = ""  # lines run before a program with a test, for both


@dataclass(frozen=True)
class Verdict:
    """How a run of a program ended."""

    kind: Kind
    value: str = ""  # the literal of the value (`literals.literal`), for kind VALUE
    printed: str = ""
    detail: str = ""  # the type of the exception, the limit that was passed, what was reached for
    message: str = ""  # what the exception said
    shows_address: bool = False  # it made a text with an address in it, which the next run would not make


class Tier(Protocol):
    """A sandbox for programs. The verdicts are in the order of the programs.

    `hash_seed` sets the iteration order of sets of strings, so that two runs under different seeds
    tell whether a program depends on it.
    """

    def run(self, programs: list[Program], hash_seed: int = 0) -> list[Verdict]: ...
    def close(self) -> None: ...
