"""A game as an environment of Gymnasium: one seat acts, a player has the others.

What is seen is a text (`spaces.Text`); an act is the number of a reply, the same reply whatever is asked (`env.acts`),
of which `info["action_mask"]` holds those that are legal. Where a game's histories cannot all be listed, a task may ask
for a reply that is not among them: the last numbers are those of `info["new_acts"]`, which holds for one view. The
reward is the score of the seat at the end. An act that is not legal is said as it is, and the game has its own rule for
that: mostly a forfeit.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from random import Random
from typing import Any

import numpy as np

from redqueen.exports.match import Exact, OneSeat, shown
from redqueen.measures.exact.exploitability import GameTree
from redqueen.play.lockstep import play
from redqueen.play.seating import dealt
from redqueen.players.scripted import Uniform
from redqueen.protocols import Game, Player
from redqueen.types import Ask, Match, RedQueenError

LONGEST = 4_000  # characters of a view
MOST_ACTS = 512
FEW_HISTORIES = 2_000
MATCHES = 64  # at random, from which the replies of other games are known
_KNOWN = frozenset(string.printable)


def game_env(game: Game, others: Player | None = None, role: str = "", render_mode: str | None = None) -> Any:
    """The environment. `role` is the seat that acts; without one each seed has its own. `others` play the other seats,
    uniformly at random by default."""
    return _kind()(game, others, role, render_mode)


@cache
def _kind() -> Any:
    import gymnasium
    from gymnasium import spaces

    class GameEnv(gymnasium.Env[str, Any]):
        metadata = {"render_modes": ["ansi"]}  # noqa: RUF012  (Gymnasium's own form)

        def __init__(
            self, game: Game, others: Player | None = None, role: str = "", render_mode: str | None = None
        ) -> None:
            self.render_mode = render_mode
            self.acts, self._spare = legal_replies(game)
            self._new: tuple[str, ...] = ()  # legal now, and not among these
            self.exact = Exact(game)
            self._match, self._number = OneSeat(game, others, role), {act: n for n, act in enumerate(self.acts)}
            self._ask: Ask | None = None
            self._seen = ""
            self.action_space = spaces.Discrete(len(self.acts) + self._spare)
            self.observation_space = spaces.Text(LONGEST, min_length=0, charset=_KNOWN)

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[str, dict[str, Any]]:
            """Begins a match whose task and chance come from the seed, or from the seeds before it."""
            super().reset(seed=seed)
            self._ask = None
            self._ask = self._match.begin_asked(int(self.np_random.integers(2**31)) for _ in count())
            return self._view()

        def step(self, action: int) -> tuple[str, float, bool, bool, dict[str, Any]]:
            if self._ask is None:
                raise RedQueenError("the match is over: call reset() first")
            self._ask = self._match.say(self._said(int(action)))
            seen, info = self._view()
            return seen, self._match.score, self._ask is None, False, info

        def render(self) -> str | None:
            return self._seen if self.render_mode == "ansi" else None

        def exploitability(self, chances: Callable[[str, Sequence[str]], Sequence[float]]) -> float:
            """That of a player; `chances(seen, legal)` gives the probabilities of the legal replies to what is seen."""
            return self.exact(lambda asks: [chances(seen_of(ask), ask.choices) for ask in asks])["exploitability"]

        def _said(self, action: int) -> str:
            new = action - len(self.acts)
            return self.acts[action] if new < 0 else self._new[new] if new < len(self._new) else ""

        def _view(self) -> tuple[str, dict[str, Any]]:
            choices = self._ask.choices if self._ask else ()
            self._new = tuple(choice for choice in choices if choice not in self._number)
            if len(self._new) > self._spare:
                raise RedQueenError(
                    f"{self._match.game.name} lists {len(self._new)} replies at once that none of {MATCHES} matches had"
                )
            mask = np.zeros(len(self.acts) + self._spare, dtype=np.int8)
            mask[[self._number[choice] for choice in choices if choice in self._number]] = 1
            mask[len(self.acts) : len(self.acts) + len(self._new)] = 1
            self._seen = seen_of(self._ask) if self._ask else "It is over."
            return self._seen, {"action_mask": mask, "role": self._match.role, "new_acts": self._new}

    return GameEnv


def seen_of(ask: Ask) -> str:
    """What is seen of an ask; signs outside of ASCII become question marks."""
    return "".join(letter if letter in _KNOWN else "?" for letter in shown(ask))[:LONGEST]


def legal_replies(game: Game) -> tuple[tuple[str, ...], int]:
    """Every legal reply, in order: of all histories where these are few, else of 64 random matches; and how many others
    a view may hold. Raises RedQueenError for free text, and for more than 512 replies."""
    try:
        asks, most = list(GameTree(game, FEW_HISTORIES).states), 0
    except RedQueenError:
        matches = [Match(game, dealt(game, n), dict.fromkeys(game.roles, Uniform()), n) for n in range(MATCHES)]
        asks = [turn.ask for episode in play(matches, Random(0)) for turn in episode.turns]
        most = 2 * max(len(ask.choices) for ask in asks)
    found = tuple(dict.fromkeys(choice for ask in asks for choice in ask.choices))
    if len(found) + most > MOST_ACTS:
        raise RedQueenError(
            f"{game.name} has {len(found)} legal replies or more: an environment of Gymnasium lists {MOST_ACTS} at most"
        )
    return found, most
