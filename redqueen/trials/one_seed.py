"""One seed of one variant, in a process of its own: `python -m redqueen.trials.one_seed`, a job a line on its input.

For each job, a line of JSON with the fields of `Job`, it makes what is not there yet (the warm starts, the trial),
leaves it in the cache and prints `{}`, or why not. It ends with its input, and so with its parent.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from redqueen.curricula.held_out import Apart
from redqueen.trials.experiment import Experiment, Trial
from redqueen.trials.kept import PACKAGE, all_texts, keep, kept, note_reads, place_of
from redqueen.trials.shipped import experiments_of, folder_of
from redqueen.trials.starts import Start
from redqueen.types import RedQueenError

VERSION = 2  # of the kept files; with a new one every seed is run again
MADE = "made.json"
WEEK = 7 * 24 * 3600.0  # seconds


@dataclass(frozen=True)
class Job:
    """Which trial is wanted: of which file and experiment, variant and seed."""

    file: str
    name: str
    variant: str  # "" for the warm starts of all variants alone
    seed: int
    seeds: int  # in all: a start that they share is shown no problem that measures any of them
    steps: int | None = None  # in place of the config's

    def experiment(self) -> Experiment:
        """The experiment, with its steps replaced where the job says so."""
        found = experiments_of(self.file)[self.name]
        assert isinstance(found, Experiment), f"{self.name} is a table"
        return found if self.steps is None else found.with_steps(self.steps)

    def roots(self) -> list[Path]:
        """The folders whose modules are ours."""
        return [PACKAGE, folder_of(self.file)]


def finished(job: Job, experiment: Experiment) -> Trial | None:
    """The trial, if it is kept and nothing that it depends on has changed."""
    roots = job.roots()
    made = kept(_trial_file(job, experiment), roots)
    if made is None or any(kept(Path(place) / MADE, roots) is None for place in made["starts"]):
        return None
    return Trial(tuple(made["lines"]), made["final"], made["updates"], made["seconds"])


def warm(job: Job, experiment: Experiment) -> None:
    """Makes the warm starts of all variants that are not kept."""
    found = [start for variant in experiment.variants for start in _starts(experiment, variant).values()]
    apart = kept_apart(experiment, job) if found else {}
    for start in found:
        _warm(start, job, experiment, apart)


def run(job: Job, experiment: Experiment) -> None:
    """Makes the trial."""
    path, starts = _trial_file(job, experiment), _starts(experiment, job.variant)
    apart = kept_apart(experiment, job) if starts else {}
    warmed = {name: _warm(start, job, experiment, apart) for name, start in starts.items()}
    config = experiment.config_of(job.variant, {name: model for name, (model, _) in warmed.items()})
    begun = place_of("begun", [str(path), all_texts(job.roots())])
    began = sum(os.times()[:4])  # of this process and its children, in and out of the system
    trial = experiment.trial(config, job.seed, begun)
    seconds = sum(os.times()[:4]) - began
    places = sorted({str(place) for _, place in warmed.values()})
    facts = {"lines": trial.lines, "final": trial.final, "updates": trial.updates, "seconds": seconds}
    keep(path, {**facts, "starts": places, "job": asdict(job)}, job.roots())
    shutil.rmtree(begun, ignore_errors=True)


def _starts(experiment: Experiment, variant: str) -> dict[str, Start]:
    return {name: each for name, each in experiment.settings(variant).items() if isinstance(each, Start)}


def _trial_file(job: Job, experiment: Experiment) -> Path:
    settings = {
        name: value.facts() if isinstance(value, Start) else value
        for name, value in experiment.settings(job.variant).items()
    }
    shared = job.seeds if experiment.one_start and experiment.starts else 0
    what = [job.file, repr(experiment.config), settings, _described(experiment.trial), job.seed, shared]
    return place_of("trials", [VERSION, torch.__version__, *what]).with_suffix(".json")


def _described(trial: Any) -> list[Any]:
    return [type(trial).__qualname__, vars(trial)]


def kept_apart(experiment: Experiment, job: Job) -> Apart:
    """The problems that measure this seed; those that measure any where all share one start."""
    seeds = experiment.seeds_of(job.seeds) if experiment.one_start else [job.seed]
    found: dict[str, list[Any]] = {}
    for seed in seeds:
        for variant in experiment.variants:
            settings = experiment.settings(variant)
            folders = {name: "tabular" for name, value in settings.items() if isinstance(value, Start)}
            for level, tasks in experiment.measured(experiment.config_of(variant, folders), seed).items():
                found.setdefault(level, []).extend(tasks)
    return {level: list({task.id: task for task in tasks}.values()) for level, tasks in found.items()}


def _start_place(start: Start, job: Job, experiment: Experiment, apart: Apart) -> Path:
    """Where the models that this start was made into lie, one for each text of the code that made it."""
    held = sorted({task.id for tasks in apart.values() for task in tasks})
    seed = 0 if experiment.one_start else job.seed
    return place_of("starts", [VERSION, torch.__version__, start.facts(), seed, held])


def _warm(start: Start, job: Job, experiment: Experiment, apart: Apart) -> tuple[str, Path]:
    """The folder of the warm model, and that of the work that made it: done now if none holds for the code as it is.
    What other code made stays for a week after its last use, since another checkout may learn from it."""
    roots, around = job.roots(), _start_place(start, job, experiment, apart)
    for path in sorted(around.glob(f"*/{MADE}")):
        made = kept(path, roots)
        if made is not None:
            path.touch()
            return str(made["model"]), path.parent
        if time.time() - path.stat().st_mtime > WEEK:
            shutil.rmtree(path.parent, ignore_errors=True)
    before = _warm(start.after, job, experiment, apart)[0] if start.after else ""
    place = around / all_texts(roots)[:16]
    shutil.rmtree(place, ignore_errors=True)
    model = start.make(place, 0 if experiment.one_start else job.seed, apart, before)
    keep(place / MADE, {"model": model}, roots)
    return model, place


def main(lines: Iterable[str]) -> None:
    """Does each job and prints a line of JSON for it, empty or with what went wrong."""
    note_reads()
    torch.set_num_threads(1)  # tiny models run fastest so, and others run beside
    for line in lines:
        said = {}
        with redirect_stdout(sys.stderr):  # what a recipe prints is no answer
            try:
                job = Job(**json.loads(line))
                (run if job.variant else warm)(job, job.experiment())
            except RedQueenError as error:
                said = {"error": str(error)}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    from redqueen.trials.one_seed import main as imported  # so that classes have one module, whoever names them

    imported(sys.stdin)
