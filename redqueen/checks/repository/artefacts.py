"""Bugs as SSR makes them (Wei et al., 2025, arXiv:2512.18552): the checks that an injected bug must pass.

An artefact is a repository, the same with a bug, and that one with weaker tests, which hide the bug. The solver starts
from the last and is told what the weakening took away; it is scored under the tests of the first.

    1  tests are found, the weakening changes tests alone, and the bug none
    2  (the paper's parser of test logs; verdicts need none)
    3  at least `Least.passing` tests pass on the original
    4  the bug changes at least `Least.files` files
    5  it makes at least `Least.broken` tests fail that passed
    6  the weakening removes, or lets pass, at least `Least.hidden` of these
    7  each changed file, put back alone, lets one of these pass at least
    +  some test passes after the weakening: a file of tests that no longer parses hides everything
    +  no test ends otherwise under another hash seed, or over the same code in other words
    +  the bug reaches for no clock, chance or address that the code did not reach for: it would hide for hours

A test that fails at random one time in q is missed with probability (1 - 1/q)^n + (1/q)^n by n runs. A test that takes
about as long as the time limit counts as one that ends otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from redqueen.checks.repository.edits import BadEdit, Edit, Repository, changed, file_diffs, is_test_file, rewritten
from redqueen.checks.repository.unit_tests import Results, discover, passed, run_tests
from redqueen.checks.sandbox.repeatable import all_barred
from redqueen.checks.sandbox.runs_of_programs import Tier
from redqueen.checks.sandbox.syntax import Unread
from redqueen.types import RedQueenError


class Fault(StrEnum):
    """Why an artefact is refused."""

    NO_TESTS = "no test is found"
    TESTS_CHANGED = "the bug changes a test file"
    CODE_CHANGED = "the weakening changes a file that is no test"
    FEW_FILES = "the bug changes too few files"
    FEW_PASS = "too few tests pass before the bug"
    UNSTEADY = "a test passes in one run and fails in another"
    IMPURE = "the bug reaches for what differs from run to run, such as a clock"
    FEW_BREAK = "the bug makes too few tests fail"
    HIDES_LITTLE = "the weakening hides too few of the failing tests"
    NOTHING_LEFT = "no test passes after the weakening"
    IDLE_FILE = "a changed file can be put back and no failing test passes again"


@dataclass(frozen=True)
class Artefact:
    """An injected bug."""

    original: Repository
    bugged: Repository  # the original with the bug
    weakened: Repository  # with the bug, and with tests that hide it


@dataclass(frozen=True)
class Least:
    """The minimum counts that an artefact must reach."""

    passing: int = 2  # tests, before the bug
    files: int = 1  # changed by the bug
    broken: int = 1  # tests
    hidden: int = 1  # of the broken tests

    def __post_init__(self) -> None:
        for name in ("passing", "files", "broken", "hidden"):
            if getattr(self, name) < 1:
                raise RedQueenError(f"an artefact's least {name} is 1 or more, not {getattr(self, name)}")


@dataclass(frozen=True)
class Runs:
    """The tests of an artefact as they ended: those of the original in each repository."""

    original: Sequence[Results]  # one a run
    bugged: Sequence[Results]  # one a run
    weakened: Results  # of the tests that are left
    put_back: Mapping[str, Results]  # file that the bug changed -> with that file as it was


def inject(original: Repository, bug: Iterable[Edit], weakening: Iterable[Edit]) -> Artefact:
    """The artefact of a bug and of what hides it. Raises `files.BadEdit`."""
    bugged = original.apply(bug)
    return Artefact(original, bugged, bugged.apply(weakening))


def specification(artefact: Artefact) -> str:
    """The specification for the solver: the weakening reversed, as one unified diff."""
    diffs = file_diffs(artefact.weakened, artefact.bugged)
    return "\n".join(f"--- {path}\n+++ {path}\n{diff}" for path, diff in diffs.items())


def run_artefacts(tier: Tier, artefacts: Sequence[Artefact], runs: int = 3) -> list[Runs]:
    """All that `faults` asks of the tests of each artefact. Originals and bugs are run `runs` times, each time under
    another hash seed, the last time in other words (`files.rewritten`). Raises as `run_tests` does."""
    if runs < 2:
        raise RedQueenError(f"at least 2 runs are needed to see whether tests are steady, not {runs}")
    tests = [discover(artefact.original).tests for artefact in artefacts]
    pairs = [each for artefact in artefacts for each in (artefact.original, artefact.bugged)]
    again = []
    for seed in range(runs):
        texts = pairs if seed < runs - 1 else [rewritten(each) for each in pairs]
        again.append(run_tests(tier, texts, [each for each in tests for _ in range(2)], seed))
    weakened = [artefact.weakened for artefact in artefacts]
    left = run_tests(tier, weakened, [discover(each).tests for each in weakened])
    mixed = [_put_back(artefact) for artefact in artefacts]
    single = [each for mine in mixed for each in mine.values()]
    ended = iter(run_tests(tier, single, [mine for mine, many in zip(tests, mixed, strict=True) for _ in many]))
    return [
        Runs(
            [run[2 * number] for run in again],
            [run[2 * number + 1] for run in again],
            left[number],
            {path: next(ended) for path in mixed[number]},
        )
        for number in range(len(artefacts))
    ]


def faults(artefact: Artefact, runs: Runs, least: Least | None = None) -> list[Fault]:
    """Every reason to refuse an artefact; none where it is consistent."""
    least = least or Least()
    edited = changed(artefact.original, artefact.bugged)
    sound, weak = broken(runs), _hidden(runs)
    reasons = {
        Fault.NO_TESTS: not discover(artefact.original).tests,
        Fault.TESTS_CHANGED: any(map(is_test_file, edited)),
        Fault.CODE_CHANGED: not all(map(is_test_file, changed(artefact.bugged, artefact.weakened))),
        Fault.FEW_FILES: len(edited) < least.files,
        Fault.FEW_PASS: len(passed(runs.original[0])) < least.passing,
        Fault.UNSTEADY: bool(unsteady(runs.original) | unsteady(runs.bugged)),
        Fault.IMPURE: any(_reaches(artefact.bugged, path) - _reaches(artefact.original, path) for path in edited),
        Fault.FEW_BREAK: len(sound) < least.broken,
        Fault.HIDES_LITTLE: len(weak) < least.hidden,
        Fault.NOTHING_LEFT: not passed(runs.weakened),
        Fault.IDLE_FILE: not all(sound & passed(runs.put_back.get(path, {})) for path in edited),
    }
    return [fault for fault, found in reasons.items() if found]


def broken(runs: Runs) -> set[str]:
    """The tests that pass on the original and not under the bug."""
    return passed(runs.original[0]) - passed(runs.bugged[0])


def unsteady(runs: Sequence[Results]) -> set[str]:
    """The tests that passed in some runs and not in others."""
    ended = [passed(results) for results in runs]
    return set().union(*ended) - set(ended[0]).intersection(*ended)


def repaired(before: Results, after: Results) -> bool:
    """Whether every test that passed on the original passes on a solver's code, which was `restored` before it ran.
    Raises RedQueenError where none passed on the original: there is nothing to tell by."""
    if not passed(before):
        raise RedQueenError("no test passes on the original: it cannot tell whether a bug is repaired")
    return passed(before) <= passed(after)


def _hidden(runs: Runs) -> set[str]:
    """The broken tests that the weakening took away or lets pass."""
    return broken(runs) - (runs.weakened.keys() - passed(runs.weakened))


def _reaches(repository: Repository, path: str) -> set[str]:
    """What a module uses that may differ from run to run, but for its imports of the repository's own modules."""
    own = {each.partition("/")[0].removesuffix(".py") for each in repository.files}
    try:
        found = all_barred(repository.files.get(path, ""))
    except Unread:
        return set()
    return {name for name in found if name != "." and name.partition(".")[0] not in own}


def _put_back(artefact: Artefact) -> dict[str, Repository]:
    """For each file that the bug changed, the bugged repository with that file as it was."""
    found = {}
    for path in changed(artefact.original, artefact.bugged):
        with suppress(BadEdit):  # a file that cannot be put back alone counts as one that need not be
            found[path] = artefact.bugged.put_back(path, artefact.original)
    return found
