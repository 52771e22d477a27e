"""Environments of PettingZoo, in a guest, every agent a seat: `pettingzoo:classic.tictactoe_v3`,
`pettingzoo:FILE.py:NAME`.

A name is a module of PettingZoo, or any module with `env()` or `parallel_env()`, or a class or function in a file that
makes an environment. Each seat is shown its own observation and nothing else, and acts by the numbers that its mask
allows. Rewards are gains; a score is their sum.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from redqueen.guests.guest_process import LONGEST, about_seeds, member

_SMALL = 64  # numbers of an observation that are written out; of a larger one only those that are not 0


def load(settings: dict[str, Any]) -> Zoo:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    return Zoo(settings)


class Zoo:
    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings, self.make = settings, maker_of(settings["name"])
        env = self.made()
        env.reset(seed=0)
        self.seats = [str(agent) for agent in env.possible_agents]
        for agent in env.possible_agents:
            if type(env.action_space(agent)).__name__ != "Discrete":
                raise ValueError(f"the acts of {agent} are {env.action_space(agent)}: only a numbered list is taken")
        env.close()

    def made(self) -> Any:
        env = self.make()
        if hasattr(env, "agent_selection") or hasattr(env, "agent_iter"):
            return env
        from pettingzoo.utils import parallel_to_aec

        return parallel_to_aec(env)

    def about(self) -> dict[str, Any]:
        return about_seeds(self.settings["count"], self.settings["tests"], self.seats)

    def open(self, task: dict[str, Any], seed: int) -> ZooSession:
        return ZooSession(self.made(), task["facts"]["seed"])


def maker_of(name: str) -> Any:
    """What makes the environment: a class or function in a file, or that of a module."""
    if ".py:" in name:
        return member(name)
    try:
        module = importlib.import_module(f"pettingzoo.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or not f"pettingzoo.{name}".startswith(error.name):
            raise
        module = importlib.import_module(name)
    return module.env if hasattr(module, "env") else module.parallel_env


class ZooSession:
    def __init__(self, env: Any, seed: int) -> None:
        self.env, self.tools = env, list[Any]()
        for number, agent in enumerate(env.possible_agents):
            env.action_space(agent).seed(seed + number)
        env.reset(seed=seed)
        self.totals = {str(agent): 0.0 for agent in env.possible_agents}
        self.steps = 0
        self.turn = self._turn({})

    def _turn(self, gains: dict[str, float]) -> dict[str, Any]:
        """The turn of the next agent that lives."""
        env = self.env
        while env.agents:
            agent = env.agent_selection
            observation, _, terminated, truncated, info = env.last()
            if not (terminated or truncated):
                mask = info.get("action_mask") if isinstance(info, dict) else None
                if isinstance(observation, dict) and "action_mask" in observation:
                    mask, observation = observation["action_mask"], observation.get("observation", "")
                space = env.action_space(agent)
                acts = range(int(space.start), int(space.start) + int(space.n))
                legal = [act for act in acts if mask is None or mask[act - int(space.start)]]
                shown = f"You are {agent}.\n{in_words(observation)}"[:LONGEST]
                ask = {"seat": str(agent), "shown": shown, "choices": [str(act) for act in legal]}
                return {"asks": [ask], "over": False, "gains": gains}
            self._step(None, gains)
        return {"asks": [], "over": True, "gains": gains}

    def _step(self, act: Any, gains: dict[str, float]) -> None:
        self.env.step(act)
        for agent, reward in self.env.rewards.items():
            if act is not None:
                gains[str(agent)] = gains.get(str(agent), 0.0) + float(reward)
                self.totals[str(agent)] += float(reward)

    def say(self, texts: list[str]) -> dict[str, Any]:
        gains: dict[str, float] = {}
        self._step(int(texts[0]), gains)
        self.steps += 1
        self.turn = self._turn(gains)
        return self.turn

    def assess(self, answer: str) -> dict[str, Any]:
        return {"scores": self.totals, "facts": {}}

    def state(self) -> dict[str, Any]:
        return {"totals": self.totals, "steps": self.steps}

    def close(self) -> None:
        self.env.close()


def in_words(observation: Any) -> str:
    """An observation: small ones in full, of larger ones the places that are not 0."""
    if isinstance(observation, dict):
        return "\n".join(f"{name}: {in_words(each)}" for name, each in observation.items())
    if not hasattr(observation, "nonzero") or observation.size <= _SMALL:
        return str(observation.tolist() if hasattr(observation, "tolist") else observation).replace("\n", " ")
    places = zip(*(axis.tolist() for axis in observation.nonzero()), strict=True)
    ones = observation.dtype == bool or bool((observation == observation.astype(bool)).all())
    said = ["/".join(map(str, place)) + ("" if ones else f"={observation[place]:.4g}") for place in places]
    return f"of {'×'.join(map(str, observation.shape))}: {' '.join(said)}"
