"""The display of a running training: a dashboard in a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from threading import Event, Thread
from typing import Any, TextIO, cast

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from redqueen.markup import visible
from redqueen.progress import so_far
from redqueen.runs.run import Line, Run, alarms_of
from redqueen.views.dashboard import Dashboard, averaged

# what is shown while training, in this order, under these names
SHOWN = (
    ("exploitability", "exploitability"),
    ("average_exploitability", "of the average"),
    ("late_average_exploitability", "of the late average"),
    ("sampled_exploitability", "exploitability, sampled"),
    ("minimax_regret_reached", "regret"),
    ("mean_score", "mean score"),
    ("payoff/uniform", "against uniform"),
    ("accuracy", "accuracy"),
    ("held_out_score", "held out"),
    ("entropy", "entropy"),
    ("kl", "kl"),
    ("malformed", "malformed"),
    ("forfeits", "forfeits"),
    ("completion_length", "length"),
)
REFRESHES = 1  # of the screen, a second
EIGHTHS = " ▁▂▃▄▅▆▇█"
QUIET = 10  # steps after which an alarm that fires again is said again


class Lasting:
    """A stream that may end before those who write to it: a terminal that is closed, a pipe that nobody reads, a full
    disk. What is written from then on is lost, and nobody is told."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:
        return self._stream.encoding

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
        except OSError:
            _hush(self._stream)
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            _hush(self._stream)


def _hush(stream: TextIO) -> None:
    """Lets a stream that takes no more words, and what it still holds of them, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def lasting_console() -> Console:
    """A console whose writes never fail, also after the terminal is closed."""
    return Console(file=cast(TextIO, Lasting(sys.stdout)))


class TerminalView:
    """A run's dashboard, in a terminal; in a pipe or a file, a line every `seconds`. The run goes on where the terminal
    is gone. After `wait`, and until `close`, what is long in coming is told at least every `silence` seconds."""

    def __init__(self, console: Console | None = None, seconds: float = 5.0, silence: float = 15.0) -> None:
        self._console = console or lasting_console()
        self._silence = silence
        self._where = "getting ready"
        self._closed = Event()
        self._seconds = seconds
        self._last = 0.0
        self._told = self._changed = 0.0  # when a line was printed, and when the run came to where it is
        self._seen: Line = {}
        self._rung: dict[str, int] = {}  # alarm -> the last step in which it fired
        self._board: Dashboard | None = None
        self._live: Live | None = None
        self._count = 0

    def wait(self) -> None:
        """Tells from now on how far the run has come, whenever nothing else was told for long."""
        self._told = self._changed = time.monotonic()
        Thread(target=self._tell, name="progress", daemon=True).start()

    def _tell(self) -> None:
        while not self._closed.wait(self._silence / 15):
            now = time.monotonic()
            if now - self._told >= self._silence and self._live is None:  # a dashboard has a clock
                self._told = now
                self._print(": ".join(filter(None, [f"{self._where}, {now - self._changed:.0f} s", so_far()])))

    def _reach(self, where: str) -> None:
        self._where, self._told = where, time.monotonic()
        self._changed = self._told

    def begin(self, run: Run, start: int, count: int) -> None:
        self._count = count
        self._reach(f"step {start + 1}/{count}")
        where = f"[bold]{escape(str(run.folder))}[/bold], seed {run.seed}"
        self._console.print(f"{where}, steps {start} to {count}", highlight=False, soft_wrap=True)
        for title, text in run.shown.items():
            self._console.print(f"{escape(title)}:\n{escape(visible(text))}", highlight=False, soft_wrap=True)
        if self._console.is_terminal:
            self._board = Dashboard(run.folder, count, start)
            self._live = Live(self._board, console=self._console, refresh_per_second=REFRESHES)
            self._live.start()

    def show(self, title: str, text: str) -> None:
        self._print(f"{title}:\n{text}")

    def step(self, line: Line) -> None:
        after = line["step"] + 2
        self._reach(f"step {after}/{self._count}" if after <= self._count else "the last measurement")
        if self._board is not None:
            self._board.add(line)
            self._warn(line)
            return
        self._seen = {name: value for name, value in self._seen.items() if name != "alarms"} | line
        self._warn(line)
        if time.monotonic() - self._last >= self._seconds or line["step"] + 1 == self._count:
            self._last = time.monotonic()
            rate = 1.0 / max(line["time"]["step"], 1e-9)
            left = (self._count - line["step"] - 1) / rate
            pace = "no update" if line.get("alarm/no_update") else f"{rate:.2f} steps/s  {left:.0f} s left"
            self._console.print(
                f"step {line['step'] + 1}/{self._count}  {pace}  {figures(self._seen)}",
                highlight=False,
                soft_wrap=True,
            )

    def _warn(self, line: Line) -> None:
        """Prints the alarms that begin to fire, with the replies that the line shows."""
        begun = False
        for name, words in alarms_of(line).items():
            if words and line["step"] - self._rung.get(name, -QUIET - 1) > QUIET:
                begun = True
                self._print(f"step {line['step'] + 1}: ALARM {words}")
            self._rung[name] = line["step"]
        for shown in line.get("replies", ()) if begun else ():
            self._print(example(shown))

    def _print(self, text: str) -> None:
        self._console.print(visible(text), markup=False, highlight=False, soft_wrap=True)

    def end(self, run: Run) -> None:
        self.close()

    def close(self) -> None:
        """Gives the terminal back; also after a run that was stopped half-way."""
        self._closed.set()
        if self._live is not None:
            self._live.stop()
            self._live = None


@contextmanager
def telling(what: str, console: Console | None = None, silence: float = 15.0) -> Iterator[None]:
    """Tells on standard error every `silence` seconds how far a command has come with `what` it does."""
    view = TerminalView(console or Console(stderr=True), silence=silence)
    view._where = what
    view.wait()
    try:
        yield
    finally:
        view.close()


def example(shown: Mapping[str, Any]) -> str:
    """A reply as a line of metrics shows it: what was asked, what was replied, what was expected and earned."""
    earned = "no verdict" if shown["reward"] is None else f"reward {shown['reward']:g}"
    earned = "left out of the batch" if shown.get("left_out") else earned
    lines = [
        f"    asked     {shown['asked']}",
        f"    replied   {shown['replied'] or '(nothing)'} ({shown['tokens']} tokens, {earned})",
    ]
    return "\n".join([*lines, f"    expected  {shown['expected']}"] if shown["expected"] else lines)


def figures(line: Line) -> str:
    """The main metrics of a line, as one text."""
    parts = [
        f"{name} {line[key]:.3g}" for key, name in SHOWN if key in line and not (key == "malformed" and line[key] == 0)
    ]
    parts += [f"{_paid(key)} {value:+.2f}" for key, value in line.items() if f"/{key}".count("/reward/")]
    parts += [f"ALARM {name}" for name in alarms_of(line)]
    return "  ".join(parts)


def _paid(name: str) -> str:
    """Whose reward it is: that of "reward/solver" and "solver/reward/solver" the solver's, of "main/reward/player"
    main/player's."""
    learner, _, role = name.rpartition("reward/")
    return role if learner in ("", f"{role}/") else f"{learner}{role}"


