"""ScalingInter-RL's horizons, and what is learned from the episodes that they end (2509.08755)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from redqueen.play.groups import episodes_of
from redqueen.protocols import Game, HasHorizon, has
from redqueen.types import Episode, Group, Metrics, RedQueenError, Task, Trajectory, mean_of


class Horizons:
    """A game whose turns grow with the step. Raises RedQueenError for a game without a horizon, and for horizons of no
    turns."""

    def __init__(self, game: Game, horizons: Sequence[int], stage: int, cut: Literal["failed", "muted"]) -> None:
        if not has(game, HasHorizon):
            raise RedQueenError(
                f"the game {game.name} has no horizon that could grow: it needs a method within(turns), as corridor has"
            )
        if not horizons or min(horizons) < 1:
            raise RedQueenError(f"--horizons are numbers of turns of at least 1, such as 5 10 20, not {horizons}")
        self._game, self._horizons, self._stage, self._muted = game, tuple(horizons), stage, cut == "muted"

    def turns(self, step: int) -> int:
        """The largest number of turns in an episode of this step."""
        return self._horizons[min(step // self._stage, len(self._horizons) - 1)]

    def at(self, step: int) -> Game:
        """The game as it is played in this step."""
        return self._game.within(self.turns(step))

    def dealt(self, tasks: Sequence[Task], step: int) -> list[Task]:
        """The tasks, each with the horizon of the step, by which the records of its attempts are played again."""
        return [replace(task, facts={**task.facts, "horizon": self.turns(step)}) for task in tasks]

    def kept(self, trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray]) -> list[np.ndarray]:
        """[N] each, the advantages, zeros for episodes that were cut where these are muted. Their rewards still count
        in the group means."""
        return [
            np.zeros_like(given) if self._muted and was_cut(each.episode) else given
            for each, given in zip(trajectories, advantages, strict=True)
        ]

    def metrics(self, step: int, groups: Sequence[Group]) -> Metrics:
        """The horizon of the step, and the share of its episodes that were cut."""
        return {"horizon_high": float(self.turns(step)), "cut": mean_of(map(was_cut, episodes_of(groups)))}


def was_cut(episode: Episode) -> bool:
    """Whether the episode ended because its turns were used up."""
    return bool(episode.outcome.facts.get("cut", False))
