"""The games that people are playing now, each under a key that only its player knows."""

from __future__ import annotations

import secrets
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

from redqueen.play.seating import dealt
from redqueen.runs.folder import keep_played, recorded_game
from redqueen.runs.named_players import undrawn
from redqueen.types import RedQueenError
from redqueen.views.serve.menu import Menu
from redqueen.views.serve.refusals import Declined
from redqueen.views.serve.sitting import Sitting
from redqueen.views.serve.view import again, chances, shown

MOST_SITTINGS = 200
IDLE = 3600.0  # seconds after which a game that nobody looks at is dropped
MOST_SAVED = 1000  # games that one server writes


@dataclass(frozen=True)
class Wish:
    """What a person asks to play. Chance picks the task and the seed where they are None."""

    game: str
    player: str
    role: str
    task: int | None = None  # its place in the list
    seed: int | None = None


@dataclass
class _Place:
    sitting: Sitting
    wish: Wish
    again: str  # the command that deals this game once more; "" where the task was chosen
    looked_at: float
    saved: str = ""


class Room:
    """See the module. `clock` tells seconds."""

    def __init__(self, menu: Menu, most: int = MOST_SITTINGS, clock: Callable[[], float] = time.monotonic) -> None:
        self.menu = menu
        self._most = most
        self._clock = clock
        self._places: dict[str, _Place] = {}
        self._lock = Lock()
        self._rules = Lock()
        self._saving = Lock()
        self._saved = 0

    def begin(self, wish: Wish) -> dict[str, Any]:
        """The view of a new game, with its key. Raises Declined where it cannot be had or all tables are taken."""
        offered = self.menu.games.get(wish.game)
        if offered is None:
            raise Declined(f"there is no game {wish.game!r} here", 404)
        if wish.role not in offered.game.roles:
            raise Declined(f"{wish.game} has no role {wish.role!r}: it has {', '.join(offered.game.roles)}")
        if wish.task is not None and not 0 <= wish.task < len(offered.tasks):
            raise Declined(f"{wish.game} has no task number {wish.task}")
        opponent = partial(self.menu.opponent, wish.game, wish.player)
        if opponent().only_draws and (writing := undrawn(offered.game, wish.role)):
            drawn, roles = opponent().name, " and ".join(sorted(writing))
            raise Declined(f"{drawn} draws among listed replies, and {roles} must write: choose another player or role")
        seed = secrets.randbits(32) if wish.seed is None else wish.seed
        task = dealt(offered.game, seed) if wish.task is None else offered.tasks[wish.task]
        sitting = Sitting(offered.game, task, seed, wish.role, opponent, self._rules)
        command = again(offered.spec, wish.player, wish.role, seed) if wish.task is None else ""
        key = self._taken(_Place(sitting, wish, command, self._clock()))
        return self.go_on(key)

    def view(self, key: str) -> dict[str, Any]:
        place = self._place(key)
        with place.sitting.lock:
            seen = shown(place.sitting)
        if seen["result"] is not None:
            replay = shlex.join(["redqueen", "replay", str(self.menu.folder), place.saved]) if place.saved else ""
            seen["result"] |= {"again": place.again, "saved": place.saved, "replay": replay}
        wish = {name: getattr(place.wish, name) for name in ("game", "player", "role", "task")}
        return {"key": key, "against": place.wish.player, "wish": wish, **seen}

    def say(self, key: str, entry: str, entries: int) -> dict[str, Any]:
        sitting = self._place(key).sitting
        with sitting.lock:
            sitting.say(entry, entries)
        return self.view(key)

    def go_on(self, key: str) -> dict[str, Any]:
        """Plays to where the person is asked; a player that failed to reply is asked again."""
        sitting = self._place(key).sitting
        with sitting.lock:
            sitting.go_on()
        return self.view(key)

    def chances(self, key: str, move: int | None) -> list[list[Any]]:
        sitting = self._place(key).sitting
        with sitting.lock:
            return chances(sitting, move)

    def save(self, key: str) -> dict[str, Any]:
        """Keeps a finished game among the episodes of the run, once."""
        place = self._place(key)
        with place.sitting.lock:
            if not place.sitting.over:
                raise Declined("the game is not over: only finished games are saved", 409)
            if not place.saved:
                place.saved = self._kept(place.sitting)
        return self.view(key)

    def leave(self, key: str) -> None:
        with self._lock:
            self._places.pop(key, None)

    def _kept(self, sitting: Sitting) -> str:
        try:
            recorded_game(sitting.game.name, self.menu.folder)
        except RedQueenError:
            name = sitting.game.name
            raise Declined(
                f"{name!r} is not a game of this run, and no other of that name is known: its record could "
                "not be replayed and is not saved"
            ) from None
        with self._saving:
            if self._saved >= MOST_SAVED:
                raise Declined(f"{MOST_SAVED:,} games were saved since the server began: it takes no more", 503)
            name = keep_played(self.menu.folder, sitting.table.episode())
            self._saved += 1
            return name

    def _place(self, key: str) -> _Place:
        with self._lock:
            place = self._places.get(key)
            if place is None:
                raise Declined(
                    "this game is no longer here: the server began anew, or nobody looked at it for an hour", 404
                )
            place.looked_at = self._clock()
            return place

    def _taken(self, place: _Place) -> str:
        """The key of a new game. Games that nobody looks at any more make room for it."""
        with self._lock:
            self._places = {
                key: other for key, other in self._places.items() if place.looked_at - other.looked_at <= IDLE
            }
            if len(self._places) >= self._most:
                raise Declined(f"all {self._most} tables are taken: try again in a while", 503)
            key = secrets.token_urlsafe(16)
            self._places[key] = place
            return key
