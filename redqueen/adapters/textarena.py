"""Any TextArena game (Guertler et al., 2025), played as TextArena plays it.

What the adapter changes:

- TextArena draws from the process-wide generators of `random` and `numpy.random`. Every match keeps
  states of its own, set before every call and restored after it, so that interleaved
  matches play as each would alone and other code is not affected. A lock serves one thread at a time.
- Every match has a fresh environment, because TextArena's wrappers keep what they have shown.
- Other seats are shown `Reply.text`, the action, and never the thought.
- `retries` is TextArena's own allowance for errors. A seat that used it up is scored by
  TextArena's rule: between two, -1 and 1.
- An attribute that a helper of two-player games reads and TextArena never sets is set.

What it leaves unchanged, because it is TextArena's rule: the first bracketed token of a reply is the
move; the first player of tic-tac-toe is O; the chips bet in KuhnPoker never reach the pot and the second
seat reads its first message twice; SimpleNegotiation plays one move more than its limit, keeps
refused offers open, lets a player accept its own offer, and checks only who accepts for the goods.
Games that rate replies with a remote jury, or fetch word lists, need what they need.

The legal replies are not listed (`choices` is empty): TextArena has no such list.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np

from redqueen.chance import derive
from redqueen.games.talk import ORDINALS, offence, told
from redqueen.protocols import Play
from redqueen.types import Ask, Outcome, RedQueenError, Seat, Task

DEALS = 64
_GENERATORS = threading.RLock()


@dataclass(frozen=True)
class TextArena:
    env_id: str  # "TicTacToe-v0"; the endings -train and -raw are other renderings of the same rules
    players: int = 2
    retries: int = 0  # second chances after an illegal reply, each time
    limit: int = 500  # replies after which an unfinished match is a draw
    name: str = field(default="", init=False)
    roles: tuple[str, ...] = field(default=(), init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        _check(self.env_id)
        if not 1 <= self.players <= len(ORDINALS):
            raise RedQueenError(f"textarena seats 1 to {len(ORDINALS)} players, not {self.players}")
        ending = "" if self.players == 2 else f",players={self.players}"
        object.__setattr__(self, "name", f"textarena:{self.env_id}{ending}")
        object.__setattr__(self, "roles", ORDINALS[: self.players])

    @property
    def zero_sum(self) -> bool:
        """Whether scores are those of TextArena's two-player games: 1 and -1, or 0 and 0."""
        return _two_sided(self.env_id, self.players)

    def tasks(self) -> list[Task]:
        """A fixed sample of 64 seeds, equally likely: all chance of a match comes from its task."""
        return [
            Task(f"seed-{number}", "deal", facts={"seed": derive(number, "textarena", self.env_id) >> 32})
            for number in range(DEALS)
        ]

    def within(self, turns: int) -> TextArena:
        """The same game with at most so many replies."""
        return replace(self, limit=turns)

    def play(self, task: Task, rng: Random) -> Play:
        seed = task.facts["seed"] if "seed" in task.facts else rng.getrandbits(32)
        chance = _Chance(seed)
        with chance.in_place():
            env = _started(self.env_id, self.players, seed, self.retries)
        seats = tuple(Seat(role) for role in self.roles)
        seen: dict[Seat, str] = dict.fromkeys(seats, "")
        last: dict[Seat, str] = dict.fromkeys(seats, "")
        for _ in range(self.limit):
            with chance.in_place():
                number, observation = env.get_observation()
            seat = seats[number]
            # a wrapped environment hands out all that the seat has seen, a raw one only what is new
            seen[seat] = observation if isinstance(observation, str) else seen[seat] + _as_text(env, observation)
            (reply,) = yield [Ask(seat, told(seen[seat].strip() or "It is your turn."))]
            last[seat] = reply.text.strip()
            with chance.in_place():
                done, _info = env.step(action=last[seat])
            if done:
                break
        else:
            return Outcome(dict.fromkeys(seats, 0.0), {"reason": f"no end after {self.limit} replies", "cut": True})
        with chance.in_place():
            rewards, about = env.close()
        scores = {seat: float((rewards or {}).get(number, 0.0)) for number, seat in enumerate(seats)}
        ended = str(about.get(0, {}).get("reason", ""))
        offenders = [seat for number, seat in enumerate(seats) if about.get(number, {}).get("invalid_move")]
        if offenders:
            return Outcome(scores, {**offence(offenders[0], last[offenders[0]]), "said": ended})
        return Outcome(scores, {"reason": ended})


class _Chance:
    """The states of the global generators that belong to one match."""

    def __init__(self, seed: int) -> None:
        self._python = Random(seed).getstate()
        self._numpy = np.random.RandomState(seed & 0xFFFFFFFF).get_state()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Sets the global generators to this match's states, and restores them afterwards."""
        with _GENERATORS:
            outside = random.getstate(), np.random.get_state()
            random.setstate(self._python)
            np.random.set_state(self._numpy)
            try:
                yield
            finally:
                self._python, self._numpy = random.getstate(), np.random.get_state()
                random.setstate(outside[0])
                np.random.set_state(outside[1])


def _as_text(env: Any, observation: list[tuple[int, str, Any]]) -> str:
    """The new messages as text, each tagged with its sender."""
    names = env.state.role_mapping
    return "".join(f"\n[{names.get(sender, f'Player {sender}')}] {text}" for sender, text, _ in observation)


def _textarena() -> Any:
    try:
        import textarena
    except ImportError:
        raise RedQueenError("the game textarena needs the extra [games]: pip install 'redqueen[games]'") from None
    return textarena


def _check(env_id: str) -> None:
    with _Chance(0).in_place():
        _textarena()
        from textarena.envs.registration import ENV_REGISTRY
    if env_id not in ENV_REGISTRY:
        close = get_close_matches(env_id, ENV_REGISTRY, n=3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise RedQueenError(f"TextArena has no environment {env_id!r}{hint}")


def _started(env_id: str, players: int, seed: int, retries: int) -> Any:
    """A fresh environment after its reset."""
    try:
        env = _textarena().make(env_id)
        env.reset(num_players=players, seed=seed)
    except Exception as error:  # whatever an environment lacks (players, word lists, keys) is for the user to put right
        reason = " ".join(str(error).split()) or type(error).__name__
        raise RedQueenError(f"TextArena's {env_id!r} does not start with {players} players: {reason}") from error
    env.state.error_allowance = retries
    env.state.info = {}
    return env


@lru_cache(maxsize=256)
def _two_sided(env_id: str, players: int) -> bool:
    chance = _Chance(0)
    with chance.in_place():
        env = _started(env_id, players, 0, 0)
        return isinstance(env.state, _textarena().TwoPlayerState)
