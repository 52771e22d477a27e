"""A training from Python, kept as `redqueen train` keeps it.

    train("magnetic", magnetic.Config(steps=100), Path("outputs/mine"), seed=1)

The folder has its `config.json`, from which the commands build a run again (`report`, `replay`, `evaluate`, `resume`,
...). The same call again goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from redqueen.games.catalogue import find_game
from redqueen.play.lockstep import check_ends
from redqueen.protocols import Measure, Policy, Resumable
from redqueen.records import flat, plain
from redqueen.runs.checkpoints import changed_files, facts_of, read_checkpoint
from redqueen.runs.collapse import Watch
from redqueen.runs.folder import Saved, chosen_checkpoint, games_named, rebuild, settings, stored_checkpoint
from redqueen.runs.run import LOCK, Run, Schedule, SettingsFile, Watcher, bases_of_measures, guarded, numbers
from redqueen.runs.versions import versions
from redqueen.settings.finding import find_recipe
from redqueen.settings.fitting import fitting
from redqueen.settings.learner import Learner
from redqueen.settings.limits import check_settings
from redqueen.trust.door import shut
from redqueen.trust.reading import is_hollow
from redqueen.types import Basis, Metrics, RedQueenError

UNBEGUN = (LOCK, ".config.json.writing")  # what a training leaves that is killed before it begins
SAME = ("recipe", "config", "seed", "schedule", "watch")  # what makes two trainings one


def train(
    recipe: str,
    config: Any,
    folder: Path,
    seed: int = 0,
    schedule: Schedule = Schedule(),
    watch: Watch = Watch(),
    watchers: Sequence[Watcher] = (),
) -> Policy:
    """Trains and returns what the recipe returns. `recipe` is what `redqueen train` is given: the name of a shipped
    one, a file, a dotted module; `config` is its `Config`. Watchers look on, such as `logs.TerminalView`.

    A folder in which the same training was begun is gone on with, as if it had never stopped. Raises RedQueenError
    where it holds another one or something else, and for settings that cannot be."""
    if isinstance(config, type) or not is_dataclass(config):
        raise RedQueenError(f"config must be a Config() of the recipe {recipe}, not {config!r}")
    check_settings(config)
    module = find_recipe(recipe)
    config, too_long = fitting(config)
    if too_long:
        warnings.warn(too_long, stacklevel=2)
    wanted = described(recipe, config, seed, schedule, watch, ["python", *sys.argv])
    if holds_run(folder):
        found = settings(folder)
        others = [name for name in SAME if name in found and found[name] != plain(wanted[name])]
        if others:
            raise RedQueenError(
                f"{folder} holds a run of another {' and '.join(others)}: choose another folder, or "
                f"redqueen resume {quote(str(folder))}"
            )
        wanted = found
    return trained(module, wanted, begun(folder, wanted, watchers))


def described(
    recipe: str, config: Any, seed: int, schedule: Schedule, watch: Watch, command: Sequence[str]
) -> dict[str, Any]:
    """What `config.json` says of a training."""
    return {
        "recipe": recipe,
        "config": asdict(config),
        "seed": seed,
        "tests": seed,
        "schedule": asdict(schedule),
        "watch": asdict(watch),
        "command": list(command),
        "versions": versions(),
    }


def holds_run(folder: Path) -> bool:
    """Whether there is a run in the folder. Raises RedQueenError where there is something else."""
    if (folder / "config.json").exists():
        return True
    if folder.is_dir() and any(each.name not in UNBEGUN for each in folder.iterdir()):
        raise RedQueenError(f"{folder} holds something that is no run: choose a new or an empty folder")
    return False


def begun(folder: Path, settings: dict[str, Any], watchers: Sequence[Watcher]) -> Run:
    """A run with these settings, which it writes down once it really begins."""
    schedule, watch = rebuild(Schedule, settings["schedule"]), rebuild(Watch, settings.get("watch", {}))
    tests = settings.get("tests", 0)  # runs of before had one set of tests for all seeds
    check_settings(schedule)
    check_settings(watch)
    run = Run(folder, settings["seed"], schedule, [SettingsFile(settings), *watchers], watch, tests=tests)
    run.identity = identity(settings)
    run.files = files_named(settings["config"])
    return run


def identity(settings: Mapping[str, Any]) -> str:
    """A digest of what makes a run this one, all but its number of steps and the budget of its judge: its checkpoints
    fit no other."""
    config = {name: value for name, value in settings["config"].items() if name != "steps"}
    if budget_of(config) is not None:
        config["judge"] = {**config["judge"], "budget": None}
    told = [settings["recipe"], config, settings["seed"], settings.get("tests", 0)]
    return hashlib.sha256(json.dumps(plain(told), sort_keys=True, default=str).encode()).hexdigest()


def budget_of(config: Mapping[str, Any]) -> int | None:
    """The calls that the judge of a run may be asked for; None without a judge or a limit."""
    judge = config.get("judge")
    return judge.get("budget") if isinstance(judge, Mapping) else None


def files_named(config: Mapping[str, Any]) -> dict[str, str]:
    """Digests of the files that settings name, such as a data set or a game of the user's own, by their names there."""
    words = {word for value in flat(config).values() for word in re.split(r"[:=,()#'\"]", value)}
    digests: dict[str, str] = {}
    for word in sorted(words):
        path = os.path.expanduser(word)
        if os.path.splitext(path)[1] and os.path.isfile(path) and not is_hollow(os.stat(path)):
            with suppress(OSError), open(path, "rb") as file:
                digests[word] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def warn_of_changed_files(folder: Path, step: Saved = None) -> None:
    """Warns of the files of data named by a run's settings that are not as they were when its checkpoint was written;
    of code that has changed the door speaks."""
    now, chosen = files_named(settings(folder)["config"]), chosen_checkpoint(folder, step)
    for name in changed_files(facts_of(chosen), now):
        if not name.endswith(".py"):
            warnings.warn(
                f"{name} has changed since {chosen} was written, and is measured as it is now: problems that were "
                "trained on may be among those held out",
                stacklevel=2,
            )


