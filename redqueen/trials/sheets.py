"""Tables of results, and the page that keeps them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from redqueen.runs.versions import versions
from redqueen.settings.limits import Count, Within, unset

Rows = list[tuple[str, ...]]
Result = tuple[str, tuple[str, ...], Rows, str]  # title, headings, rows, note


@dataclass(frozen=True)
class Bench:
    names: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="NAME...")] = (
        "constants",
        "head_to_head",
        "kuhn",
        "update",
        "sampling",
        "many_games",
        "long_games",
        "step",
    )
    """constants, head_to_head, kuhn, leduc, tic_tac_toe; staleness, slow_player; league; proposers, proposer_sweeps,
    self_taught, novel_proposals, digit_play, frontier, evolving_prompts, staircase, sums, weaknesses, rationales,
    variational, growing_texts, dual_play, tool_play, search_play, search_frontier, unlabelled, majorities;
    spin_expected, preference_tables, spin_chain, chosen_and_rejected, ditto, dilemma, sharing, second_try,
    verified_sums, red_styles, red_team, red_team_without_thoughts, critic; speed: python_code, update, sampling,
    many_games, long_games, step, live_view"""
    seeds: Count = 5
    """each method is trained with every one of them"""
    steps: Annotated[int | None, Within(1), unset("INT")] = None
    """updates of each training; each comparison has its own default"""
    repeats: Count = 3
    """of each measurement of speed; the median counts"""
    write: Annotated[Path | None, unset("PATH")] = None
    """a Markdown file, such as docs/benchmarks.md, whose tables of the same titles are replaced"""


@dataclass(frozen=True)
class Sheet:
    """One table of results, and how it was made."""

    name: str
    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str
    seconds: float

    def screen(self) -> Table:
        table = Table(title=self.title, caption=f"{self.note} {self.seconds:.0f} s".strip())
        for heading in self.headings:
            table.add_column(heading, overflow="fold")  # a narrow window loses no figure
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self, options: Bench) -> str:
        lines = [
            f"## {self.title}",
            "",
            _line(self.headings),
            "|" + "---|" * len(self.headings),
            *map(_line, self.rows),
            "",
            f"{self.note} {self.seconds:.0f} s.".strip(),
            f"Made by `python -m experiments {self.name}{_flags(options)}` with {_with()}.",
        ]
        return "\n".join(lines) + "\n"


Benches = Mapping[str, Callable[[Bench, Console], Result]]


def write(sheets: list[Sheet], options: Bench, path: Path) -> None:
    """Puts the tables into a page: in the place of those with the same titles, or at its end."""
    page = path.read_text() if path.exists() else "# Benchmarks\n"
    sections = re.split(r"(?m)^(?=## )", page)
    for sheet in sheets:
        text = sheet.markdown(options)
        old = [number for number, section in enumerate(sections) if section.startswith(f"## {sheet.title}\n")]
        if old:
            sections[old[0]] = text
        else:
            sections.append(text)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(section.rstrip("\n") + "\n" for section in sections))


def _line(cells: Sequence[str]) -> str:
    """A row of a Markdown table, in which a bar within a cell is no border."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _flags(options: Bench) -> str:
    usual = Bench()
    given = {"seeds": options.seeds, "repeats": options.repeats, "steps": options.steps}
    default = {"seeds": usual.seeds, "repeats": usual.repeats, "steps": usual.steps}
    return "".join(f" --{name} {value}" for name, value in given.items() if value != default[name])


def _with() -> str:
    made = versions()
    return (
        f"redqueen {made['redqueen']}, torch {made['torch']}, transformers {made['transformers']}, "
        f"Python {made['python']}, {made['cores']} cores, {made['platform']}"
    )
