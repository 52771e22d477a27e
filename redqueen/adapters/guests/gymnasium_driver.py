"""Environments of Gymnasium, in a guest: `acting:gym:ID`, `acting:gym(package:ID,acts=left/right)`,
`acting:gym(FILE.py:Class)`.

Acts are listed: a `Discrete` space by its numbers or by names, a `MultiDiscrete` one of at most 64 acts by its numbers
with commas. What is shown is the environment's picture in text where it has one, else its observation. A package or a
file that brings environments is named before a colon and imported; what follows is a class in it, which is made without
settings, or what it registers.
"""

from __future__ import annotations

import itertools
import os
import re
from typing import Any

from redqueen.guests.guest_process import AGENT, about_seeds, module_of, one_turn

_COLOURS = re.compile("\x1b\\[[0-9;]*m")
_MOST_ACTS = 64


def load(settings: dict[str, Any]) -> Gym:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    return Gym(settings)


class Gym:
    def __init__(self, settings: dict[str, Any]) -> None:
        import gymnasium

        package, _, self.id = settings["name"].rpartition(":")
        try:
            module = module_of(package) if package else None
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
            raise ValueError(f"no package {package} is installed here; a file is named FILE.py:{self.id}") from None
        self.gymnasium, self.settings = gymnasium, settings
        if (kind := getattr(module, self.id, None)) is not None:
            self.id = f"redqueen/{self.id}"
            gymnasium.register(self.id, kind)
        elif package.endswith(".py") and self.id not in gymnasium.registry:
            raise ValueError(f"the file has no class {self.id} and registers no environment of this name")
        env = self.made()
        numbers = list(_acts(env.action_space))
        env.close()
        names = settings["acts"].split("/") if settings["acts"] else [_named(number) for number in numbers]
        if len(names) != len(numbers):
            raise ValueError(f"{self.id} has {len(numbers)} acts, not {len(names)}")
        self.acts = dict(zip(names, numbers, strict=True))

    def made(self) -> Any:
        try:
            env = self.gymnasium.make(self.id, disable_env_checker=True)
        except TypeError:  # some take no arguments but their own
            env = self.gymnasium.make(self.id)
        if "ansi" not in (env.metadata or {}).get("render_modes", ()):
            return env
        env.close()
        return self.gymnasium.make(self.id, render_mode="ansi", disable_env_checker=True)

    def about(self) -> dict[str, Any]:
        return about_seeds(self.settings["count"], self.settings["tests"])

    def open(self, task: dict[str, Any], seed: int) -> GymSession:
        return GymSession(self.made(), self.acts, task["facts"]["seed"])


class GymSession:
    def __init__(self, env: Any, acts: dict[str, Any], seed: int) -> None:
        self.env, self.acts, self.total, self.ended = env, acts, 0.0, {"terminated": False, "truncated": False}
        self.tools: list[Any] = []
        observation, _ = env.reset(seed=seed)
        self.turn = one_turn(self.words(observation), acts)

    def words(self, observation: Any) -> str:
        picture = self.env.render() if getattr(self.env, "render_mode", None) == "ansi" else None
        if isinstance(picture, str):
            # what stands in colour is marked, as in adapters/gymnasium.py: of Taxi it is the taxi's place
            return _COLOURS.sub(lambda found: "" if found[0] == "\x1b[0m" else ">", picture).strip("\n")
        return as_words(observation)

    def say(self, texts: list[str]) -> dict[str, Any]:
        observation, reward, terminated, truncated, _ = self.env.step(self.acts[texts[0]])
        self.total += float(reward)
        self.ended = {"terminated": bool(terminated), "truncated": bool(truncated)}
        self.turn = one_turn(self.words(observation), self.acts, any(self.ended.values()), float(reward))
        return self.turn

    def assess(self, answer: str) -> dict[str, Any]:
        return {"scores": {AGENT: self.total}, "facts": self.ended}

    def state(self) -> dict[str, Any]:
        return {"total": self.total, **self.ended}

    def close(self) -> None:
        self.env.close()


def as_words(value: Any) -> str:
    """An observation in one line or several."""
    if isinstance(value, dict):
        return "\n".join(f"{name}: {as_words(each)}" for name, each in value.items())
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(as_words(each) for each in value) + "]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _acts(space: Any) -> Any:
    kind = type(space).__name__
    if kind == "Discrete":
        return range(int(space.start), int(space.start) + int(space.n))
    if kind == "MultiDiscrete" and space.nvec.ndim == 1 and space.nvec.prod() <= _MOST_ACTS:
        return itertools.product(*(range(int(size)) for size in space.nvec))
    if kind == "MultiBinary" and 2 ** int(space.n) <= _MOST_ACTS:
        return itertools.product((0, 1), repeat=int(space.n))
    raise ValueError(f"its acts are {space}: only a list of at most {_MOST_ACTS} acts is taken")


def _named(number: Any) -> str:
    return ",".join(map(str, number)) if isinstance(number, tuple) else str(number)
