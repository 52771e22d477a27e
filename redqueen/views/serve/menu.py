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

from redqueen.games.catalogue import find_game
from redqueen.measures.exact.minimax import solve
from redqueen.play.table import Table
from redqueen.players.scripted import FirstChoice
from redqueen.protocols import Forgets, Game, Player, StatesInformation, has
from redqueen.runs.checkpoints import best_checkpoints, checkpoints
from redqueen.runs.folder import game_specs, made_game, stored_questions
from redqueen.runs.named_players import find_player, mind_of, only_draws, undrawn, unnamed
from redqueen.runs.player_names import PLAYERS
from redqueen.types import Ask, Match, RedQueenError, Reply, Task
from redqueen.views.serve.refusals import Declined

MOST_LOADED = 4  # players held in memory
MOST_POSITIONS = 10_000  # of a game that is solved while a person waits: some seconds
MOST_TASKS = 500  # deals that can be chosen by hand


class Opponent:
    """A player that many people play against: it answers one request at a time, each as if it were the only one."""

    def __init__(self, player: Player) -> None:
        self.name = player.name
        self.only_draws = only_draws(player)
        self._player = player
        self._mind = mind_of(player)
        self._caching = found if has(found := unnamed(player), Forgets) else None
        self._lock = Lock()

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        with self._lock:
            self._forget()
            return self._player.reply(asks)

    def _forget(self) -> None:
        """What others asked before must not round a reply differently."""
        if self._caching is not None:
            self._caching.forget()

    def probabilities(self, ask: Ask) -> np.ndarray:
        """[K] the probability of each legal reply. Raises Declined if they cannot be computed."""
        if self._mind is None or not ask.choices:
            why = "the legal replies are not listed here" if self._mind else f"{self.name} can only be asked, not read"
            raise Declined(f"there are no probabilities to show: {why}")
        with self._lock:
            self._forget()
            return self._mind.probabilities([ask])[0]


@dataclass(frozen=True)
class Offered:
    """A game, how it was named, its deals, and the bots that know it."""

    spec: str
    game: Game
    tasks: Sequence[Task]
    bots: Sequence[str]


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
            for spec in (self._specs(offered)[0], *also):
                self.opponent(title, spec)

    def opponent(self, title: str, spec: str) -> Opponent:
        """The player listed as `spec` for the game `title`. Raises Declined for one that is not listed."""
        key = (title if spec in PLAYERS else "", spec)  # bots are made for a game, policies play all
        if (known := self._known(key)) is not None:
            return known
        with self._loading:
            if (known := self._known(key)) is not None:
                return known
            offered = self.games[title]
            if spec not in self._specs(offered):
                raise Declined(f"there is no player {spec!r} here: choose another", 404)
            found = Opponent(_found(spec, offered.game))
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
                    "players": self._specs(offered),
                }
                for title, offered in self.games.items()
            ],
        }

    def _specs(self, offered: Offered) -> list[str]:
        """The checkpoints of the run, the newest first and the best last, and the other players of the game."""
        steps = [int(path.name.removeprefix("step_")) for path in checkpoints(self.folder)]
        if not steps:
            raise RedQueenError(f"{self.folder} has no checkpoint yet")
        named = [*map(str, reversed(steps)), *(["best"] if best_checkpoints(self.folder) else [])]
        return list(dict.fromkeys([*(f"{self.folder}@{each}" for each in named), *self._also, *offered.bots]))


def _games(folder: Path, named: str | None) -> Mapping[str, Offered]:
    questions = None if named else stored_questions(folder)
    if questions is not None:
        raise RedQueenError(
            f"{folder} answers questions of {questions.name!r} and plays no game: redqueen evaluate {folder} asks "
            "them, --game GAME sits down to another game"
        )
    found = {}
    made = None if named else made_game(folder)
    for spec in [named] if named else game_specs(folder):
        game = made or find_game(spec)
        if len(game.roles) > 1:
            found[game.name] = Offered(spec, game, tuple(game.tasks()), _bots(game))
        elif named:
            raise RedQueenError(f"{game.name} has one role, {game.roles[0]}: there is nobody to play against")
    if not found:
        raise RedQueenError(f"the games of {folder} have one role each: name another with --game")
    return found


def _bots(game: Game) -> tuple[str, ...]:
    """Names of the scripted players that reply quickly in this game."""
    solved = ["minimax"] if has(game, StatesInformation) and game.perfect_information and _is_small(game) else []
    drawn = ["uniform"] if any(not undrawn(game, role) for role in game.roles) else []
    return (*drawn, *solved, *(["equilibrium", "honest"] if game.name == "kuhn_poker" else []))


def _is_small(game: Game) -> bool:
    """Whether a two-player game has at most MOST_POSITIONS positions, estimated from the choices along one match.

    Sequences of moves that differ only in the order of a seat's own moves count as one position, as on a board where
    marks stay: after three moves of tic-tac-toe 9 * 8 * 7 / 2 positions. A game in which many sequences lead to few
    positions looks larger than it is; `--also minimax` solves it at the start.
    """
    tasks = game.tasks()
    table = Table(Match(game, tasks[0], dict.fromkeys(game.roles, FirstChoice())), 0)
    positions, ways, moves = 0.0, float(len(tasks)), 0
    while table.outcome is None and positions <= MOST_POSITIONS:
        choices = table.asks[0].choices
        if len(table.asks) > 1 or not choices:
            return False
        moves += 1
        positions += ways
        ways *= len(choices) / ((moves + 1) // 2)
        table.hear([Reply(choices[0])])
    return positions <= MOST_POSITIONS


def _found(spec: str, game: Game) -> Player:
    if spec == "minimax":
        return solve(game, MOST_POSITIONS).strategy()
    return find_player(spec, game)
