"""`train`, `resume` and `watch`."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.live import Live

from redqueen.cli.words import only_word, parse
from redqueen.config import RECIPES, check_settings, find_recipe, unset
from redqueen.dashboard import Dashboard
from redqueen.logs import TerminalView, curve, overview
from redqueen.run import Run, Schedule, SettingsFile, guarded, read_final, read_metrics
from redqueen.stored import rebuild, settings
from redqueen.types import RedQueenError
from redqueen.versions import versions


def train(words: Sequence[str]) -> None:
    """RECIPE [flags]: trains; `redqueen train RECIPE --help` lists the flags"""
    if not words or words[0].startswith("-"):
        raise RedQueenError(f"name a recipe: redqueen train RECIPE, one of {', '.join(RECIPES)}")
    recipe = find_recipe(words[0])
    options = parse(_training_options(recipe.Config), words[1:], f"redqueen train {words[0]}")
    check_settings(options.config)
    name = f"{_title(words[0])}-{options.seed}"
    folder = options.output or _unused(Path("outputs") / name)
    if (folder / "config.json").exists():
        raise RedQueenError(f"{folder} already holds a run: choose another --output, or redqueen resume {folder}")
    config: dict[str, Any] = {
        "recipe": words[0],
        "config": dataclasses.asdict(options.config),
        "seed": options.seed,
        "schedule": dataclasses.asdict(options.schedule),
        "command": ["redqueen", "train", *words],
        "versions": versions(),
    }
    _train(folder, config, recipe)


def resume(words: Sequence[str]) -> None:
    """RUN: goes on from the newest checkpoint as if it had never stopped"""
    folder = Path(only_word(words, "redqueen resume RUN"))
    config = settings(folder)
    _train(folder, config, find_recipe(config["recipe"]))


def _train(folder: Path, settings: dict[str, Any], recipe: Any) -> None:
    config = rebuild(recipe.Config, settings["config"])
    schedule = rebuild(Schedule, settings["schedule"])
    console = Console()
    view = TerminalView(console)
    run = Run(folder, settings["seed"], schedule, [SettingsFile(settings), view])
    try:
        guarded(lambda: recipe.train(config, run), run)
    finally:
        view.close()
    lines = read_metrics(folder)
    final = read_final(folder)
    if lines:
        overview(lines[0], final, console, f"{settings['recipe']}: {folder}")
        for key, name in (("exploitability", "exploitability"), ("minimax_regret_reached", "regret where play comes")):
            values = [line[key] for line in lines if key in line]
            if values:
                console.print(f"{name} over {len(values)} measurements\n{curve(values)}", highlight=False)


@dataclass(frozen=True)
class WatchOptions:
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the folder of a run that goes on elsewhere"""
    once: bool = False
    """show it as it is now, and leave"""


def watch(words: Sequence[str]) -> None:
    """RUN: the dashboard of a run that is trained in another terminal; Ctrl-C leaves the run alone"""
    options = parse(WatchOptions, words, "redqueen watch")
    found = settings(options.run)
    steps = int(found["config"].get("steps", 0))
    console, board, seen = Console(), Dashboard(options.run), 0
    if options.once or not console.is_terminal:
        lines = read_metrics(options.run)
        for line in lines:
            board.add(line)
        done = lines[-1]["step"] + 1 if lines else 0
        console.print(f"{options.run}: {done} of {steps} steps", markup=False, highlight=False, soft_wrap=True)
        console.print(board)
        return
    with Live(board, console=console, refresh_per_second=2, screen=True):
        while not read_final(options.run):
            lines = read_metrics(options.run)
            if len(lines) < seen:  # it was resumed from an earlier step
                seen = 0
            for line in lines[seen:]:
                board.add(line)
            seen = len(lines)
            time.sleep(1.0)
    finished = f"{options.run} is finished: redqueen report {options.run}"
    console.print(finished, markup=False, highlight=False, soft_wrap=True)


def _training_options(config: type[Any]) -> type[Any]:
    """The recipe's own fields as flags, and those of every run."""
    if not dataclasses.is_dataclass(config):
        raise RedQueenError("the Config of a recipe must be a frozen dataclass whose fields all have defaults")
    try:
        default = config()
    except TypeError as error:
        raise RedQueenError(f"every field of a recipe's Config needs a default: {error}") from error
    flat = tyro.conf.arg(name="")
    return dataclasses.make_dataclass(
        "Training",
        [
            ("config", Annotated[config, flat], dataclasses.field(default=default)),
            ("schedule", Annotated[Schedule, flat], dataclasses.field(default=Schedule())),
            ("seed", int, dataclasses.field(default=0)),
            (
                "output",
                Annotated[
                    Path | None, unset("FOLDER"), tyro.conf.arg(help="of the run; outputs/RECIPE-SEED by default")
                ],
                None,
            ),
        ],
        frozen=True,
    )


def _title(recipe: str) -> str:
    """What a run of the recipe is called: the last part of a file's or a module's name."""
    return Path(recipe).stem if recipe.endswith(".py") else recipe.rpartition(".")[2]


def _unused(folder: Path) -> Path:
    """The folder, or the first of folder-2, folder-3, ... that is not there yet."""
    number, candidate = 1, folder
    while candidate.exists():
        number += 1
        candidate = folder.with_name(f"{folder.name}-{number}")
    return candidate
