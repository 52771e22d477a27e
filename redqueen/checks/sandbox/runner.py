"""Which tier runs which program: Monty first, the jail for what Monty cannot answer, and nothing outside of both."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from redqueen.checks.sandbox.monty import ADDRESS, Monty
from redqueen.checks.sandbox.repeatable import barred
from redqueen.checks.sandbox.runs_of_programs import Kind, Limits, Program, Tier, Verdict
from redqueen.checks.sandbox.set_order import shows_order
from redqueen.checks.sandbox.syntax import Unread, parsed
from redqueen.types import RedQueenError

SHOWN = 60  # characters of a value in a verdict's detail
_LEFT_TO_THE_JAIL = (Kind.UNSUPPORTED, Kind.MEMORY, Kind.FORBIDDEN)


class PythonRunner:
    """Runs programs that models wrote. Tiers start when first needed; `close` ends those that the runner made, and so
    does the end of the runner itself.

    A `loose` one is for programs that are tested: what Monty forbids, or what takes too much of it, is left to the
    jail, which writes a value by its content. `missing` says why there is no jail, once a program needed one: such
    programs stay UNSUPPORTED.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        tiers: Sequence[Tier] | None = None,
        workers: int = 2,
        loose: bool = False,
    ) -> None:
        if tiers is not None and not tiers:
            raise RedQueenError("a runner of Python code needs a tier, such as Monty()")
        self.limits = limits or Limits()
        self.workers = workers
        self.loose = loose
        self.missing = ""
        self._given = tiers
        self._made: list[Tier] = []
        weakref.finalize(self, _close, self._made)

    def run(self, programs: Sequence[Program], hash_seed: int = 0) -> list[Verdict]:
        """How each program ended, in order: the verdict of the first tier that can run it."""
        verdicts = [Verdict(Kind.UNSUPPORTED) for _ in programs]
        place = 0
        open_kinds = _LEFT_TO_THE_JAIL if self.loose else (Kind.UNSUPPORTED,)
        while left := [number for number, verdict in enumerate(verdicts) if verdict.kind in open_kinds]:
            tier = self._tier(place)
            if tier is None:
                break
            place += 1
            for number, verdict in zip(left, tier.run([programs[n] for n in left], hash_seed), strict=True):
                verdicts[number] = verdict
        if self.missing:
            verdicts = [self._explained(verdict) for verdict in verdicts]
        return verdicts

    def certified(self, programs: Sequence[Program], runs: int = 2) -> list[Verdict]:
        """How each program ends, every time. A value or an exception is kept where `runs` runs in fresh interpreters
        under other hash seeds agree in kind, value, exception and printed text, and NONDETERMINISTIC where they differ,
        where the order of a set may show or where a text with an address was made. A program that reaches for something
        that is not pure (`repeatable`) is FORBIDDEN, and not run."""
        if runs < 2:
            raise RedQueenError(f"a program is certain after 2 runs or more, not {runs}")
        verdicts = [_unfit(program) for program in programs]
        fit = [number for number, verdict in enumerate(verdicts) if verdict is None]
        for hash_seed in range(runs):
            for number, verdict in zip(fit, self.run([programs[n] for n in fit], hash_seed), strict=True):
                before = verdicts[number]
                verdicts[number] = _settled(programs[number], verdict) if before is None else _agreed(before, verdict)
            fit = [number for number in fit if _may_still_differ(verdicts[number])]
        return [verdict for verdict in verdicts if verdict is not None]

    def reproducible(self, programs: Sequence[Program]) -> list[Verdict]:
        """How each program ends, under one hash seed and whenever it is run. What reaches for something that is not
        pure (`repeatable`) is FORBIDDEN, and not run; what makes a text with an address is NONDETERMINISTIC."""
        verdicts = [_unfit(program) for program in programs]
        ran = iter(self.run([program for program, unfit in zip(programs, verdicts, strict=True) if unfit is None]))
        return [_without_address(next(ran)) if verdict is None else verdict for verdict in verdicts]

    def close(self) -> None:
        _close(self._made)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _tier(self, place: int) -> Tier | None:
        if self._given is not None:
            return self._given[place] if place < len(self._given) else None
        if place == len(self._made) < 2:
            tier = self._jail() if place else Monty(self.limits, self.workers)
            self._made += [] if tier is None else [tier]
        return self._made[place] if place < len(self._made) else None

    def _jail(self) -> Tier | None:
        """The jail, or None and the reason in `missing` where this machine cannot hold one."""
        from redqueen.checks.sandbox.jail import Jail

        if not self.missing:
            try:
                return Jail(self.limits, self.workers, loose=self.loose)
            except RedQueenError as error:
                self.missing = str(error)
        return None

    def _explained(self, verdict: Verdict) -> Verdict:
        if verdict.kind is not Kind.UNSUPPORTED:
            return verdict
        return replace(verdict, detail=f"{verdict.detail or 'Monty lacks it'}; no jail: {self.missing}")


def _close(tiers: list[Tier]) -> None:
    while tiers:
        tiers.pop().close()


def _unfit(program: Program) -> Verdict | None:
    """The verdict on a program that cannot be certified; None for others."""
    try:
        reason = barred(program.source)
    except Unread as error:
        return error.verdict
    if not reason:
        return None
    from redqueen.checks.sandbox.jail import OFFERED

    module = reason if reason in parsed(program.source).imports else ""
    lacking = module and module.partition(".")[0] not in OFFERED
    said = "the sandbox does not have this module" if lacking else "it may tell one run from another"
    return Verdict(Kind.FORBIDDEN, detail=reason, message=said)


def _settled(program: Program, verdict: Verdict) -> Verdict:
    """The verdict of a first run, unless something shows that need not show again."""
    verdict = _without_address(verdict)
    if not _may_still_differ(verdict):
        return verdict
    if shows_order(program.source, program.function, _places_of_sets(program)):
        return Verdict(Kind.NONDETERMINISTIC, detail="the order of a set may show")
    return verdict


def _without_address(verdict: Verdict) -> Verdict:
    shows = verdict.shows_address or ADDRESS.search(verdict.value) or ADDRESS.search(verdict.printed)
    if not shows or not _may_still_differ(verdict):
        return verdict
    return Verdict(Kind.NONDETERMINISTIC, detail="an address", message="a text that it makes holds one")


def _places_of_sets(program: Program) -> tuple[int, ...]:
    """The places of the arguments that are sets; one beyond all arguments for a set in a list or the like."""
    given = program.arguments if program.function else ()
    places = [place for place, argument in enumerate(given) if type(argument) is set]
    return (*places, len(given)) if any(_holds_set(argument) for argument in given) else tuple(places)


def _holds_set(value: Any) -> bool:
    kind = type(value)
    if kind is dict:
        return any(type(item) is set or _holds_set(item) for pair in value.items() for item in pair)
    return kind in (list, tuple) and any(type(item) is set or _holds_set(item) for item in value)


def _may_still_differ(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.kind in (Kind.VALUE, Kind.EXCEPTION)


def _agreed(first: Verdict, second: Verdict) -> Verdict:
    if _shown(first) == _shown(second):
        return first
    return Verdict(Kind.NONDETERMINISTIC, detail=" / ".join("; ".join(_shown(v))[:SHOWN] for v in (first, second)))


def _shown(verdict: Verdict) -> tuple[str, ...]:
    what = verdict.value if verdict.kind is Kind.VALUE else verdict.detail
    return (str(verdict.kind), what, verdict.printed)
