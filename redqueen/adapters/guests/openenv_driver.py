"""Environments of OpenEnv, in a guest: `acting:openenv:module:Class`, or a server `acting:openenv:http://127.0.0.1:8000`.

An object has `reset(seed=, episode_id=)`, `step(action)` and `state`. Its actions are typed: where one field needs a
value, a text at that, it takes the raw reply, otherwise the reply is the action as JSON, and a faulty one is told so.
"""

from __future__ import annotations

import inspect
import json
import typing
from typing import Any

from redqueen.guests.guest_process import AGENT, about_seeds, member, one_turn

_OWN = ("reward", "done", "metadata")  # of an observation, which are not shown


def load(settings: dict[str, Any]) -> Open:
    return Open(settings)


class Open:
    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings, self.url, self.kind, self.action = settings, "", None, None
        name = settings["name"]
        if name.startswith(("http://", "https://")):
            self.url = name
            return
        self.kind = member(name)
        lacks = [needed for needed in ("reset", "step") if not callable(getattr(self.kind, needed, None))]
        if lacks:
            raise ValueError(f"{name} is no environment of OpenEnv: it has no {' and no '.join(lacks)}")
        self.action = member(settings["action"]) if settings["action"] else action_of(self.kind)
        if self.action is None:
            raise ValueError(f"{name} does not say what its actions are: name their class, action=module:Class")

    def about(self) -> dict[str, Any]:
        return about_seeds(self.settings["count"], self.settings["tests"], repeatable=not self.url)

    def open(self, task: dict[str, Any], seed: int) -> OpenSession:
        if self.url:
            from openenv.core import GenericEnvClient

            return OpenSession(GenericEnvClient(base_url=self.url).sync().__enter__(), None, task)
        assert self.kind is not None
        return OpenSession(self.kind(), self.action, task)


class OpenSession:
    def __init__(self, env: Any, action: Any, task: dict[str, Any]) -> None:
        self.env, self.action, self.total, self.tools = env, action, 0.0, list[Any]()
        seed = task["facts"]["seed"]
        takes = inspect.signature(env.reset).parameters
        loose = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in takes.values())
        given = {"seed": seed, "episode_id": f"episode{seed}"}
        found = env.reset(**{name: value for name, value in given.items() if loose or name in takes})
        self.last = ""
        self.turn = self._turn(found)

    def _turn(self, found: Any) -> dict[str, Any]:
        seen = found.observation if hasattr(found, "observation") else found
        reward = float(getattr(found, "reward", None) or 0.0)
        self.total += reward
        self.last = shown(seen)
        return one_turn(self.last, (), bool(getattr(found, "done", False)), reward)

    def say(self, texts: list[str]) -> dict[str, Any]:
        try:
            action = as_action(self.action, texts[0])
        except ValueError as error:
            self.turn = one_turn(f"No action: {error}\n{self.last}")
            return self.turn
        self.turn = self._turn(self.env.step(action))
        return self.turn

    def assess(self, answer: str) -> dict[str, Any]:
        return {"scores": {AGENT: self.total}, "facts": {}}

    def state(self) -> dict[str, Any]:
        return {"total": self.total, "shown": self.last}

    def close(self) -> None:
        if hasattr(self.env, "close"):
            self.env.close()


def action_of(kind: Any) -> Any:
    """The class of an environment's actions: the annotation of `step`, or the parameter of its base class."""
    try:
        hints = typing.get_type_hints(kind.step)
    except NameError:
        hints = {}
    named = [hint for name, hint in hints.items() if name != "return" and hasattr(hint, "model_fields")]
    bases = [argument for base in getattr(kind, "__orig_bases__", ()) for argument in typing.get_args(base)]
    found = [each for each in (*named, *bases) if hasattr(each, "model_fields") and each.__name__ != "Action"]
    return found[0] if found else None


def as_action(kind: Any, text: str) -> Any:
    """The action that a text is. Raises ValueError in one line."""
    if kind is None:  # of a server, which reads it
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        return found if isinstance(found, dict) else {"message": text}
    needed = [name for name, each in kind.model_fields.items() if each.is_required()]
    if len(needed) == 1 and kind.model_fields[needed[0]].annotation is str:
        return kind(**{needed[0]: text})
    try:
        return kind(**json.loads(text)) if len(needed) != 1 else _single(kind, needed[0], text)
    except (ValueError, TypeError, RecursionError) as error:
        wanted = ", ".join(f'"{name}"' for name in needed)
        raise ValueError(f"it is JSON with {wanted or 'its fields'} ({' '.join(str(error).split())[:120]})") from None


def _single(kind: Any, name: str, text: str) -> Any:
    value = json.loads(text)
    return kind(**value) if isinstance(value, dict) else kind(**{name: value})


def shown(seen: Any) -> str:
    """An observation in words: its own fields, one a line; a single one alone."""
    data = seen.model_dump(mode="json") if hasattr(seen, "model_dump") else seen
    if not isinstance(data, dict):
        return str(data)
    own = {name: value for name, value in data.items() if name not in _OWN and value not in (None, "", [], {})}
    if len(own) == 1:
        return _text(next(iter(own.values())))
    return "\n".join(f"{name}: {_text(value)}" for name, value in own.items())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
