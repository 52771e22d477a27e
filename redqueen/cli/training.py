"""`train`, `resume` and `watch`."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.live import Live

from redqueen.cli.own_files import FileOptions, field_of_questions, notes_on, with_file
from redqueen.cli.words import flags_of, only_word, parse
from redqueen.runs.collapse import Watch
from redqueen.runs.folder import settings
from redqueen.runs.metrics import NewLines
from redqueen.runs.run import Line, Schedule, alarms_of, read_final, read_metrics
from redqueen.runs.train import begun, described, holds_run, trained
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.settings.limits import check_settings, unset
from redqueen.types import RedQueenError
from redqueen.views.dashboard import Dashboard
from redqueen.views.terminal import REFRESHES, TerminalView, curve, lasting_console, overview
from redqueen.views.trackers import Name as Tracked
from redqueen.views.trackers import report_settings, reporting_to


def train(words: Sequence[str]) -> None:
    """RECIPE [flags]: trains; `redqueen train RECIPE --help` lists the flags"""
    if not words or words[0].startswith("-"):
        raise RedQueenError(f"name a recipe: redqueen train RECIPE, one of {', '.join(RECIPES)}")
    recipe = find_recipe(words[0])
    options = parse(_training_options(recipe.Config), words[1:], f"redqueen train {words[0]}")
    config = with_file(options.config, options.file) if field_of_questions(recipe.Config) else options.config
    check_settings(config)
    name = f"{_title(words[0])}-{options.seed}"
    folder = options.output or _unused(Path("outputs") / name)
    if holds_run(folder):
        raise RedQueenError(f"{folder} already holds a run: choose another --output, or redqueen resume {folder}")
    command = ["redqueen", "train", *words]
    found = described(words[0], config, options.seed, options.schedule, options.watch, command)
    for line in notes_on(config):
        lasting_console().print(line, markup=False, highlight=False, soft_wrap=True)
    _train(folder, found | report_settings(options.report_to), recipe)


def resume(words: Sequence[str]) -> None:
    """RUN: goes on from the newest checkpoint as if it had never stopped"""
    folder = Path(only_word(words, "redqueen resume RUN"))
    config = settings(folder)
    _train(folder, config, find_recipe(config["recipe"]))


def _train(folder: Path, settings: dict[str, Any], recipe: ModuleType) -> None:
    console = lasting_console()
    view = TerminalView(console)
    trackers = reporting_to(settings, lambda text: console.print(text, markup=False, highlight=False, soft_wrap=True))
    run = begun(folder, settings, [view, *trackers])
    try:
        trained(recipe, settings, run)
    finally:
        view.close()
        for tracker in trackers:
            tracker.close()
    lines = read_metrics(folder)
    final = read_final(folder)
    if run.stopped:
        console.print(f"stopped: {run.stopped}", style="red", markup=False, highlight=False, soft_wrap=True)
    if lines:
        overview(lines[0], final, console, f"{settings['recipe']}: {folder}")
        for key, name in (("exploitability", "exploitability"), ("minimax_regret_reached", "regret where play comes")):
            values = [line[key] for line in (*lines, final) if key in line]
            if values:
                count = f"{len(values)} measurements" if len(values) > 1 else "1 measurement"
                console.print(f"{name} over {count}\n{curve(values)}", highlight=False)
        for words in filter(None, alarms_of(lines[-1]).values()):
            console.print(f"at the end: ALARM {words}", style="red", markup=False, highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class WatchOptions:
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the folder of a run that is trained in another terminal"""
    once: bool = False
    """print the current state once, and exit"""


def watch(words: Sequence[str]) -> None:
    """RUN: the dashboard of a run that is trained in another terminal; Ctrl-C leaves the run alone"""
    options = parse(WatchOptions, words, "redqueen watch")
    found = settings(options.run)
    steps = int(found["config"].get("steps", 0))
    console, lines = Console(), NewLines(options.run)
    board = _board(options.run, steps, lines.read()[0])
    if options.once or not console.is_terminal:
        done = f"{options.run}: {board.done} of {steps} steps"
        console.print(done, markup=False, highlight=False, soft_wrap=True)
        console.print(board)
        console.print()  # a dashboard leaves its last line open
        return
    try:
        with Live(board, console=console, refresh_per_second=REFRESHES, screen=True) as live:
            while not read_final(options.run):
                time.sleep(1.0)
                new, again = lines.read()
                if again:  # it was resumed from an earlier step
                    live.update(board := Dashboard(options.run, steps))
                for line in new:
                    board.add(line)
    except KeyboardInterrupt:
        return
    finished = f"{options.run} is finished: redqueen report {options.run}"
    console.print(finished, markup=False, highlight=False, soft_wrap=True)


def _board(run: Path, steps: int, lines: Sequence[Line]) -> Dashboard:
    board = Dashboard(run, steps)
    for line in lines:
        board.add(line)
    board.finish(read_final(run))
    return board


def _training_options(config: type[Any]) -> type[Any]:
    """The recipe's own fields as flags, and those of every run."""
    if not dataclasses.is_dataclass(config):
        raise RedQueenError("the Config of a recipe must be a frozen dataclass whose fields all have defaults")
    try:
        default = config()
    except TypeError as error:
        raise RedQueenError(f"every field of a recipe's Config needs a default: {error}") from error
    flat = tyro.conf.arg(name="")
    of_files: list[Any] = []
    if field_of_questions(config):
        of_files = [("file", Annotated[FileOptions, flat], dataclasses.field(default=FileOptions()))]
    training = dataclasses.make_dataclass(
        "Training",
        [
            ("config", Annotated[config, flat], dataclasses.field(default=default)),
            *of_files,
            ("schedule", Annotated[Schedule, flat], dataclasses.field(default=Schedule())),
            ("watch", Annotated[Watch, flat], dataclasses.field(default=Watch())),
            ("seed", int, dataclasses.field(default=0)),
            (
                "output",
                Annotated[
                    Path | None, unset("FOLDER"), tyro.conf.arg(help="of the run; outputs/RECIPE-SEED by default")
                ],
                None,
            ),
            (
                "report_to",
                Annotated[
                    tuple[Tracked, ...],
                    tyro.conf.arg(
                        metavar="TRACKER...",
                        help="one or more of wandb, tensorboard, mlflow, trackio; none by default",
                        help_behavior_hint="",
                    ),
                ],
                (),
            ),
        ],
        frozen=True,
    )
    twice = [flag for flag, count in Counter(flags_of(training)).items() if count > 1]
    if twice:
        raise RedQueenError(f"no field of a recipe's Config can make {twice[0]}: there is such a flag already")
    return training


def _title(recipe: str) -> str:
    """The name of a recipe's runs: that of its file or folder, or the last part of its module's name."""
    path = Path(recipe).resolve()
    if recipe.endswith(".py"):
        return path.parent.name if path.name == "recipe.py" else path.stem
    return path.name if path.is_dir() and recipe not in RECIPES else recipe.rpartition(".")[2]


def _unused(folder: Path) -> Path:
    """The folder, or the first of folder-2, folder-3, ... that does not exist."""
    number, candidate = 1, folder
    while candidate.exists():
        number += 1
        candidate = folder.with_name(f"{folder.name}-{number}")
    return candidate
