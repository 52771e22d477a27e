"""How a team fares against those of earlier stages and against players at random."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from random import Random
from types import MappingProxyType

import numpy as np

from redqueen.chance import derive
from redqueen.games.volley import SIDES
from redqueen.opponents.league import ELO
from redqueen.opponents.payoffs import bradley_terry
from redqueen.play.lockstep import play
from redqueen.protocols import State
from redqueen.recipes.games.hcsp.steps import DRILLS, RANDOM, STRATEGY, Stages, Team, met, point
from redqueen.types import Basis, Mean, Metrics

NOBODY: Mapping[str, Team] = MappingProxyType({})
NOW, AT_RANDOM = "now", "random"
ENDED = {DRILLS: "skills", STRATEGY: "strategy"}


class Rivals:
    """Of rallies with the same seeds at every measurement: `points/NAME`, the share of points that the team wins from
    another one, half where nobody does; `elo/NAME`, ratings of all from those that each two play, players at random at
    0. The teams: players at `random`, that with which the drills ended under calls at random (`skills`), that with
    which the second stage did (`strategy`), and further `rivals`."""

    def __init__(self, stages: Stages, seed: int = 0, rivals: Mapping[str, Team] = NOBODY, matches: int = 64) -> None:
        self._stages, self._rivals, self._matches, self._seed = stages, rivals, matches, seed

    def __call__(self) -> Metrics:
        ended = {name: self._stages.ended(stage) for stage, name in ENDED.items()}
        teams = {NOW: self._stages.team, AT_RANDOM: RANDOM, **self._rivals}
        teams |= {name: team for name, team in ended.items() if team is not None}
        names = list(teams)
        won = np.zeros((len(names), len(names)))
        for one, two in combinations(range(len(names)), 2):
            won[one, two] = self._points(teams[names[one]], teams[names[two]])
            won[two, one] = self._matches - won[one, two]
        found: Metrics = {
            f"points/{name}": Mean(won[0, place] / self._matches, self._matches)
            for place, name in enumerate(names[1:], 1)
        }
        played = (self._matches + 1.0) * (1.0 - np.eye(len(names)))
        elo = ELO * bradley_terry((won + 0.5 * (1.0 - np.eye(len(names)))).sum(axis=1), played)
        return found | {f"elo/{name}": float(elo[place] - elo[1]) for place, name in enumerate(names)}

    def _points(self, team: Team, rival: Team) -> float:
        game, tasks = self._stages.game, self._stages.game.tasks()
        dealt = [tasks[number % 2] for number in range(self._matches)]
        matches = met(game, dealt, team, [rival] * self._matches)
        episodes = play(matches, Random(derive(self._seed, "rallies")))
        return sum(point(each, SIDES[number % 4 >= 2]) for number, each in enumerate(episodes))

    def basis(self) -> dict[str, Basis]:
        names = (AT_RANDOM, *ENDED.values(), *self._rivals)
        figures = [f"{figure}/{name}" for figure in ("points", "elo") for name in (NOW, *names)]
        return dict.fromkeys(figures[1:], Basis(count=self._matches, of="rallies"))

    def limit(self, replies: int) -> None:
        """A rally counts as eight replies."""
        if replies:
            self._matches = max(min(self._matches, replies // 32 * 4), 4)

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None
