"""Methods beside their ablations: the same warm start, the same seeds, one process a core.

A method is a recipe's module and a config; each variant is trained on every seed, and what is compared is the last
measurement. Tiny models run fastest on one thread, so the trainings of a comparison run side by side. One that was
interrupted goes on where it stopped, as any run does: until all are done they lie in the cache, under `trials`.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import multiprocessing
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import torch
from rich.console import Console

from redqueen import questions as domains
from redqueen.measures.intervals import bootstrap_interval, paired_difference
from redqueen.players.transformer.loading import cache_folder
from redqueen.protocols import Policy, Questions
from redqueen.questions.catalogue import find_questions
from redqueen.recipes.self_training import cold_start
from redqueen.runs.checkpoints import checkpoints
from redqueen.runs.run import Line, Run, Schedule, read_final, read_metrics
from redqueen.settings.learner import Learner
from redqueen.trials.sheets import Rows
from redqueen.types import Metrics

FOLDER = Path(domains.__path__[0])
Train = Callable[[Any, Run], Policy]  # what a recipe's `train` is: a config and a run
VERSION = 1  # of what warm starts are made of; a new one makes them anew


@dataclass(frozen=True)
class Trial:
    """One finished training: its lines, and its last measurement with the figures of its last steps in it."""

    lines: tuple[Line, ...]
    final: Line

    def late(self, name: str, share: float = 0.2) -> float:
        """The mean of a figure over the last steps that have it."""
        values = [line[name] for line in self.lines if name in line]
        values = values[-max(1, int(share * len(values))) :]
        return float(sum(values) / len(values)) if values else float("nan")

    def first(self, name: str) -> float:
        return float(next((line[name] for line in self.lines if name in line), float("nan")))


def warm(config: cold_start.Config, seed: int = 0) -> str:
    """The folder of a model warmed up on a domain's demonstrations; made once and kept in the cache, until the text of
    the domain changes, or that of one it is made from."""
    schedule = Schedule(250, checkpoint_every=250, record_episodes=0)
    facts = [asdict(config), seed, texts_of(find_questions(config.questions))]
    return made_once(facts, lambda place: cold_start.train(config, Run(place, seed, schedule)))


def made_once(facts: Sequence[Any], train: Callable[[Path], object]) -> str:
    """The folder of the model that `train` makes in the folder of a run; kept in the cache under these facts."""
    place = _place("warm", [VERSION, *facts])
    if not (place / "final.json").exists():
        with one_thread():
            train(place)
    return str(checkpoints(place)[-1] / "learner")


def warm_further(base: str, domain: str, steps: int, rest: int, demonstrations: int = 96, **changes: Any) -> str:
    """The folder of a warm model that goes on with the demonstrations of another domain, so many a step; `changes` are
    of its learner."""
    learner = warmed(base, learning_rate=1e-3, **changes)
    return warm(cold_start.Config(learner, domain, steps, demonstrations, rest))


def texts_of(domain: Questions) -> list[str]:
    """Of the module of a domain, of those of its parts, and of the shipped ones that these import."""
    parts: list[Any] = [domain]
    for part in parts:
        inner = [getattr(part, each.name) for each in fields(part)] if is_dataclass(part) else []
        parts += [each for each in inner if is_dataclass(each)]
    paths = [Path(inspect.getfile(type(part))) for part in parts]
    for path in paths:
        imported = re.findall(r"^from redqueen\.domains\.(?!catalogue)(\w+) import", path.read_text(), re.MULTILINE)
        paths += [own for own in (FOLDER / f"{name}.py" for name in imported) if own not in paths]
    return [path.read_text() for path in sorted(set(paths))]


def warmed(folder: str, **changes: Any) -> Learner:
    """A learner that starts from a warm model, all its weights in training."""
    return Learner(**{"model": folder, "lora_rank": 0, "learning_rate": 1e-4, "max_completion_length": 16, **changes})


def nothing(learner: Policy) -> Metrics:
    """No figures beyond those of the run."""
    return {}


def trained(
    recipe: str | Train,
    variants: Mapping[str, Any],
    seeds: int,
    console: Console,
    evaluate_every: int = 10**9,
    read: Callable[[Policy], Metrics] = nothing,
) -> dict[str, list[Trial]]:
    """For each variant's config of a recipe (`redqueen.recipes.NAME`, or a function like its `train`) one trial a seed,
    in their order. `read` adds figures of the trained learner to the last measurement."""
    name = recipe if isinstance(recipe, str) else recipe.__name__
    made_of = [name, evaluate_every, torch.__version__, text_of_package()]
    jobs = [
        (recipe, config, seed, evaluate_every, read, _place("trials", [variant, asdict(config), seed, *made_of]))
        for variant, config in variants.items()
        for seed in range(seeds)
    ]
    workers = min(len(jobs), len(os.sched_getaffinity(0)))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=_end_with, initargs=(os.getpid(),)) as pool:
        done = []
        for number, trial in enumerate(pool.map(_train, *zip(*jobs, strict=True))):
            console.print(f"  {name}: {number + 1} of {len(jobs)} trained", highlight=False)
            done.append(trial)
    for *_, place in jobs:
        shutil.rmtree(place)
    return {variant: done[n * seeds : (n + 1) * seeds] for n, variant in enumerate(variants)}


def often(steps: int) -> int:
    """How far measurements are apart of which there are twenty: one alone can be ten points off, "late NAME" of `table`
    is the mean of the last four."""
    return max(1, steps // 20)


def text_of_package() -> str:
    """One short text for all that the package is written in: what was begun with another does not go on."""
    found = hashlib.sha1()
    for path in sorted(FOLDER.parent.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def _place(kind: str, facts: Sequence[Any]) -> Path:
    """Where in the cache something of this kind lies that depends on these facts."""
    text = json.dumps(facts, sort_keys=True, default=str)
    return cache_folder() / kind / hashlib.sha1(text.encode()).hexdigest()[:16]


def table(trials: Mapping[str, Sequence[Trial]], figures: Sequence[str]) -> Rows:
    """A row for each variant: the mean of each figure over the seeds, with its 95 % interval. A figure is one of the
    last measurement, "late NAME" the mean over the last fifth of the steps, "first NAME" the first one; one that was
    never measured is "none", so that no name of a column costs the trainings."""
    return [
        (name, *(_cell([figure(trial, key) for trial in group]) for key in figures)) for name, group in trials.items()
    ]


def _cell(values: Sequence[float]) -> str:
    return str(bootstrap_interval(values, seed=0)) if np.isfinite(values).all() else "none"


def moved(trials: Sequence[Trial], start: str, end: str) -> str:
    """A cell: the mean of one figure of `table`, and that of another with its interval."""
    before = float(np.mean([figure(trial, start) for trial in trials]))
    return f"{before:.3f} to {bootstrap_interval([figure(trial, end) for trial in trials], seed=0)}"


def difference(trials: Mapping[str, Sequence[Trial]], one: str, other: str, key: str) -> str:
    """How much higher a figure is for one variant than for the other, seed by seed."""
    first, second = ([figure(trial, key) for trial in trials[name]] for name in (one, other))
    return f"{key}, {one} minus {other}: {paired_difference(first, second, seed=0)}"


def surplus(trials: Sequence[Trial], one: str, other: str) -> str:
    """How much higher one figure of `table` is than another of the same trial."""
    first, second = ([figure(trial, key) for trial in trials] for key in (one, other))
    return str(paired_difference(first, second, seed=0))


def figure(trial: Trial, key: str) -> float:
    """See `table`."""
    if key.startswith("late "):
        return trial.late(key.removeprefix("late "))
    if key.startswith("first "):
        return trial.first(key.removeprefix("first "))
    return float(trial.final.get(key, np.nan))


def _end_with(parent: int) -> None:
    """Ends this process soon after its parent, which may have been killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _train(
    recipe: str | Train, config: Any, seed: int, evaluate_every: int, read: Callable[[Policy], Metrics], place: Path
) -> Trial:
    """In a process of its own."""
    train = import_module(f"redqueen.recipes.{recipe}").train if isinstance(recipe, str) else recipe
    with one_thread():
        schedule = Schedule(evaluate_every, checkpoint_every=25, keep_checkpoints=1, record_episodes=0)
        run = Run(place, seed, schedule)
        learner = train(config, run)
        return Trial(tuple(read_metrics(run.folder)), {**read_final(run.folder), **read(learner)})


class one_thread:
    def __enter__(self) -> None:
        self._before = torch.get_num_threads()
        torch.set_num_threads(1)

    def __exit__(self, *error: object) -> None:
        torch.set_num_threads(self._before)
