"""Runs the experiments of a file, prints what they come to and writes their page."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.table import Table as Shown

from redqueen.settings.limits import Count, Within, unset
from redqueen.trials.experiment import Experiment, Table, check_seeds
from redqueen.trials.pages import Grid, Section, made_with, section, write
from redqueen.trials.paired import Asked, trials_of
from redqueen.trials.shipped import experiments_of, folder_of
from redqueen.types import RedQueenError


@dataclass(frozen=True)
class HowMuch:
    """How much is run of an experiment, and where its page goes."""

    seeds: Annotated[int | None, Within(1), unset("INT")] = None
    """each variant is run with every one of them; by default ten where one takes less than a minute of processor time,
    else five"""
    steps: Annotated[int | None, Within(1), unset("INT")] = None
    """steps of each training; the experiment's own by default"""
    repeats: Count = 3
    """of each measurement of time; the median counts"""
    results: Annotated[Path | None, unset("FOLDER")] = None
    """where the page NAME.md is written; the folder `results` beside the experiment's file by default"""

    def flags(self) -> str:
        """The flags that are not at their defaults, as they are typed."""
        given = {"seeds": self.seeds, "steps": self.steps, "repeats": self.repeats if self.repeats != 3 else None}
        return "".join(f" --{name} {value}" for name, value in given.items() if value is not None)


def run(spec: str, how: HowMuch, command: str, console: Console) -> Path:
    """Runs a file (`absolute_zero`, `path/to/file.py`) or one experiment of it (`absolute_zero:frontier`), and returns
    the page that was written."""
    file, _, only = spec.partition(":")
    if how.seeds is not None:
        check_seeds(how.seeds)
    found = experiments_of(file)
    if only and only not in found:
        raise RedQueenError(f"{file} has no experiment {only!r}: there are {', '.join(found)}")
    name = Path(file).with_suffix("").name if file.endswith(".py") else file
    path = (how.results or folder_of(file) / "results") / f"{name}.md"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)  # before hours of trials
    except OSError as error:
        raise RedQueenError(f"cannot write to the folder {path.parent}: {error.strerror}") from None
    for each in [only] if only else found:
        console.print(f"[bold]{each}[/bold]", highlight=False)
        line = f"{command} {file}:{each}{how.flags()}"
        made = _made(Asked(file, each, how.seeds, how.steps), found[each], how, line, console)
        _print(made, console)
        write(path, name, [made])  # at once: a later one may be interrupted
    console.print(f"written to {path}", highlight=False, soft_wrap=True)
    return path


def _made(asked: Asked, what: Experiment | Table, how: HowMuch, command: str, console: Console) -> Section:
    began = time.perf_counter()
    if isinstance(what, Experiment):
        what = what if how.steps is None else what.with_steps(how.steps)
        trials = trials_of(asked, what, lambda line: console.print(f"  {line}", highlight=False, markup=False))
        return section(what, trials, command, sum(trial.seconds for group in trials.values() for trial in group))
    headings, rows, note = what.make(how.repeats)
    lines = [note] if note else []
    lines.append(f"Made by `{command}` in {time.perf_counter() - began:.0f} s with {made_with()}.")
    return Section(what.title, what.asked, (Grid(headings, rows),), tuple(lines))


def _print(made: Section, console: Console) -> None:
    console.print(made.asked, highlight=False, markup=False)
    for grid in made.grids:
        shown = Shown(title=made.title)
        for heading in grid.headings:
            shown.add_column(heading, overflow="fold")  # a narrow window loses no figure
        for row in grid.rows:
            shown.add_row(*row)
        console.print(shown)
    for line in made.lines:
        console.print(line, highlight=False, markup=False)
