"""The page of an experiment's file: for each experiment what was asked, shown and not shown, with its command."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from redqueen.measures.intervals import Interval, paired_difference, student_interval
from redqueen.runs.versions import versions
from redqueen.trials.experiment import Difference, Experiment, Rows, Trial, figure
from redqueen.trials.paired import Trials
from redqueen.trials.starts import Start

NOT_RUN = "Not run since"
SAME = 0.01  # the share by which updates or episodes of two variants may differ unsaid


@dataclass(frozen=True)
class Grid:
    """A table of text."""

    headings: tuple[str, ...]
    rows: Rows

    def markdown(self) -> str:
        """The table as Markdown; a bar within a cell is no border."""
        lines = [self.headings, *self.rows]
        shown = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
        return "\n".join([shown[0], "|" + "---|" * len(self.headings), *shown[1:]])


@dataclass(frozen=True)
class Section:
    """What one experiment or table comes to."""

    title: str
    asked: str
    grids: tuple[Grid, ...]
    lines: tuple[str, ...]  # under the tables

    def markdown(self) -> str:
        """The section of a page."""
        parts = [f"## {self.title}", self.asked, *(grid.markdown() for grid in self.grids), "\n".join(self.lines)]
        return "\n\n".join(part for part in parts if part) + "\n"


def section(experiment: Experiment, trials: Trials, command: str, seconds: float) -> Section:
    """What an experiment asked, and what its trials show and do not show."""
    verdict: Rows = []
    for each in experiment.compared:
        found = difference(experiment, trials, each)
        shown = found is not None and not found.low <= 0.0 <= found.high
        text = "never measured" if found is None else str(found)
        verdict.append((str(each), text if shown else "", "" if shown else text))
    figures: Rows = [
        (name, *(_cell([figure(trial, key, experiment.derived) for trial in group]) for key in experiment.figures))
        for name, group in trials.items()
    ]
    seeds = len(next(iter(trials.values())))
    start = _about_starts(experiment)
    since = f" from seed {experiment.first_seed}" if experiment.first_seed else ""
    dealt = ", test problems dealt anew for each" if experiment.measured(experiment.config, 0) else ""
    lines = [
        f"{seeds} paired seeds{since}{dealt}. "
        f"Means, and differences seed by seed, with 95 % intervals of Student's t.{start}",
        *experiment.notes,
        *unequal(experiment, trials),
        *described(experiment),
        f"Made by `{command}` in {seconds:.0f} processor seconds with {made_with()}.",
    ]
    grids = (Grid(("asked", "shown", "not shown"), verdict), Grid(("variant", *experiment.figures), figures))
    return Section(experiment.title, experiment.asked, grids, tuple(lines))


def difference(experiment: Experiment, trials: Trials, asked: Difference) -> Interval | None:
    """The paired difference and its interval; None if a figure was never measured."""
    ours = [figure(trial, asked.figure, experiment.derived) for trial in trials[asked.one]]
    other = asked.other_figure or asked.figure
    theirs = [figure(trial, other, experiment.derived) for trial in trials[asked.other]]
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        return None
    return paired_difference(ours, theirs)


def unequal(experiment: Experiment, trials: Trials) -> list[str]:
    """A line for each two compared variants that differ in their updates or in the episodes that they learn from."""
    lines = []
    pairs = dict.fromkeys((each.one, each.other) for each in experiment.compared if each.one != each.other)
    for one, other in pairs:
        for name, count in (("updates", _updates), ("episodes learned from", Trial.episodes)):
            ours, theirs = (float(np.mean([count(trial) for trial in trials[each]])) for each in (one, other))
            if abs(ours - theirs) > SAME * max(ours, theirs):
                lines.append(f"**Not as many {name}**: {one} {ours:.0f}, {other} {theirs:.0f}.")
    return lines


def described(experiment: Experiment) -> list[str]:
    """The settings that are not the defaults of their dataclass, and by which each variant differs. Paths below the
    current folder are named from there."""
    lines = [f"Settings: `{_settings(experiment.config)}`."]
    for name, changes in experiment.variants.items():
        shown = ", ".join(f"{key}={_shown(value)}" for key, value in changes.items())
        if shown:
            lines.append(f"{name}: `{shown}`.")
    return ["  \n".join(lines).replace(f"{Path.cwd()}{os.sep}", "")]


def write(path: Path, name: str, sections: Sequence[Section]) -> None:
    """Puts the sections into a page, in the place of those with the same titles, else before what was not run since.
    A section that was not run since, and now has been, is taken out there."""
    page = path.read_text(encoding="utf-8") if path.exists() else f"# {name}\n"
    head, *parts = re.split(r"(?m)^(?=## )", page)
    old = {re.match("## (.*)", part)[1]: part for part in parts}  # type: ignore[index]
    waiting = old.pop(NOT_RUN, "")
    for each in sections:
        old[each.title] = each.markdown()
        waiting = re.sub(rf"(?ms)^### {re.escape(each.title)}\n.*?(?=^### |\Z)", "", waiting)
    if re.search("(?m)^### ", waiting):
        old[NOT_RUN] = waiting
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(part.rstrip("\n") + "\n" for part in (head, *old.values()))
    path.write_text(text, encoding="utf-8")


def _updates(trial: Trial) -> float:
    return float(trial.updates)


def _cell(values: Sequence[float]) -> str:
    return str(student_interval(values)) if np.isfinite(values).all() else "none"


def _about_starts(experiment: Experiment) -> str:
    if not experiment.warm():
        return ""
    whose = "one warm start for all seeds" if experiment.one_start else "a warm start of its own for each seed"
    return f" There is {whose}, which is shown none of the problems that measure."


def _settings(config: Any) -> str:
    """The fields of a config that are not at their defaults."""
    found = [
        f"{each.name}={_shown(getattr(config, each.name))}"
        for each in fields(config)
        if getattr(config, each.name) != (each.default if each.default_factory is MISSING else each.default_factory())
    ]
    return ", ".join(found) or f"the defaults of {type(config).__module__}.{type(config).__name__}"


def _shown(value: Any) -> str:
    if isinstance(value, Start):
        return "another warm start"
    return f"({_settings(value)})" if is_dataclass(value) and not isinstance(value, type) else repr(value)


def made_with() -> str:
    """The versions and the machine, in one line."""
    made: Mapping[str, Any] = versions()
    return (
        f"redqueen {made['redqueen']}, torch {made['torch']}, transformers {made['transformers']}, "
        f"Python {made['python']}, {made['cores']} cores, {made['platform']}"
    )
