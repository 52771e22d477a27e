"""`train`, `resume` and `watch`."""

from __future__ import annotations

import ast
import dataclasses
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from shlex import quote
from types import ModuleType
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console
from rich.live import Live

from redqueen.cli.own_files import FileOptions, field_of_questions, notes_on, with_file
from redqueen.cli.words import flags_of, parse
from redqueen.runs.checkpoints import checkpoints, facts_of
from redqueen.runs.collapse import Watch
from redqueen.runs.folder import rebuild, settings
from redqueen.runs.leaving import steps_are_ended
from redqueen.runs.metrics import NewLines
from redqueen.runs.run import Line, Schedule, alarms_of, read_final, read_metrics, to_go_on
from redqueen.runs.train import begun, budget_of, described, holds_run, trained
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.settings.fitting import fitting
from redqueen.settings.limits import Within, check_settings, unset
from redqueen.settings.presets import PRESETS, expanded
from redqueen.settings.profiles import profiled
from redqueen.settings.update import Update
from redqueen.types import RedQueenError
from redqueen.views.dashboard import Dashboard
from redqueen.views.terminal import REFRESHES, TerminalView, curve, lasting_console, overview
from redqueen.views.trackers import Name as Tracked
from redqueen.views.trackers import report_settings, reporting_to


def train(words: Sequence[str]) -> None:
    """RECIPE [flags] or --like RUN [flags]: trains; `redqueen train RECIPE --help` lists the flags"""
    usual = _liked(words)
    named = bool(words) and not words[0].startswith("-")
    if not named and usual is None:
        raise RedQueenError(f"name a recipe: redqueen train RECIPE, one of {', '.join(RECIPES)}")
    name, flags = (words[0], words[1:]) if named else (usual["recipe"] if usual else "", words)
    if usual is not None and usual["recipe"] != name:
        raise RedQueenError(f"a run of {usual['recipe']} has no settings for {name}: leave out one of them")
    recipe = find_recipe(name)
    kind = training_options(recipe.Config, usual)
    flags, profile = profiled(flags, recipe.Config)
    flags, preset = expanded(flags)
    if preset and not takes_presets(recipe.Config):
        raise RedQueenError(f"{name} takes no --preset, which sets flags of the update: redqueen train grpo has them")
    options = parse(kind, flags, f"redqueen train {name}")
    config = with_file(options.config, options.file) if field_of_questions(recipe.Config) else options.config
    config, chosen = preset.fitted(config) if preset else (config, [])
    check_settings(config)
    folder = options.output or _unused(Path("outputs") / f"{_title(name)}-{options.seed}")
    if holds_run(folder):
        raise RedQueenError(
            f"{folder} already holds a run: choose another --output, or redqueen resume {quote(str(folder))}"
        )
    config, too_long = fitting(config)
    command = ["redqueen", "train", *words]
    found = described(name, config, options.seed, options.schedule, options.watch, command)
    for line in [*filter(None, [profile, too_long]), *chosen, *notes_on(config)]:
        lasting_console().print(line, markup=False, highlight=False, soft_wrap=True)
    _train(folder, found | report_settings(options.report_to), recipe)


def _liked(words: Sequence[str]) -> dict[str, Any] | None:
    """The settings of the run that the flag --like names; None without it."""
    for place, word in enumerate(words):
        flag, equals, run = word.partition("=")
        if flag == "--like":
            if not equals and place + 1 == len(words):
                raise RedQueenError("--like needs the folder of a run, such as outputs/spiral-0")
            return settings(Path(run if equals else words[place + 1]))
    return None