def trained(recipe: ModuleType, settings: dict[str, Any], run: Run) -> Policy:
    """The policy at the end of the run. Raises RedQueenError before its first step for a game that does not end, and
    for settings of a solver where no game has one."""
    config = rebuild(recipe.Config, settings["config"])
    check_settings(config)
    games = [find_game(spec) for spec in games_named(settings)]
    for game in games:
        check_ends(game)
    if games:
        refuse_solver(config, [role for game in games for role in game.roles])
    return guarded(lambda: recipe.train(config, run), run)


def measured(folder: Path, step: Saved = None) -> tuple[int, Metrics, dict[str, Basis]]:
    """What the recipe of a run measures, of the newest checkpoint or of the one after `step` updates: the number of its
    updates, the figures, and what they rest on. Nothing in the folder changes."""
    found = settings(folder)
    schedule = rebuild(Schedule, found["schedule"])
    with TemporaryDirectory() as elsewhere, shut():
        run = _Measuring(Path(elsewhere), found["seed"], schedule, tests=found.get("tests", 0))
        run.checkpoint = stored_checkpoint(folder, step)
        with suppress(_Measured):
            trained(find_recipe(found["recipe"]), found, run)
        return run.step, run.figures, run.bases


class _Measured(Exception):
    """A training has come to its loop, of which only the measures were wanted."""


class _Measuring(Run):
    """A run that measures `checkpoint` where its training would begin, and ends there."""

    checkpoint: Path
    figures: Metrics
    bases: dict[str, Basis]

    def _steps(
        self, count: int, policies: Sequence[Policy], resumable: Sequence[Resumable], measures: Sequence[Measure]
    ) -> Iterator[int]:
        self.step = read_checkpoint(self.checkpoint, policies, resumable)["step"]
        self._measure(measures)
        self.figures, self.bases = numbers(self._line), bases_of_measures(measures)
        raise _Measured


def refuse_solver(config: Any, roles: Collection[str]) -> None:
    """Raises RedQueenError for settings of the solver in a training whose seats are of other `roles`."""
    for each in vars(config).values():
        if isinstance(each, Learner):
            each.seated(roles)
