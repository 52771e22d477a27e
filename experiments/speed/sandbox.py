"""How fast programs of models are run: in Monty, in the jail, and with no walls at all, in turns, in one run.

The programs are our own and harmless: without walls they are handed to `exec` in the two processes of a
`ProcessPoolExecutor`, which is what published systems do with what a model wrote.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from itertools import count
from multiprocessing import get_context
from statistics import median
from typing import Any

from redqueen.checks.sandbox.jail import Jail, why_not
from redqueen.checks.sandbox.literals import literal
from redqueen.checks.sandbox.monty import Monty
from redqueen.checks.sandbox.runs_of_programs import Kind, Program, Tier
from redqueen.trials.experiment import Made, Rows, Table

WORKERS = 2
CHUNK = 50  # programs that `exec` is sent at once
SMALL = "def f(x):\n    return x * 2 + {number}\n"
LONGER = """
def f(text):
    counts = {{}}
    for c in text:
        counts[c] = counts.get(c, 0) + {number}
    total = 0
    for n in range(2, 60):
        if all(n % k for k in range(2, int(n**0.5) + 1)):
            total += n
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])), total
"""
WORKS = (("x * 2 + n", SMALL, 3), ("letters counted and sorted, primes to 60", LONGER, "mississippi"))

Place = Callable[[list[Program]], list[str]]  # the literals of the values


def python_code(repeats: int, programs: int = 2000, jailed: int = 400) -> Made:
    """Programs a second in each place. All programs differ, also between repeats."""
    rows: Rows = []
    with ExitStack() as open_until_the_end:
        bare = open_until_the_end.enter_context(ProcessPoolExecutor(WORKERS, get_context("spawn")))
        places: list[tuple[Place, int]] = [
            (lambda asked: list(bare.map(_without_walls, asked, chunksize=CHUNK)), programs),
            (_in(open_until_the_end.enter_context(Monty(workers=WORKERS))), programs),
        ]
        if not why_not():
            places.append((_in(open_until_the_end.enter_context(Jail(workers=WORKERS))), jailed))
        for name, source, argument in WORKS:
            rows.append((name, *_cells(_rates(repeats, places, source, argument))))
    headings = ("program", "exec, no walls: a second", "Monty: a second", "as fast", "jail: a second", "as fast")
    note = f"{WORKERS} workers each, {programs} programs a repeat and {jailed} in the jail, all different. {why_not()}"
    return headings, rows, note.strip()


def _in(tier: Tier) -> Place:
    def run(programs: list[Program]) -> list[str]:
        verdicts = tier.run(programs)
        assert all(verdict.kind is Kind.VALUE for verdict in verdicts), "every program of the bench has a value"
        return [verdict.value for verdict in verdicts]

    return run


def _without_walls(program: Program) -> str:
    space: dict[str, Any] = {}
    exec(program.source, space)
    return literal(space[program.function](*program.arguments))


def _rates(repeats: int, places: list[tuple[Place, int]], source: str, argument: object) -> list[float]:
    """Programs a second in each place: medians, after one round that does not count."""
    numbers = count(1)
    seconds: list[list[float]] = [[] for _ in places]
    for repeat in range(repeats + 1):
        written = [Program(source.format(number=next(numbers)), "f", (argument,)) for _ in range(places[0][1])]
        values: list[str] = []
        for spent, (place, much) in zip(seconds, places, strict=True):
            began = time.perf_counter()
            given = place(written[:much])
            if repeat:
                spent.append((time.perf_counter() - began) / much)
            values = values or given
            assert given == values[:much], "the places agree"
    return [1 / median(spent) for spent in seconds]


def _cells(rates: list[float]) -> list[str]:
    bare, *walled = rates
    cells = [f"{bare:.0f}"]
    for rate in walled:
        cells += [f"{rate:.0f}", f"{rate / bare:.3f}"]
    return cells + ["-"] * (6 - 1 - len(cells))


PYTHON_CODE = Table("Programs that models write", "What do walls around programs cost?", python_code)
