"""A game as an environment of OpenEnv: one seat acts by what it says, a player has the others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from redqueen.chance import derive
from redqueen.exports.match import Exact, OneSeat, shown
from redqueen.protocols import Game, Player
from redqueen.types import Ask


def environment_of(game: Game, others: Player | None = None, role: str = "") -> tuple[Any, Any, Any]:
    """The classes of its actions, of its observations and of the environment, which takes no arguments. An action is a
    `message`; an observation is what is `shown`, the `choices` where replies are listed, `done`, and as `reward` the
    score of the seat at the end. `environment.exact(chances)` is the exact metric (`match.Exact`)."""
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, Observation, State

    begun_so_far = count(1)  # of all sessions: a server makes an environment for each

    class GameAction(Action):  # type: ignore[misc]
        message: str

    class GameObservation(Observation):  # type: ignore[misc]
        shown: str = ""
        choices: tuple[str, ...] = ()

    class GameEnvironment(Environment):  # type: ignore[misc]
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self.exact, self._match, self._state = Exact(game), OneSeat(game, others, role), State()

        def reset(self, seed: int | None = None, episode_id: str | None = None, **ignored: Any) -> Any:
            """Begins a match; without a seed each has another one, also that of another session."""
            ask = self._match.begin_asked(_after(next(begun_so_far) if seed is None else seed))
            self._state = State(episode_id=episode_id, role=self._match.role)
            return self._seen(ask)

        def step(self, action: Any, timeout_s: float | None = None, **ignored: Any) -> Any:
            self._state.step_count += 1
            return self._seen(self._match.say(action.message))

        @property
        def state(self) -> Any:
            return self._state

        def _seen(self, ask: Ask | None) -> Any:
            if ask is None:
                return GameObservation(shown="It is over.", done=True, reward=self._match.score)
            return GameObservation(shown=shown(ask), choices=ask.choices)

    return GameAction, GameObservation, GameEnvironment


def _after(seed: int) -> Iterator[int]:
    """A seed, and those that follow from it."""
    while True:
        yield seed
        seed = derive(seed, "next")
