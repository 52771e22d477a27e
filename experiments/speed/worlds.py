"""Acts a second in each world of the shelf, one match at a time and many at once, and how much of a step with a tiny
model is spent outside of the model. Acts are drawn from those that are listed, or else are one that makes sense."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from random import Random
from statistics import median
from typing import Any

from redqueen.chance import derive, uniform
from redqueen.checks.sandbox.jail import why_not
from redqueen.games.acting import Acting
from redqueen.play.lockstep import play
from redqueen.protocols import Player
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Made, Rows, Table
from redqueen.types import Ask, Episode, Match, Reply
from redqueen.worlds.catalogue import find_world
from redqueen.worlds.chromium import why_no_pages

ACTS = 4  # of a match, at most
# of each world its spec, an act where it lists none, and how many matches are played at once
SHELF: tuple[tuple[str, str, int], ...] = (
    ("site(count=64,tests=1)", "", 64),
    ("sql(count=64,tests=1,trained=8,held=1)", "select 1", 64),
    ("proofs", "D D 2 1 1", 64),
    ("circuits(count=64,tests=1)", "assign y = a & b ;", 64),
    ("traces(count=64,tests=1)", "", 64),
    ("grid(count=64,tests=1)", "", 64),
    ("repository(count=8,tests=1)", "", 64),
    ("web(count=16,tests=1)", "", 16),
)


@dataclass(frozen=True)
class Drawn:
    """Acts at random from those that are listed, or else the same; or what a model says."""

    act: str
    name: str = "drawn"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._said(ask), self.name) for ask in asks]

    def _said(self, ask: Ask) -> str:
        return ask.choices[int(uniform(derive(ask.seed, "act")) * len(ask.choices))] if ask.choices else self.act


@dataclass
class Timed:
    """A player, and the seconds that it took to answer."""

    inner: Player
    seconds: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.inner.name

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        began = time.perf_counter()
        found = self.inner.reply(asks)
        self.seconds.append(time.perf_counter() - began)
        return found


def acts_a_second(repeats: int) -> Made:
    """Medians of the repeats, after one that does not count."""
    rows: Rows = []
    model = Learner(model="tiny", lora_rank=0, max_completion_length=8).build(0)
    for spec, act, many in SHELF:
        name = spec.partition("(")[0]
        missing = _missing(name)
        if missing:
            rows.append((name, "-", "-", "-", missing))
            continue
        game = Acting(find_world(spec), ACTS)
        alone = _rate(repeats, partial(_played, game, Drawn(act), 8, 1))
        together = _rate(repeats, partial(_played, game, Drawn(act), many, many))
        timed = Timed(model)
        began = time.perf_counter()
        _played(game, timed, many, many)
        whole = time.perf_counter() - began
        rows.append(
            (name, f"{alone:.0f}", f"{together:.0f}", f"{1 - sum(timed.seconds) / whole:.2f}", f"{many} at once")
        )
    headings = ("world", "acts a second, alone", "many at once", "share outside a tiny model", "")
    return headings, rows, f"At most {ACTS} acts of each match; the tiny model says 8 tokens or one of the listed acts."


def _missing(name: str) -> str:
    if name == "web":
        return why_no_pages() or ("" if find_spec("miniwob") else "miniwob is not installed")
    if name == "repository":
        return why_not() or ("" if find_spec("toolz") else "toolz is not installed")
    return "" if name != "grid" or find_spec("minigrid") else "minigrid is not installed"


def _played(game: Acting, player: Any, matches: int, at_once: int) -> list[Episode]:
    tasks = list(game.tasks())
    dealt = [Match(game, tasks[number % len(tasks)], {"agent": player}, number) for number in range(matches)]
    return [each for first in range(0, matches, at_once) for each in play(dealt[first : first + at_once], Random(0))]


def _rate(repeats: int, work: Callable[[], list[Episode]]) -> float:
    rates = []
    for repeat in range(repeats + 1):
        began = time.perf_counter()
        acts = sum(len(episode.turns) for episode in work())
        if repeat:
            rates.append(acts / (time.perf_counter() - began))
    return median(rates)


WORLDS = Table("Worlds", "How fast are the worlds of the shelf?", acts_a_second)
