"""What can be played at a run's table: its games, their deals, and who may sit on the other side.

People choose from these lists and name nothing of their own: a browser must not make this machine load a folder or call
an address that whoever started the server did not name.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from redqueen.checkpoints import checkpoints
from redqueen.evaluation.minimax import solve
from redqueen.games.catalogue import find_game
from redqueen.protocols import Game, Player
from redqueen.seating import PLAYERS, find_player, mind_of, unnamed
from redqueen.serving.refusals import Declined
from redqueen.stored import game_specs, stored_domain
from redqueen.types import Ask, RedQueenError, Reply, Task

MOST_LOADED = 4  # players held in memory
MOST_POSITIONS = 20_000  # of a game that is solved while a person waits: a few seconds
MOST_TASKS = 500  # deals that can be chosen by hand


class Opponent:
    """A player that many people play against: it answers one request at a time, each as if it were the only one."""

    def __init__(self, player: Player) -> None:
        self.name = player.name
        self._player = player
        self._mind = mind_of(player)
        self._forget = getattr(unnamed(player), "forget", lambda: None)
        self._lock = Lock()

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        with self._lock:
            self._forget()  # what others asked before must not round this reply differently
            return self._player.reply(asks)

    def probabilities(self, ask: Ask) -> np.ndarray:
        """[K] of the legal replies. Raises Declined where they cannot be read."""
        if self._mind is None or not ask.choices:
            why = "the legal replies are not listed here" if self._mind else f"{self.name} can only be asked, not read"
            raise Declined(f"there are no probabilities to show: {why}")
        with self._lock:
            self._forget()
            return self._mind.probabilities([ask])[0]


@dataclass(frozen=True)
class Offered:
    """A game, how it was named, and its deals."""

    spec: str
    game: Game
    tasks: Sequence[Task]


class Menu:
    """See the module. Raises RedQueenError for a run without a game for several seats."""

    def __init__(self, folder: Path, game: str | None = None, also: Sequence[str] = ()) -> None:
        self.folder = folder
        self.games = _games(folder, game)
        self._also = tuple(also)
        self._loaded: OrderedDict[tuple[str, str], Opponent] = OrderedDict()
        self._lock = Lock()
        self._loading = Lock()  # a player that is being loaded does not keep others from playing
        for title, offered in self.games.items():
            for spec in (self._specs(offered.game)[0], *also):
                self.opponent(title, spec)

    def opponent(self, title: str, spec: str) -> Opponent:
        """The player that a word of the list names, for one of the games. Raises Declined for any other word."""
        key = (title if spec in PLAYERS else "", spec)  # bots are made for a game, policies play all
        if (known := self._known(key)) is not None:
            return known
        with self._loading:
            if (known := self._known(key)) is not None:
                return known
            game = self.games[title].game
            if spec not in self._specs(game):
                raise Declined(f"there is no player {spec!r} here: choose another", 404)
            found = Opponent(_found(spec, game))
            with self._lock:
                self._loaded[key] = found
                if len(self._loaded) > MOST_LOADED:
                    self._loaded.popitem(last=False)
            return found

    def _known(self, key: tuple[str, str]) -> Opponent | None:
        with self._lock:
            if key in self._loaded:
                self._loaded.move_to_end(key)
            return self._loaded.get(key)

    def listed(self) -> dict[str, Any]:
        """All that can be chosen, as JSON."""
        return {
            "run": self.folder.name,
            "folder": str(self.folder),
            "games": [
                {
                    "name": title,
                    "roles": list(offered.game.roles),
                    "tasks": [task.id[:80] for task in offered.tasks[:MOST_TASKS]],
                    "players": self._specs(offered.game),
                }
                for title, offered in self.games.items()
            ],
        }

    def _specs(self, game: Game) -> list[str]:
        """The checkpoints of the run, the newest first, and whoever else can play the game."""
        steps = [int(path.name.removeprefix("step_")) for path in checkpoints(self.folder)]
        if not steps:
            raise RedQueenError(f"{self.folder} has no checkpoint yet")
        bots = ["uniform", *(["minimax"] if getattr(game, "perfect_information", False) else [])]
        known = ["equilibrium", "honest"] if game.name == "kuhn_poker" else []
        return list(dict.fromkeys([*(f"{self.folder}@{step}" for step in reversed(steps)), *self._also, *bots, *known]))


def _games(folder: Path, named: str | None) -> Mapping[str, Offered]:
    domain = None if named else stored_domain(folder)
    if domain is not None:
        raise RedQueenError(
            f"{folder} answers questions of {domain.name!r} and plays no game: redqueen evaluate {folder} asks them, "
            "--game GAME sits down to another game"
        )
    found = {}
    for spec in [named] if named else game_specs(folder):
        game = find_game(spec)
        if len(game.roles) > 1:
            found[game.name] = Offered(spec, game, tuple(game.tasks()))
        elif named:
            raise RedQueenError(f"{game.name} has one role, {game.roles[0]}: there is nobody to play against")
    if not found:
        raise RedQueenError(f"the games of {folder} have one role each: name another with --game")
    return found


def _found(spec: str, game: Game) -> Player:
    if spec == "minimax":
        return solve(game, MOST_POSITIONS).strategy()
    return find_player(spec, game)
