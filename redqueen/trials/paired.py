"""All seeds of all variants, side by side: a process for each core, each with one thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from queue import Empty, Queue

from redqueen.trials.experiment import Experiment, Trial
from redqueen.trials.one_seed import Job, finished
from redqueen.types import RedQueenError

QUICK = 60.0  # processor seconds of a seed, up to which ten are taken
Trials = Mapping[str, Sequence[Trial]]  # by variant, in the order of the seeds


@dataclass(frozen=True)
class Asked:
    """Which experiment of which file, with how many seeds and steps if not its own."""

    file: str
    name: str
    seeds: int | None = None
    steps: int | None = None


def trials_of(asked: Asked, experiment: Experiment, say: Callable[[str], None]) -> Trials:
    """A trial for each variant and seed: kept ones as they are, the others made now. Without a number of seeds there
    are ten where the first seed takes less than a minute of processor time, else five."""
    first = next(iter(experiment.variants))
    seeds = asked.seeds or experiment.seeds
    if seeds is None and experiment.one_start:
        seeds = 5  # which problems such a start may show depends on how many seeds there are
    if seeds is None:
        probe = Job(asked.file, asked.name, first, experiment.first_seed, 5, asked.steps)
        _make([probe], say)
        trial = finished(probe, probe.experiment())
        seeds = 10 if trial is not None and trial.seconds < QUICK else 5
    jobs = [
        Job(asked.file, asked.name, variant, seed, seeds, asked.steps)
        for seed in experiment.seeds_of(seeds)
        for variant in experiment.variants
    ]
    _make(jobs, say)
    found: dict[str, list[Trial]] = {variant: [] for variant in experiment.variants}
    for job in jobs:
        found[job.variant].append(_made(job))
    return found


def _made(job: Job) -> Trial:
    """The trial that was made now or before."""
    trial = finished(job, job.experiment())
    if trial is None:
        raise RedQueenError(
            f"{job.variant}, seed {job.seed}: a module, or a file that it read, changed while it was trained; "
            "run it again"
        )
    return trial


def _make(jobs: Sequence[Job], say: Callable[[str], None]) -> None:
    """Makes the trials that are not kept, and before them the warm starts, each by one process alone."""
    missing = [job for job in jobs if finished(job, job.experiment()) is None]
    if len(missing) < len(jobs):
        say(f"{len(jobs) - len(missing)} of {len(jobs)} trials are kept from before")
    if missing and missing[0].experiment().warm():
        shared = missing[0].experiment().one_start
        _share_out(list({0 if shared else job.seed: replace(job, variant="") for job in missing}.values()), say)
    if missing:
        _share_out(missing, say)


def _share_out(jobs: Sequence[Job], say: Callable[[str], None]) -> None:
    """Does the jobs in as many processes as there are cores."""
    missing: Queue[Job] = Queue()
    for job in jobs:
        missing.put(job)
    workers = min(len(jobs), len(os.sched_getaffinity(0)))
    with ThreadPoolExecutor(workers) as pool:
        for worker in [pool.submit(_work, missing, say) for _ in range(workers)]:
            worker.result()


def _work(missing: Queue[Job], say: Callable[[str], None]) -> None:
    """Hands jobs to one process until none is left."""
    command = [sys.executable, "-m", "redqueen.trials.one_seed"]
    places = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}  # the same modules as here
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | places
    ) as child:
        assert child.stdin is not None and child.stdout is not None
        try:
            while True:
                job = missing.get_nowait()
                child.stdin.write(json.dumps(asdict(job)) + "\n")
                child.stdin.flush()
                line = child.stdout.readline()
                said = json.loads(line) if line else {"error": "its process ended; what it printed is above"}
                if "error" in said:
                    raise RedQueenError(f"{job.name}, {job.variant or 'warm starts'}, seed {job.seed}: {said['error']}")
                if job.variant:
                    _made(job)  # or else said now, before the others are made in vain
                say(f"{job.name}: {job.variant or 'warm starts'}, seed {job.seed}; {missing.qsize()} to go")
        except Empty:
            return
        except RedQueenError:
            _drain(missing)
            raise
        finally:
            child.stdin.close()


def _drain(jobs: Queue[Job]) -> None:
    """Takes out what nobody has begun: another one has failed."""
    try:
        while True:
            jobs.get_nowait()
    except Empty:
        return
