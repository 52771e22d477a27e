"""Continuous play against a slow player, which sleeps before each batch of its replies, as one behind a network does:
what it gains over play in rounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import ClassVar

from redqueen.chance import derive
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.curricula.dealt import Sampled
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Cispo
from redqueen.opponents.pools import Fixed
from redqueen.play import lockstep
from redqueen.play.flow import Flow
from redqueen.play.seating import rotate
from redqueen.players.scripted import Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.trials.experiment import Made, Rows, Table
from redqueen.types import Ask, Episode, Match, Reply

GAME = KuhnPoker()
FEW_MATCHES = 32  # an update against the slow player
SECONDS = 0.02  # that the slow player takes for a batch
WARM = 5  # updates that are not timed: the first fills the flow
CORRECTED = Cispo(above_one=1.0)

Play = Callable[[Sequence[Match], Random], list[Episode]]


def slow_player(repeats: int, steps: int = 20) -> Made:
    """Returns games a second against a player that sleeps, in rounds and in flight, in turns."""
    stales = (None, 0, 1, 2, 4)
    rates: dict[int | None, list[float]] = {stale: [] for stale in stales}
    idle: dict[int | None, float] = {}
    for _ in range(repeats):
        for stale in stales:
            rate, idle[stale] = _games_a_second(steps, stale)
            rates[stale].append(rate)
    base = median(rates[None])
    rows: Rows = [
        (
            "rounds (lockstep)" if stale is None else f"in flight, staleness {stale}",
            f"{median(values):.0f}",
            f"{median(values) / base:.2f}",
            f"{idle[stale]:.0%}" if stale is not None else "",
        )
        for stale, values in rates.items()
    ]
    note = (
        f"Tabular Kuhn poker, {FEW_MATCHES} games an update, against a player that sleeps {1000 * SECONDS:.0f} ms "
        f"before each batch of replies; {steps} updates after the first {WARM}. Waiting is a share of the time in play."
    )
    return ("play", "games/s", "times as fast", "waiting"), rows, note


@dataclass(frozen=True)
class Sleeper:
    """Plays uniformly, after a while."""

    asked_in_threads: ClassVar[bool] = True

    name: str = "sleeper"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        time.sleep(SECONDS)
        return Uniform(self.name).reply(asks)


def _games_a_second(steps: int, stale: int | None) -> tuple[float, float]:
    """And the share of `play` spent waiting. None is lockstep."""
    learner, opponents, curriculum = TabularPolicy(), Fixed(Sleeper()), Sampled(GAME.tasks())
    idle = 0.0
    with closing(Flow([GAME], learner, FEW_MATCHES, stale or 0, lambda: [opponents.player])) as flow:
        play: Play = lockstep.play if stale is None else flow.play
        for step in range(WARM + steps):
            if step == WARM:
                began, idle = time.perf_counter(), 0.0
            rng = Random(derive(0, step))
            matches = rotate(GAME, curriculum.draw(flow.room, rng), learner, opponents, rng)
            trajectories = spoken_by(learner, score(play(matches, rng), payoff))
            learner.update(pack(trajectories, [each.rewards for each in trajectories]), CORRECTED)
            idle += flow.metrics().get("queue/idle", 0.0)
        return steps * FEW_MATCHES / (time.perf_counter() - began), idle / steps


SLOW_PLAYER = Table(
    "Play against a slow player", "How much faster is play with matches in flight than in rounds?", slow_player
)
