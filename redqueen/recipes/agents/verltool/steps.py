"""VerlTool's games of tools, and what is learned from attempts that call none (2509.01055)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from redqueen.games.acting import Working
from redqueen.games.catalogue import find_game
from redqueen.games.threaded import Threaded
from redqueen.measures.calls import calls_of
from redqueen.protocols import Policy
from redqueen.runs.sources import Dealt
from redqueen.types import RedQueenError, Trajectory


def with_tools(config: Any, learner: Policy, seed: int) -> Dealt:
    """The tasks of the game that the settings name, whose tools run in threads where `at_once` says so; those that
    measure are dealt by `seed`. Raises RedQueenError for a game without tools."""
    game = find_game(config.game)
    if not isinstance(game, Working):
        raise RedQueenError(
            f"in {game.name} no tools are called: take a world with tools as working:WORLD, such as working:sql, "
            "working:mcp(python server.py,tasks=FILE.jsonl), working:trl(FILE.py:Class,tasks=FILE.jsonl)"
        )
    return Dealt(Threaded(game, config.at_once) if config.at_once else game, learner, config.problems, seed)


def kept(
    trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray], without_call: Literal["kept", "muted"]
) -> list[np.ndarray]:
    """[N] each, the advantages, zeros for attempts that called no tool where these are muted. Their rewards still count
    in the group means."""
    return [
        np.zeros_like(given) if without_call == "muted" and not calls_of(each.episode) else given
        for each, given in zip(trajectories, advantages, strict=True)
    ]
