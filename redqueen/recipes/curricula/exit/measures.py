"""How good the attempts of a chain are, each of which improves on the one before (ExIt, 2509.04575)."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np

from redqueen.chance import derive
from redqueen.measures.accuracy import spread
from redqueen.play.groups import attempts, episodes_of
from redqueen.protocols import Player, State
from redqueen.recipes.curricula.exit.steps import Continued, quality
from redqueen.runs.sources import Source
from redqueen.types import Basis, Metrics, mean_of


class Chains:
    """`quality_after/K`: the mean quality of the K-th of several attempts in a row, at held-out problems (in a game at
    drawn tasks), on the same seeds at every measurement. A chain that is solved stays so."""

    def __init__(self, tasks: Source, player: Player, continued: Continued, config: Any, seed: int) -> None:
        self._tasks, self._player, self._continued = tasks, player, continued
        self._length, self._seed = config.chain, seed
        self._problems = tasks.tests(config.problems, Random(derive(seed, "chains")))

    def __call__(self) -> Metrics:
        rng = Random(derive(self._seed, "chain"))
        reached, open_tasks = np.zeros(len(self._problems)), dict(enumerate(self._problems))
        found: Metrics = {}
        for number in range(1, self._length + 1):
            if open_tasks:
                tries = self._tasks.judged(attempts(self._tasks.game, list(open_tasks.values()), self._player, 1, rng))
                for place, episode in zip(list(open_tasks), episodes_of(tries), strict=True):
                    reached[place] = np.nan_to_num(quality(episode))
                    if reached[place] < 1.0:
                        open_tasks[place] = self._continued(episode, rng)
                    else:
                        del open_tasks[place]
            found[f"quality_after/{number}"] = mean_of(reached)
        return found

    def basis(self) -> Mapping[str, Basis]:
        basis = Basis(count=len(self._problems), of="chains")
        return {f"quality_after/{number}": basis for number in range(1, self._length + 1)}

    def limit(self, replies: int) -> None:
        self._problems = spread(self._problems, replies and max(replies // self._length, 1))

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None
