"""Environments of Gymnasium as worlds, for those with a numbered list of acts: `--game acting:gymnasium:FrozenLake-v1`.

    acting:gymnasium(FrozenLake-v1,left/down/right/up)      acts by their names, in the order of their numbers
    acting:gymnasium:Blackjack-v1                           by their numbers

Each task is a seed of `reset`. What is shown is the environment's own picture in text where it has one, else its
observation; what an act earns is a gain, and the score is their sum. Which seeds begin alike is not looked at. An
environment is other people's code and runs in this process: one that draws from a global generator is not repeatable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from typing import Any

import numpy as np

from redqueen.games.talk import titled
from redqueen.guests.guest_world import admit
from redqueen.protocols import Tool
from redqueen.types import Assessment, Observation, RedQueenError, Task

_COLOURS = re.compile("\x1b\\[[0-9;]*m")
_LONGEST = 4_000  # characters of a view


def made(name: str) -> Any:
    """The environment of this name. Raises RedQueenError for one that is not known, without the extra, and for one with
    a module of its own ("module:Name-v0") that a folder names and nobody has vouched for."""
    if ":" in name:
        admit(f"gymnasium:{name}")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import gymnasium
    except ImportError:
        raise RedQueenError(
            "environments of Gymnasium need the extra `worlds`: pip install 'redqueen[worlds]'"
        ) from None
    try:
        env = gymnasium.make(name, disable_env_checker=True)
        if "ansi" not in env.metadata.get("render_modes", ()):
            return env
        env.close()
        return gymnasium.make(name, render_mode="ansi", disable_env_checker=True)
    except gymnasium.error.Error as error:
        raise RedQueenError(f"Gymnasium has no environment {name!r}: {' '.join(str(error).split())}") from error
    except ImportError as error:
        raise RedQueenError(f"the environment {name!r} needs a library that is not installed: {error}") from error


@dataclass(frozen=True)
class Gymnasium:
    """The environment `env` with the seeds 0 to `tests` held out and the next `count` to train on. `acts` names its
    acts, with a stroke between them."""

    env: str
    acts: str = ""
    count: int = 200
    tests: int = 50
    repeatable = True

    def __post_init__(self) -> None:
        if self.count < 1 or self.tests < 1:
            raise RedQueenError(f"a world needs a task and a held-out one, not {self.count} and {self.tests}")
        if len(set(self.names)) < len(self.names) or not all(name == name.strip() != "" for name in self.names):
            raise RedQueenError(f"acts need names that differ, not {self.acts!r}")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the acts. Raises RedQueenError for acts that are no list, or another number of names."""
        made_once = made(self.env)
        space = made_once.action_space
        made_once.close()
        if type(space).__name__ != "Discrete" or space.start != 0:
            raise RedQueenError(
                f"the acts of {self.env!r} are {space}: only a numbered list of acts (Discrete) is taken"
            )
        found = tuple(self.acts.split("/")) if self.acts else tuple(map(str, range(int(space.n))))
        if len(found) != space.n:
            raise RedQueenError(f"{self.env!r} has {space.n} acts, not the {len(found)} of {self.acts!r}")
        return found

    @property
    def name(self) -> str:
        return titled("gymnasium", self)

    def tasks(self) -> Sequence[Task]:
        return [seeded(seed) for seed in range(self.tests, self.tests + self.count)]

    def held_out(self) -> Sequence[Task]:
        return [seeded(seed) for seed in range(self.tests)]

    def open(self, task: Task, seed: int) -> EnvironmentVisit:
        return EnvironmentVisit(made(self.env), int(task.facts["seed"]), self.names, in_words)


def seeded(seed: int) -> Task:
    """The task that begins with this seed of `reset`."""
    return Task(f"seed{seed}", facts={"seed": seed})


Words = Callable[[Any, Any], str]  # of the environment and an observation


def in_words(env: Any, observation: Any) -> str:
    """The environment's own picture in text where it has one, else the observation."""
    picture = env.render() if env.render_mode == "ansi" else None
    if isinstance(picture, str):
        return _COLOURS.sub(lambda found: "" if found[0] == "\x1b[0m" else ">", picture).strip("\n")
    return str(_plain(observation))


def _plain(value: Any) -> Any:
    """An observation as plain data, numbers to six digits."""
    match value:
        case np.ndarray():
            return _plain(value.tolist())
        case np.generic():
            return _plain(value.item())
        case float():
            return float(f"{value:.6g}")
        case Mapping():
            return {str(key): _plain(each) for key, each in value.items()}
        case tuple() | list():
            return [_plain(each) for each in value]
    return value


class EnvironmentVisit:
    """One environment from its `reset`, over where it is terminated or truncated."""

    tools: tuple[Tool, ...] = ()

    def __init__(self, env: Any, seed: int, names: Sequence[str], words: Words) -> None:
        self.env, self._names, self._words = env, tuple(names), words
        self._seed, self._acts, self.total = seed, list[str](), 0.0
        self._terminated = self._truncated = False
        with redirect_stdout(StringIO()):  # some print while they make a level
            observation, _ = env.reset(seed=seed)
        self._first = self._shown = self._words(env, observation)[:_LONGEST] or "Nothing is seen."

    @property
    def over(self) -> bool:
        return self._terminated or self._truncated

    def look(self) -> Observation:
        return Observation(self._first, self._names)

    def act(self, said: str) -> Observation:
        if self.over:
            return Observation("It is over.", over=True)
        if said not in self._names:
            return Observation(f"There is no such act.\n{self._shown}", self._names)
        observation, reward, terminated, truncated, _ = self.env.step(self._names.index(said))
        self._acts.append(said)
        self._terminated, self._truncated = bool(terminated), bool(truncated)
        self.total += float(reward)
        self._shown = self._words(self.env, observation)[:_LONGEST] or "Nothing is seen."
        return Observation(self._shown, () if self.over else self._names, self.over, self.gained(float(reward)))

    def gained(self, reward: float) -> float:
        """What an act gains."""
        return reward

    def state(self) -> Mapping[str, Any]:
        return {"seed": self._seed, "acts": list(self._acts), "shown": self._shown, "total": self.total}

    def assess(self, answer: str = "") -> Assessment:
        return Assessment(self.total, facts={"terminated": self._terminated, "truncated": self._truncated})

    def close(self) -> None:
        self.env.close()
