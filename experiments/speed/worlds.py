"""Acts a second in each world of the shelf, one match at a time and many at once, and how much of a step with a tiny
model is spent outside of the model. Acts are drawn from those that are listed, or else are one that makes sense.

Of worlds that work in this process it is seconds of the processor, which do not depend on who else is at work. In the
others, which wait for a browser or for the jail, it is time by the clock, and a world that is a seat is asked by many
matches at the same time (`play.flow`): the ratio is what that is worth.
"""

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
from redqueen.play.flow import Flow
from redqueen.play.lockstep import play
from redqueen.protocols import Player
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Made, Rows, Table
from redqueen.types import Ask, Episode, Match, Reply, Task
from redqueen.worlds.catalogue import find_world
from redqueen.worlds.chromium import why_no_pages
from redqueen.worlds.embodied import Embodied
from redqueen.worlds.hosted import WORLD, Hosted

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
ELSEWHERE = ("web", "repository")  # what their acts wait for is another process


@dataclass(frozen=True)
class Drawn:
    """Acts at random from those that are listed, or else the same; or what a model says."""

    act: str
    name: str = "drawn"
    version = 0

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._said(ask), self.name) for ask in asks]

    def _said(self, ask: Ask) -> str:
        return ask.choices[int(uniform(derive(ask.seed, "act")) * len(ask.choices))] if ask.choices else self.act


@dataclass
class Timed:
    """A player, and the seconds that it took to answer."""

    inner: Player
    clock: Callable[[], float]
    seconds: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.inner.name

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        began = self.clock()
        found = self.inner.reply(asks)
        self.seconds.append(self.clock() - began)
        return found


def acts_a_second(repeats: int) -> Made:
    """Medians of the repeats, after one that does not count."""
    rows: Rows = []
    model = Learner(model="tiny", lora_rank=0, max_completion_length=8).build(0)
    for spec, act, many in SHELF:
        name = spec.partition("(")[0]
        missing = _missing(name)
        if missing:
            rows.append((name, "-", "-", "-", "-", missing))
            continue
        clock = time.perf_counter if name in ELSEWHERE else time.process_time
        world = find_world(spec)
        game = Acting(world, ACTS)
        tasks = list(game.tasks())
        dealt = [tasks[number % len(tasks)] for number in range(many)]
        alone = _rate(repeats, clock, partial(_played, game, Drawn(act), dealt[:8], 1))
        together = partial(_played, game, Drawn(act), dealt, many)
        if name in ELSEWHERE:
            together = partial(_beside, Hosted(world, ACTS), Drawn(act), dealt)
        rate = _rate(repeats, clock, together)
        timed = Timed(model, clock)
        began = clock()
        _played(game, timed, dealt, many)
        outside = 1 - sum(timed.seconds) / (clock() - began)
        how = f"{many} at once, {'by the clock' if name in ELSEWHERE else 'of the processor'}"
        rows.append((name, _few(alone), _few(rate), f"{rate / alone:.2f}", f"{outside:.2f}", how))
    headings = ("world", "acts a second, alone", "many at once", "ratio", "share outside a tiny model", "")
    return headings, rows, f"At most {ACTS} acts of each match; the tiny model says 8 tokens or one of the listed acts."


def _few(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}"


def _missing(name: str) -> str:
    if name == "web":
        return why_no_pages() or ("" if find_spec("miniwob") else "miniwob is not installed")
    if name == "repository":
        return why_not() or ("" if find_spec("toolz") else "toolz is not installed")
    return "" if name != "grid" or find_spec("minigrid") else "minigrid is not installed"


def _played(game: Acting, player: Any, tasks: Sequence[Task], at_once: int) -> list[Episode]:
    dealt = [Match(game, task, {"agent": player}, number) for number, task in enumerate(tasks)]
    return [each for first in range(0, len(dealt), at_once) for each in play(dealt[first : first + at_once], Random(0))]


def _beside(game: Hosted, player: Any, tasks: Sequence[Task]) -> list[Episode]:
    """The episodes of matches whose worlds are asked at the same time."""
    host = Embodied(game.world)
    cast = {"agent": player, WORLD: host}
    flow = Flow([game], player, len(tasks))
    try:
        return flow.play([Match(game, task, cast, number) for number, task in enumerate(tasks)], Random(0))
    finally:
        flow.close()
        host.close()


def _rate(repeats: int, clock: Callable[[], float], work: Callable[[], list[Episode]]) -> float:
    rates = []
    for repeat in range(repeats + 1):
        began = clock()
        acts = sum(turn.ask.seat.role == "agent" for episode in work() for turn in episode.turns)
        if repeat:
            rates.append(acts / (clock() - began))
    return median(rates)


WORLDS = Table("Worlds", "How fast are the worlds of the shelf?", acts_a_second)