@dataclass(frozen=True)
class ResumeOptions:
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the folder of a run, such as outputs/spiral-0"""
    steps: Annotated[int | None, Within(1), unset("INT")] = None
    """steps in all, more than there were: a finished run is made longer; those it was started with by default"""
    budget: Annotated[int | None, Within(1), tyro.conf.arg(name="judge.budget", metavar="INT")] = None
    """calls of its judge at most, where it was started with a budget: one that was spent is raised"""


def resume(words: Sequence[str]) -> None:
    """RUN [--steps N]: goes on from the newest checkpoint as if it had never stopped, or up to N steps"""
    options = parse(ResumeOptions, words, "redqueen resume")
    check_settings(options)
    found = settings(options.run)
    recipe = find_recipe(found["recipe"])
    if options.steps is not None:
        found["config"] = _longer(options.run, found, recipe, options.steps)
    if options.budget is not None:
        found["config"] = _paying(options.run, found["config"], options.budget)
    _train(options.run, found, recipe)


def _longer(run: Path, found: Mapping[str, Any], recipe: ModuleType, steps: int) -> dict[str, Any]:
    """The config of a run with more steps. Raises RedQueenError where that makes no sense."""
    before = found["config"].get("steps")
    if before is None:
        raise RedQueenError(f"the recipe {found['recipe']} has no setting steps that could be changed")
    saved = checkpoints(run)
    done = facts_of(saved[-1])["step"] if saved else 0
    if steps <= done:
        raise RedQueenError(f"{run} has done {done} steps: --steps must be more, not {steps}")
    if steps != before and (where := rests_on_steps(recipe)):
        raise RedQueenError(
            f"{found['recipe']} has a schedule over all its {before} steps ({where}), so {steps} steps are another "
            f"run: redqueen train --like {run} --steps {steps}"
        )
    kind = found["config"].get("learner", {}).get("optimization", {}).get("schedule", "constant")
    if steps != before and kind != "constant":
        raise RedQueenError(
            f"the {kind} schedule of {run} is over all its {before} steps, so {steps} steps are another run: "
            f"redqueen train --like {run} --steps {steps}"
        )
    if steps != before and found["config"].get("update", {}).get("clip_high_end") is not None:
        raise RedQueenError(
            f"--clip-high-end of {run} is where its clip goes over all its {before} steps, so {steps} steps are "
            f"another run: redqueen train --like {run} --steps {steps}"
        )
    return {**found["config"], "steps": steps}


def _paying(run: Path, config: Mapping[str, Any], budget: int) -> dict[str, Any]:
    """The config of a run with another budget of its judge. Raises RedQueenError where it has none."""
    if budget_of(config) is None:
        raise RedQueenError(f"{run} was started without --judge.budget, so there is none to raise: leave it out")
    return {**config, "judge": {**config["judge"], "budget": budget}}


def rests_on_steps(recipe: ModuleType) -> str:
    """Where a recipe uses its number of steps for more than `run.steps(config.steps, ...)`, "FILE, line N"; "" where it
    does not."""
    path, config = Path(str(recipe.__file__)), next(iter(signature(recipe.train).parameters))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    counts = [
        node.args[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".steps") and node.args
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) == f"{config}.steps" and node not in counts:
            return f"{path.name}, line {node.lineno}"
    return ""


def _train(folder: Path, settings: dict[str, Any], recipe: ModuleType) -> None:
    console = lasting_console()
    view = TerminalView(console)
    trackers = reporting_to(settings, lambda text: console.print(text, markup=False, highlight=False, soft_wrap=True))
    run = begun(folder, settings, [view, *trackers])
    view.wait()
    try:
        with steps_are_ended(run):
            trained(recipe, settings, run)
    except KeyboardInterrupt:
        nothing = "nothing was begun"
        raise KeyboardInterrupt(to_go_on(folder) if run.began or checkpoints(folder) else nothing) from None
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
        for key, name in CURVES:
            values = [line[key] for line in (*lines, final) if key in line]
            if values:
                count = f"{len(values)} measurements" if len(values) > 1 else "1 measurement"
                console.print(f"{name} over {count}\n{curve(values)}", highlight=False)
        for words in filter(None, alarms_of(lines[-1]).values()):
            console.print(f"at the end: ALARM {words}", style="red", markup=False, highlight=False, soft_wrap=True)


CURVES = (  # that are drawn at the end of a training, where they are measured
    ("mean_score", "mean score"),
    ("exploitability", "exploitability"),
    ("minimax_regret_reached", "regret where play comes"),
)


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


def training_options(config: type[Any], usual: Mapping[str, Any] | None = None) -> type[Any]:
    """The recipe's own fields as flags, and those of every run; their defaults are the settings of a run where these
    are given as `usual`."""
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
    told = tyro.conf.arg(help=f"flags of the update that go together: {', '.join(PRESETS)} (redqueen list presets)")
    of_presets = [("preset", Annotated[str | None, unset("NAME"), told], None)] if takes_presets(config) else []
    schedule, watch, seed = Schedule(), Watch(), 0
    if usual is not None:
        default, seed = rebuild(config, usual["config"]), usual["seed"]
        schedule, watch = rebuild(Schedule, usual["schedule"]), rebuild(Watch, usual.get("watch", {}))
    training = dataclasses.make_dataclass(
        "Training",
        [
            ("config", Annotated[config, flat], dataclasses.field(default=default)),
            *of_files,
            *of_presets,
            ("schedule", Annotated[Schedule, flat], dataclasses.field(default=schedule)),
            ("watch", Annotated[Watch, flat], dataclasses.field(default=watch)),
            ("seed", int, dataclasses.field(default=seed)),
            (
                "output",
                Annotated[
                    Path | None, unset("FOLDER"), tyro.conf.arg(help="of the run; outputs/RECIPE-SEED by default")
                ],
                None,
            ),
            (
                "profile",
                Annotated[
                    Literal["laptop", "gpu", "own"] | None,
                    unset("{laptop,gpu,own}"),
                    tyro.conf.arg(
                        help="sizes for a kind of machine; it prints the defaults that differ. A pretrained model on a "
                        "CPU has those of a laptop, own takes the recipe's own"
                    ),
                ],
                None,
            ),
            (
                "like",
                Annotated[
                    Path | None,
                    unset("RUN"),
                    tyro.conf.arg(help="a run whose settings are taken where no other flag is given"),
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


def takes_presets(config: type[Any]) -> bool:
    """Whether a recipe has the settings of an update, which presets set."""
    return any(isinstance(field.default, Update) for field in dataclasses.fields(config))


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
