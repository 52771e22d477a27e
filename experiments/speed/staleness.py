"""Continuous play: what staleness costs in learning, and what it gains against a slow player.

Learning is that of `fictitious_self_play` in Kuhn poker on a table, with and without the truncated importance weight
of old words. The slow player sleeps before each batch of its replies, as one behind a network does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import ClassVar

from rich.console import Console

from experiments.magnetic import train_once
from redqueen.chance import derive
from redqueen.credit.advantages.keys import by_game_and_role
from redqueen.credit.advantages.statistics import MovingBaseline
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.curricula.dealt import Sampled
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.measures.intervals import bootstrap_interval, paired_difference
from redqueen.measures.of_games import usual_measures
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Cispo, Reinforce
from redqueen.opponents.pools import Fixed, Snapshots
from redqueen.play import lockstep
from redqueen.play.flow import Flow
from redqueen.play.seating import rotate
from redqueen.players.scripted import Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Objective, Policy
from redqueen.runs.run import Run
from redqueen.trials.sheets import Bench, Result, Rows
from redqueen.types import Ask, Episode, Match, Reply

GAME = KuhnPoker()
MATCHES = 128  # an update
FEW_MATCHES = 32  # an update against the slow player
SECONDS = 0.02  # that the slow player takes for a batch
BESIDE = "minus that of staleness 0"
WARM = 5  # updates that are not timed: the first fills the flow
CORRECTED = Cispo(above_one=1.0)

Play = Callable[[Sequence[Match], Random], list[Episode]]


@dataclass(frozen=True)
class Variant:
    """`fictitious_self_play` as it is by default, but for these."""

    steps: int
    staleness: int
    objective: Objective


def staleness(options: Bench, console: Console) -> Result:
    """Exploitability after training with matches in flight over several updates."""
    steps = options.steps or 300
    plain: Objective = Reinforce()
    rows: Rows = []
    found: dict[tuple[int, Objective], list[dict[str, float]]] = {}
    for stale, objective in [(0, plain)] + [(stale, each) for stale in (1, 2, 4, 8) for each in (CORRECTED, plain)]:
        variant = Variant(steps, stale, objective)
        runs = [train_once(_train, variant, seed, evaluate_every=10) for seed in range(options.seeds)]
        found[stale, objective] = [{**lines[-1], **final} for lines, final in runs]
        console.print(f"  staleness {stale}: {type(objective).__name__} trained", highlight=False)
    for (stale, objective), ends in found.items():
        row = [
            str(stale),
            "yes" if objective == CORRECTED else "no" if stale else "none needed",
            f"{sum(end.get('queue/lag', 0.0) for end in ends) / len(ends):.1f}",
        ]
        for name in ("exploitability", "average_exploitability"):
            reached, fresh = ([end[name] for end in each] for each in (ends, found[0, plain]))
            row.append(str(bootstrap_interval(reached, seed=0)))
            row.append(str(paired_difference(reached, fresh, seed=0)) if stale else "")
        rows.append(tuple(row))
    note = f"Exploitability; {options.seeds} paired seeds, {steps} updates of {MATCHES} games, measured every 10."
    headings = ("staleness", "weights", "updates behind", "last iterate", BESIDE, "average policy", BESIDE)
    return "Staleness in Kuhn poker, tabular", headings, rows, note


def slow_player(options: Bench, console: Console) -> Result:
    """Games a second against a player that sleeps, in rounds and in flight, in turns."""
    steps = options.steps or 20
    stales = (None, 0, 1, 2, 4)
    rates: dict[int | None, list[float]] = {stale: [] for stale in stales}
    idle: dict[int | None, float] = {}
    for _ in range(options.repeats):
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
    return "Play against a slow player", ("play", "games/s", "times as fast", "waiting"), rows, note


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


def _train(variant: Variant, run: Run) -> Policy:
    """The loop of `fictitious_self_play` with another objective."""
    learner = TabularPolicy()
    opponents, curriculum = Snapshots(learner, capacity=25), Sampled(GAME.tasks())
    estimate = MovingBaseline(by_game_and_role, decay=0.95)
    flow = Flow([GAME], learner, MATCHES, variant.staleness, lambda: opponents.players)
    measures = usual_measures(GAME, learner)
    for step in run.steps(variant.steps, [learner], [opponents, estimate, flow], measures):
        if step % 5 == 0:
            opponents.add(learner.freeze())
        matches = rotate(GAME, curriculum.draw(flow.room, run.rng), learner, opponents, run.rng)
        trajectories = spoken_by(learner, score(flow.play(matches, run.rng), payoff))
        advantages = estimate(trajectories)
        metrics = learner.update(pack(trajectories, advantages), variant.objective)
        run.report(learner, trajectories, advantages, metrics | flow.metrics())
    return learner
