"""A run in one terminal window: figures with their courses, alarms, the episode recorded last.

It is drawn when the terminal is drawn, not when a step ends, so that looking costs a step nothing but a list append.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from redqueen.games.boards import as_text, frames
from redqueen.records import episode_from_json
from redqueen.run import Line
from redqueen.types import Episode

KEPT = 400  # values of each figure that its course is drawn from
COURSE = 16  # columns of a course
SAID = 6  # turns of an episode
EIGHTHS = "▁▂▃▄▅▆▇█"

# what is worth a glance, from the most to the least
GROUPS: Sequence[tuple[str, Sequence[str]]] = (
    ("how good", ("exploitability", "nash_conv", "regret", "payoff/", "accuracy", "pass@", "coverage", "held_out/")),
    ("rewards", ("reward/",)),
    ("policy", ("entropy", "kl", "loss", "gradient_norm")),
    ("replies", ("completion_length", "malformed", "truncated", "forfeits", "repeated")),
    ("tasks and opponents", ("proposals/", "tasks/held", "round/", "win_rate", "rating")),
)


class Dashboard:
    """See the module. `add` takes the lines of a run's metrics, in their order."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._courses: dict[str, deque[float]] = {}
        self._first: dict[str, float] = {}
        self._last: Line = {}
        self._seconds: deque[float] = deque(maxlen=20)

    def add(self, line: Line) -> None:
        self._last = line
        for name, value in line.items():
            if name != "step" and isinstance(value, int | float):
                self._first.setdefault(name, float(value))
                self._courses.setdefault(name, deque(maxlen=KEPT)).append(float(value))
        spent: Mapping[str, float] = line.get("time", {})
        if spent:
            self._seconds.append(spent.get("step", 0.0) + spent.get("measure", 0.0))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = (options.height or console.height) - 4
        yield self.drawn(max(room, 8), options.max_width)

    def drawn(self, height: int, width: int) -> Group:
        """What fits into so many lines."""
        parts: list[RenderableType] = [self._pace()]
        if alarms := self.alarms():
            parts.append(Text(f"alarms: {', '.join(alarms)}", style="bold red"))
        title, lines = self._episode(width) if height > 16 else ("", [])
        rows = height - len(parts) - (len(lines) + 2 if lines else 0) - 1
        parts.append(self._table(max(rows, 4)))
        if lines:
            parts.append(Panel(Text("\n".join(lines)), title=escape(title), title_align="left", border_style="dim"))
        return Group(*parts)

    def alarms(self) -> list[str]:
        """The names of those that ring in the newest line."""
        return [
            name.removeprefix("alarm/") for name, value in self._last.items() if name.startswith("alarm/") and value
        ]

    def figures(self) -> list[tuple[str, str]]:
        """(group, name) of everything worth a glance, those of the first groups first."""
        found: list[tuple[str, str]] = []
        for group, words in GROUPS:
            for word in words:
                found += [
                    (group, name)
                    for name in self._courses
                    if _fits(name, word, group) and name not in {known for _, known in found}
                ]
        return found

    def _pace(self) -> Text:
        mean = sum(self._seconds) / max(len(self._seconds), 1)
        parts = [f"{1.0 / mean:.2f} steps/s"] if mean else []
        words = [self._last.get(key) for key in ("episodes", "turns_per_episode", "completion_length")]
        if mean and all(isinstance(each, int | float) for each in words):
            episodes, turns, length = (float(each or 0.0) for each in words)
            parts.append(f"{episodes * turns * length / mean:.0f} tokens learned from a second")
        return Text("   ".join(parts), style="dim")

    def _table(self, rows: int) -> Table:
        table = Table(box=None, pad_edge=False, show_header=True, header_style="dim")
        for heading in ("", "", "start", "now", "course"):
            table.add_column(heading, justify="right" if heading in ("start", "now") else "left", no_wrap=True)
        before = ""
        for group, name in self.figures()[:rows]:
            values = self._courses[name]
            now, start = f"{values[-1]:.4g}", f"{self._first[name]:.4g}"
            shown = "" if group == before else group
            table.add_row(Text(shown, style="dim"), Text(name), start, now, course(values), style=_style(name, values))
            before = group
        return table

    def _episode(self, width: int) -> tuple[str, list[str]]:
        """A title and lines for the newest of the recorded episodes; no lines where there is none."""
        episode = last_episode(self._folder)
        if episode is None:
            return "", []
        drawn = frames(episode)
        lines = as_text(drawn[-1]).splitlines() if drawn else []
        lines += [f"{turn.ask.seat}: {_one_line(turn.reply.text, width - 20)}" for turn in episode.turns[-SAID:]]
        scores = ", ".join(f"{seat} {score:+g}" for seat, score in episode.outcome.scores.items())
        return f"{episode.game}, {_one_line(episode.task.id, 30)}: {scores}", lines


def last_episode(folder: Path) -> Episode | None:
    """The first one recorded in the newest step that recorded any; None where none can be read."""
    for path in sorted((folder / "episodes").glob("step_*.jsonl"), reverse=True)[:1]:
        try:
            with path.open() as file:
                data = json.loads(file.readline())
        except (OSError, ValueError):  # it is being written, or forgotten by a resumed run
            return None
        data.pop("credit", None)
        return episode_from_json(data)
    return None


def averaged(values: Sequence[float], most: int) -> list[float]:
    """The values, or where they are more than so many, the means of as many neighbouring parts."""
    count = min(most, len(values))
    parts = [values[place * len(values) // count : (place + 1) * len(values) // count] for place in range(count)]
    return [sum(part) / len(part) for part in parts]


def course(values: Sequence[float] | deque[float]) -> str:
    """How a figure went, from its lowest to its highest value, in a few characters."""
    means = averaged(list(values), COURSE)
    low, high = min(means, default=0.0), max(means, default=0.0)
    if not high > low:
        return EIGHTHS[0] * len(means)
    return "".join(EIGHTHS[min(7, int(8 * (mean - low) / (high - low)))] for mean in means)


def _fits(name: str, word: str, group: str) -> bool:
    """A word that ends in / is the beginning of a name; another one stands in it, whole where names have parts."""
    if name.startswith("alarm/"):
        return False
    if word.endswith("/"):
        return name.startswith(word)
    return word in name and ("/" not in name or group == GROUPS[0][0])


def _style(name: str, values: Sequence[float] | deque[float]) -> str:
    return "red" if name in ("malformed", "truncated", "forfeits") and values[-1] > 0.5 else ""


def _one_line(text: str, width: int) -> str:
    words = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return words if len(words) <= width else f"{words[: max(width - 1, 1)]}…"
