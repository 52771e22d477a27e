"""A run in one terminal window: what happened so far, alarms, metrics with sparklines, the latest recorded episode.

It is drawn when the terminal is drawn, not when a step ends; and as text, since a table of rich's takes milliseconds to
lay out. `make experiments NAME=speed/live_view` tells what it costs.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import timedelta
from math import isfinite
from pathlib import Path
from textwrap import wrap

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from redqueen.credit.outcomes import result
from redqueen.games.boards import as_text, frames
from redqueen.games.hearing import addressed, stated_hearers
from redqueen.measures.figures import headline
from redqueen.progress import so_far
from redqueen.runs.folder import episode_of, game_to_show
from redqueen.runs.run import LOCK, Line, alarms_of, numbers, read_final
from redqueen.trust.reading import read_text
from redqueen.types import Episode, RedQueenError
from redqueen.views.headline import bases_of, ending, told

KEPT = 400  # values of each figure that its course is drawn from
COURSE = 16  # columns of a course
SENTENCE, ALARM = 3, 2  # lines at most
SAID = 6  # turns of an episode
BAR = 30  # columns
GROUP, NUMBER = 19, 10  # columns of a group's name and of a number
EIGHTHS = "▁▂▃▄▅▆▇█"

# what is worth a glance, from the most to the least
GROUPS: Sequence[tuple[str, Sequence[str]]] = (
    (
        "how good",
        ("mean_score", "exploitability", "nash_conv", "regret", "payoff/", "accuracy", "pass@", "coverage", "held_out"),
    ),
    ("rewards", ("reward/",)),
    ("policy", ("entropy", "kl", "loss", "gradient_norm")),
    ("replies", ("completion_length", "malformed", "truncated", "forfeits", "repeated")),
    ("tasks and opponents", ("proposals/", "tasks/held", "round/", "win_rate", "rating")),
)


class Dashboard:
    """See the module. `add` takes the lines of a run's metrics, in their order; `count` steps are to be done, of which
    `done` were done before."""

    def __init__(self, folder: Path, count: int = 0, done: int = 0) -> None:
        self._folder = folder
        self._count = count
        self.done = done  # steps
        self._spent = 0.0  # seconds of the steps that were added
        self._heard = time.monotonic()
        self._courses: dict[str, deque[float]] = {}
        self._first: dict[str, float] = {}
        self._last: Line = {}
        self._seconds: deque[float] = deque(maxlen=20)
        self._final: Line = {}
        self._told: list[Line] = []  # what the sentence is made of: the figure that says most, with its interval
        self._news = 0  # how often something was added
        self._drawn = Text()
        self._drawn_for = (-1, 0, 0)  # news, lines and columns

    def add(self, line: Line) -> None:
        self._last = line
        self._heard = time.monotonic()
        self.done = line["step"] + 1
        self._follow(line)
        spent: Mapping[str, float] = line.get("time", {})
        if spent:
            self._seconds.append(spent.get("step", 0.0))  # in which "measure" is contained
            self._spent += self._seconds[-1]
        self._news += 1

    def finish(self, final: Line) -> None:
        """Adds what was measured after the last update."""
        self._final = final
        self._follow(final)
        self._news += 1

    def _follow(self, line: Line) -> None:
        for name, value in numbers(line).items():
            self._first.setdefault(name, value)
            self._courses.setdefault(name, deque(maxlen=KEPT)).append(value)
        figure = headline(self._courses)
        if self._told and figure not in self._told[0]:
            self._told = []
        if figure in line:
            names = ("step", figure, f"{figure}_low", f"{figure}_high")
            self._told.append({name: line[name] for name in names if name in line})

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = max((options.height or console.height) - 4, 8)
        wanted = (
            self._news,
            room,
            options.max_width,
        )  # before it is drawn: lines are added in another thread meanwhile
        drawn = self._drawn
        if self._drawn_for != wanted:
            drawn = self.drawn(room, options.max_width)
            self._drawn, self._drawn_for = drawn, wanted
        died = self._died()
        yield self._progress(options.max_width, ended=bool(died))
        if died:
            yield Text(died, style="bold red", no_wrap=True, overflow="ellipsis")
        yield drawn

    def drawn(self, height: int, width: int) -> Text:
        """The dashboard in at most `height` lines of `width` columns."""
        lines = [self._pace()]
        if height > 12:
            lines += [Text(part) for part in wrap(self.sentence(), width)[:SENTENCE]]
        if alarms := self.alarms():
            lines += [Text(part, style="bold red") for each in alarms for part in wrap(f"alarm: {each}", width)[:ALARM]]
        title, said = self._episode(width) if height > 16 else ("", [])
        rows = height - len(lines) - (len(said) + 1 if said else 0) - 1
        lines += self._rows(max(rows, 4), width)
        if said:
            lines.append(Text(f"── {title} ".ljust(width, "─"), style="dim"))
            lines += map(Text, said)
        for line in lines:
            line.truncate(width, overflow="ellipsis")
        return Text("\n", no_wrap=True, end="").join(lines)

    def sentence(self) -> str:
        """What happened so far and how far to believe it; empty until something was measured twice."""
        if len(self._told) < 2:
            return ""
        try:
            bases = bases_of(self._folder)
        except RedQueenError:
            bases = {}  # the report says that the file is broken
        return told(self._told, bases).sentence

    def _died(self) -> str:
        """How the run ended, if it ended before its last step; empty for one that goes on or is finished."""
        final = self._final or read_final(self._folder)
        if not (self._folder / LOCK).exists() and not final:
            return ""
        end = ending(self._folder, {"config": {"steps": self._count}}, [self._last] if self._last else [], final)
        return f"{end.words}: {_one_line(end.error, 500)}" if end.status in ("died", "stopped") else ""

    def alarms(self) -> list[str]:
        """Messages of all alarms firing in the newest line, or their names."""
        return [words or name for name, words in alarms_of(self._last).items()]

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

    def _progress(self, width: int, ended: bool) -> Text:
        """Steps done, how long they took and how long the rest will take. The clock goes on between steps."""
        spent = self._spent + (0.0 if ended else time.monotonic() - self._heard)
        full = BAR * min(self.done, self._count) // max(self._count, 1)
        text = Text(f"step {self.done}/{self._count or '?'} ", no_wrap=True)
        text.append("━" * full, style="bold red").append("━" * (BAR - full), style="dim")
        text.append(f" {timedelta(seconds=int(spent))}")
        if self._seconds and self.done < self._count and not ended:
            left = max((self._count - self.done) * self._mean() - (time.monotonic() - self._heard), 0.0)
            text.append(f", {timedelta(seconds=int(left))} left")
        elif now := so_far():  # in the first step, or in the last measurement
            text.append(f", {now}")
        text.truncate(width, overflow="ellipsis")
        return text

    def _mean(self) -> float:
        """The mean seconds of recent steps."""
        return sum(self._seconds) / max(len(self._seconds), 1)

    def _pace(self) -> Text:
        mean = self._mean()
        parts = [f"{1.0 / mean:.2f} steps/s"] if mean else []
        words = [self._last.get(key) for key in ("episodes", "turns_per_episode", "completion_length")]
        if mean and all(isinstance(each, int | float) for each in words):
            episodes, turns, length = (float(each or 0.0) for each in words)
            parts.append(f"{episodes * turns * length / mean:.0f} tokens learned from a second")
        if held := self._last.get("time", {}).get("gigabytes"):
            parts.append(f"{held:.1f} GB")
        return Text("   ".join(parts), style="dim")

    def _rows(self, most: int, width: int) -> list[Text]:
        """The headings and a line for each figure: its group where that is a new one, name, start, now, course. In a
        narrow window the groups are left out and long names lose their beginning, never the numbers."""
        chosen = self.figures()[:most]
        widest, left = max((len(name) for _, name in chosen), default=0), width - 2 * (NUMBER + 2)
        first = GROUP + 1 if GROUP + 1 + widest <= left else 0
        widest = min(widest, max(left - first, 1))
        lines = [Text(f"{'':{first}}{'':{widest}} {'start':>{NUMBER}} {'now':>{NUMBER}} course", style="dim")]
        before = ""
        for group, name in chosen:
            values = self._courses[name]
            numbers = f"{self._first[name]:{NUMBER}.4g} {values[-1]:{NUMBER}.4g}"
            line = Text(f"{'' if group == before else group:{first}}" if first else "", style="dim")
            called = name if len(name) <= widest else f"…{name[len(name) + 1 - widest :]}"
            lines.append(line.append(f"{called:{widest}} {numbers} {course(values)}", style=_style(name, values)))
            before = group
        return lines

    def _episode(self, width: int) -> tuple[str, list[str]]:
        """A title and lines for the newest of the recorded episodes; no lines where there is none."""
        episode = last_episode(self._folder, self._last.get("step"))
        if episode is None:
            return "", []
        drawn = frames(episode)
        lines = as_text(drawn[-1]).splitlines() if drawn else []
        game = game_to_show(episode.game, self._folder)
        speaking = addressed(episode, {} if game is None else stated_hearers(game))
        for who, turn in list(zip(speaking, episode.turns, strict=True))[-SAID:]:
            lines.append(f"{_one_line(who, 30)}: {_one_line(turn.reply.text, width - 20)}")
        scores = ", ".join(f"{_one_line(str(seat), 30)} {_told(result(episode, seat))}" for seat in episode.seats)
        return f"{_one_line(episode.game, 30)}, {_one_line(episode.task.id, 30)}: {scores}", lines


def _told(score: float) -> str:
    return f"{score:+g}" if isfinite(score) else "without a verdict"


def last_episode(folder: Path, step: int | None = None) -> Episode | None:
    """The first one recorded in this step, or else in the newest that recorded any; None where none can be read."""
    place = folder / "episodes"
    path: Path | None = place / f"step_{step:06d}.jsonl" if step is not None else None
    if path is None or not path.is_file():
        path = max(place.glob("step_*.jsonl"), default=None)
    try:
        if path is None:
            return None
        return episode_of(read_text(path).partition("\n")[0], str(path))[0]
    except RedQueenError:  # it is being written, or forgotten by a resumed run
        return None


def averaged(values: Sequence[float], most: int) -> list[float]:
    """The values, or, if they are more than `most`, the means of `most` consecutive parts."""
    count = min(most, len(values))
    parts = [values[place * len(values) // count : (place + 1) * len(values) // count] for place in range(count)]
    return [sum(part) / len(part) for part in parts]


def course(values: Sequence[float] | deque[float]) -> str:
    """A sparkline of `values`, from the lowest to the highest; values that are not finite are left out."""
    means = averaged([value for value in values if isfinite(value)], COURSE)
    low, high = min(means, default=0.0), max(means, default=0.0)
    if not high > low or not isfinite(8 * (high - low)):  # all alike, or beyond what a float holds
        return EIGHTHS[0] * len(means)
    return "".join(EIGHTHS[min(7, int(8 * (mean - low) / (high - low)))] for mean in means)


def _fits(name: str, word: str, group: str) -> bool:
    """A word that ends in / is the beginning of a name, or of what follows a learner's; another one stands in it, whole
    where names have parts."""
    if name.startswith("alarm/") or name.endswith(("_low", "_high")):  # an interval's bounds
        return False
    if word.endswith("/"):
        return f"/{word}" in f"/{name}"
    return word in name and ("/" not in name or group == GROUPS[0][0])


def _style(name: str, values: Sequence[float] | deque[float]) -> str:
    """Never the dim one of the group before it."""
    return "red" if name in ("malformed", "truncated", "forfeits") and values[-1] > 0.5 else "not dim"


def _one_line(text: str, width: int) -> str:
    words = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return words if len(words) <= width else f"{words[: max(width - 1, 1)]}…"
