"""What it costs to look at a run: the live view beside no view, in turns, in one process.

The steps are the shortest there are (a table of logits, Kuhn poker), so the share is the largest. Whole runs differ by
more than a view costs, so its own processor time is counted: that of the threads that it starts, which draw once a
second, as a share of the seconds that passed; and that of its calls in the thread that trains, as a share of the steps.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

from rich.console import Console

from redqueen.recipes.games import spiral
from redqueen.runs.run import Line, Run, Schedule, Watcher
from redqueen.trials.experiment import Made, Rows, Table
from redqueen.views.terminal import TerminalView

LINES, COLUMNS = 40, 120


class Costed:
    """A watcher that counts the processor seconds of another one, and those of the steps."""

    def __init__(self, watched: Watcher | None) -> None:
        self._watched = watched
        self._threads: list[threading.Thread] = []
        self._began = self._passed = 0.0
        self.steps = 0.0  # processor seconds of the thread that trains, without the other watcher
        self.calls = 0.0  # of the other watcher, once for each step
        self.drawing = 0.0  # of its threads
        self.passed = 0.0  # seconds on the clock

    @property
    def share(self) -> float:
        """What part of a step the other watcher costs."""
        return self.drawing / self.passed + self.calls / self.steps

    def begin(self, run: Run, start: int, count: int) -> None:
        before = set(threading.enumerate())
        if self._watched is not None:
            self._watched.begin(run, start, count)
        self._threads = [thread for thread in threading.enumerate() if thread not in before]
        self._began, self._passed = time.thread_time(), time.perf_counter()

    def step(self, line: Line) -> None:
        if self._watched is not None:
            began = time.thread_time()
            self._watched.step(line)
            self.calls += time.thread_time() - began

    def end(self, run: Run) -> None:
        self.passed = time.perf_counter() - self._passed
        self.steps = time.thread_time() - self._began - self.calls
        clocks = [time.pthread_getcpuclockid(thread.ident) for thread in self._threads if thread.ident]
        self.drawing = sum(map(time.clock_gettime, clocks))
        if self._watched is not None:
            self._watched.end(run)


def live_view(repeats: int, steps: int = 400) -> Made:
    """The share of a step that the live view costs in a terminal."""
    _cost(None, 20)
    without, within = [], []
    with _Terminal() as terminal:
        for _ in range(repeats):
            without.append(_cost(None, steps))
            within.append(_cost(TerminalView(terminal.console), steps))
    shares = [each.share for each in within]
    figures = (
        median(each.steps / steps for each in without),
        median(each.steps / steps for each in within),
        median(each.calls / steps for each in within),
        median(each.drawing / each.passed for each in within),
    )
    rows: Rows = [
        (
            f"spiral, tabular, {steps} steps",
            *(f"{1e3 * figure:.2f}" for figure in figures),
            f"{median(shares):.2%} ({min(shares):.2%} to {max(shares):.2%})",
        )
    ]
    headings = (
        "run",
        "a step alone, ms",
        "a step beside it, ms",
        "its calls, ms a step",
        "drawing, ms a second",
        "share",
    )
    note = f"Processor time; a pseudo-terminal of {LINES} lines. Medians of {repeats} runs each, in turns."
    return headings, rows, note


def _cost(view: Watcher | None, steps: int) -> Costed:
    costed = Costed(view)
    with tempfile.TemporaryDirectory() as folder:
        spiral.train(spiral.Config(steps=steps), Run(Path(folder), 0, Schedule(), [costed]))
    return costed


class _Terminal:
    """A pseudo-terminal whose other end is read, and what is read forgotten."""

    def __enter__(self) -> _Terminal:
        self._reader, writer = os.openpty()
        self._file = os.fdopen(writer, "w")
        self.console = Console(file=self._file, force_terminal=True, width=COLUMNS, height=LINES)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        return self

    def _read(self) -> None:
        try:
            while os.read(self._reader, 65536):
                pass
        except OSError:  # Linux says so when the writer is closed
            return

    def __exit__(self, *error: object) -> None:
        self._file.close()
        self._thread.join()
        os.close(self._reader)


LIVE_VIEW = Table("The live view", "What share of a step does it cost to look at a run?", live_view)
