"""Matches between tables as arrays (after JaxMARL, arXiv:2311.10090), beside the same matches one by one."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from statistics import median

import numpy as np

from redqueen.credit.rewards import payoff, score
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.leduc_poker import LeducPoker
from redqueen.games.liars_dice import LiarsDice
from redqueen.measures.exact.arrays import ArrayGame, Matches
from redqueen.objectives.batch import ConstantMean, pack
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Game
from redqueen.trials.experiment import Made, Rows, Table
from redqueen.types import Batch, Episode

GAMES: dict[str, Game] = {
    "Kuhn poker": KuhnPoker(),
    "Leduc poker": LeducPoker(),
    "liar's dice, 4 sides": LiarsDice(sides=4),
}
ONE_BY_ONE, AT_ONCE = 1_024, 100_000  # matches


def matches(repeats: int) -> Made:
    """Returns matches a second, in turns: played alone, and packed into a batch too."""
    rows: Rows = []
    for name, game in GAMES.items():
        rows += [(name, *row) for row in _of_game(game, repeats)]
    note = (
        f"A table of fresh logits in every seat; {ONE_BY_ONE:,} matches one by one, {AT_ONCE:,} as arrays, medians of "
        f"{repeats}. The histories are found once."
    )
    return ("game", "matches", "a second", "times as fast", "finding its histories, s"), rows, note


def _of_game(game: Game, repeats: int) -> Rows:
    began = time.perf_counter()
    arrays = ArrayGame(game)
    found = time.perf_counter() - began
    learner = TabularPolicy()
    learner.read(arrays.asks)
    few, many = (Random(1).choices(list(game.tasks()), k=count) for count in (ONE_BY_ONE, AT_ONCE))

    def one_by_one() -> list[Episode]:
        return play(mirror(game, few, learner), Random(0))

    def packed_one_by_one() -> Batch:
        trajectories = score(one_by_one(), payoff)
        return pack(trajectories, [np.full(len(each.turns), each.rewards.sum()) for each in trajectories])

    def at_once() -> Matches:
        return arrays.play(learner, many, Random(0))

    def packed_at_once() -> Batch:
        played = at_once()
        return played.pack(played.scores, ConstantMean(1))

    def as_episodes() -> list[Episode]:
        return arrays.play(learner, few, Random(0)).episodes(range(ONE_BY_ONE))

    ways: dict[str, tuple[int, Callable[[], object]]] = {
        "one by one": (ONE_BY_ONE, one_by_one),
        "one by one, packed": (ONE_BY_ONE, packed_one_by_one),
        "arrays": (AT_ONCE, at_once),
        "arrays, then episodes": (ONE_BY_ONE, as_episodes),
        "arrays, packed": (AT_ONCE, packed_at_once),
    }
    rates: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(repeats):
        for way, (count, run) in ways.items():
            began = time.perf_counter()
            run()
            rates[way].append(count / (time.perf_counter() - began))
    rows: Rows = []
    for way, values in rates.items():
        against = median(rates["one by one, packed" if way.endswith("packed") else "one by one"])
        rows.append((way, f"{median(values):,.0f}", f"{median(values) / against:.1f}", f"{found:.1f}"))
    return rows


MATCHES = Table("Matches as arrays", "How many table matches a second, played, and packed for an update?", matches)