def curve(values: list[float], width: int = 60, height: int = 10) -> str:
    """A curve drawn in text, scaled from 0 to the largest value; values that are not finite are left out."""
    values = [value for value in values if isfinite(value)]
    if not values:
        return ""
    top = max(max(values), 1e-12)
    columns = averaged(values, width)
    rows = []
    for row in range(height, 0, -1):
        label = f"{top * row / height:6.3f} " if row in (height, (height + 1) // 2, 1) else " " * 7
        filled = (min(max(value / top * height - (row - 1), 0.0), 1.0) for value in columns)
        rows.append(f"{label}│{''.join(EIGHTHS[round(8 * part)] for part in filled)}")
    return "\n".join([*rows, " " * 7 + "└" + "─" * len(columns)])


def overview(first: Line, last: Line, console: Console, title: str) -> None:
    """Prints the figures of the first and the last measurement side by side, or that there are none."""
    table = Table(title=escape(title))
    for heading in ("", "at the start", "at the end"):
        table.add_column(heading, justify="left" if not heading else "right", overflow="fold")
    for key in sorted(set(first) & set(last)):
        if isinstance(first[key], float | int) and key != "step":
            table.add_row(escape(key), f"{first[key]:.4f}", f"{last[key]:.4f}")
    if table.rows:
        console.print(table)
    else:
        console.print(
            f"{escape(title)}: nothing is measured of it before and after; redqueen report shows its curves, redqueen "
            "tournament RUN PLAYER... rates it"
        )
