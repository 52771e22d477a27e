"""Whether memory and descriptors stay flat over a long training: their slopes with 95 % intervals.

python tests/torture/flat.py [STEPS [SECONDS [CASE ...]]]     cases: table, tiny, continuous, endpoint

Each case is trained in a process of its own, for so many steps and at most so many seconds; a tenth of its steps are
left out as warming up. The slope is that of least squares over the rest, its interval Student's t with the residuals
taken as independent, which they are not quite: it is too narrow rather than too wide.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from share import Case, cases, descendants, serve

from redqueen.measures.intervals import student_quantile
from redqueen.runs.run import Run, Schedule
from redqueen.runs.train import train

NAMED = {"table": "spiral", "tiny": "spiral tiny", "continuous": "continuous", "endpoint": "absolute_zero endpoint"}
WARMING = 0.1
POINTS = 500


class Enough(Exception):
    """The time is over."""


class Meter:
    """A watcher that writes down, at even distances, what the process holds."""

    def __init__(self, steps: int, seconds: float) -> None:
        self.every, self.until = max(steps // POINTS, 1), time.monotonic() + seconds
        self.rows: list[tuple[int, int, int, int]] = []

    def begin(self, run: Run, start: int, count: int) -> None:
        return None

    def step(self, line: dict[str, Any]) -> None:
        if line["step"] % self.every == 0:
            descriptors = len(os.listdir("/proc/self/fd"))
            self.rows.append((line["step"], resident(), descriptors, len(descendants(os.getpid()))))
        if time.monotonic() > self.until:
            raise Enough

    def end(self, run: Run) -> None:
        return None


def resident() -> int:
    """Bytes of memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def measured(case: Case, steps: int, seconds: float, place: Path) -> list[list[int]]:
    """The rows of a meter over a training in a process of its own: step, bytes, descriptors, processes."""
    read, write = os.pipe()
    process = os.fork()
    if not process:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        warnings.simplefilter("ignore")
        meter = Meter(steps, seconds)
        schedule = Schedule(evaluate_every=max(steps // 20, 1), checkpoint_every=max(steps // 20, 1), record_episodes=2)
        config = dataclasses.replace(case.config, steps=steps)
        with contextlib.suppress(Enough):
            train(case.recipe, config, place / "run", seed=3, schedule=schedule, watchers=[meter])
        with os.fdopen(write, "w") as pipe:
            json.dump(meter.rows, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(process, 0)
    return list(json.loads(text))


def slope(steps: np.ndarray, values: np.ndarray) -> tuple[float, float, float]:
    """The slope a step with its 95 % interval."""
    apart = steps - steps.mean()
    spread = float((apart**2).sum())
    found = float((apart * values).sum()) / spread
    residuals = values - values.mean() - found * apart
    error = float(np.sqrt((residuals**2).sum() / max(len(steps) - 2, 1) / spread))
    reach = student_quantile(0.975, max(len(steps) - 2, 1)) * error
    return found, found - reach, found + reach


def row(name: str, found: np.ndarray) -> str:
    """A row of docs/reliability.md: bytes a step, and descriptors and processes after warming up and at the end."""
    late = found[int(len(found) * WARMING) :]
    value, low, high = slope(late[:, 0], late[:, 1])
    grown = f"{value:+.0f} [{low:+.0f}, {high:+.0f}]"
    held = f"{late[0, 1] / 1e6:.0f} to {late[-1, 1] / 1e6:.0f} MB"
    rest = " | ".join(f"{late[0, column]:.0f}, {late[-1, column]:.0f}" for column in (2, 3))
    return f"| {name} | {found[-1, 0] + 1:.0f} | {held} | {grown} | {rest} |"


def main(words: list[str]) -> None:
    steps, seconds = int(words[0]) if words else 10_000, float(words[1]) if len(words) > 1 else 3600.0
    torch.set_num_threads(1)
    server, url = serve()
    try:
        with tempfile.TemporaryDirectory() as place:
            os.environ["XDG_CONFIG_HOME"] = f"{place}/config"
            known = {case.name: case for case in cases(url)}
            for name in words[2:] or NAMED:
                here = Path(place) / name
                here.mkdir()
                print(row(name, np.array(measured(known[NAMED[name]], steps, seconds, here), dtype=float)), flush=True)
    finally:
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)


if __name__ == "__main__":
    main(sys.argv[1:])
