"""A class whose public methods are tools, as TRL's `environment_factory` takes it: `working:trl(shop.py:Shop,tasks=T)`.

`reset(**row)` begins a task and may return a text; each other public method is a tool, with arguments as its signature
has them, called with JSON (or with plain text, where one argument is a text). The attribute or method `reward` is the
score; `done`, where there is one, a fact.
"""

from __future__ import annotations

import inspect
import json
from typing import Any

from redqueen.guests.guest_process import AGENT, member, one_turn, read_tasks


def load(settings: dict[str, Any]) -> Factory:
    return Factory(settings)


class Factory:
    def __init__(self, settings: dict[str, Any]) -> None:
        self.kind, self.reward = member(settings["name"]), settings["reward"]
        self.tasks, self.held_out = read_tasks(settings["tasks"])
        if not callable(getattr(self.kind, "reset", None)):
            raise ValueError(f"{settings['name']} has no reset(**row)")
        if not hasattr(self.kind(), self.reward):
            raise ValueError(f"{settings['name']} has no {self.reward!r}: name what holds the score, reward=NAME")

    def about(self) -> dict[str, Any]:
        return {"seats": [AGENT], "tasks": self.tasks, "held_out": self.held_out, "repeatable": True}

    def open(self, task: dict[str, Any], seed: int) -> FactorySession:
        return FactorySession(self.kind(), task, self.reward)


class FactorySession:
    def __init__(self, env: Any, task: dict[str, Any], reward: str) -> None:
        self.env, self.reward, self.calls = env, reward, 0
        row = {**task["facts"].get("row", {}), "prompt": task["prompt"], "answer": task["answer"]}
        takes = inspect.signature(env.reset).parameters
        loose = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in takes.values())
        shown = env.reset(**{name: value for name, value in row.items() if loose or name in takes})
        public = inspect.getmembers(env, inspect.ismethod)
        names = (reward, "reset", "close")
        self.methods = {name: tool for name, tool in public if not name.startswith("_") and name not in names}
        self.tools = [{"name": name, "usage": usage(name, tool)} for name, tool in self.methods.items()]
        self.turn = one_turn(str(shown or "Use the tools."))

    def call(self, tool: str, text: str) -> dict[str, Any]:
        self.calls += 1
        try:
            arguments = given(self.methods[tool], text)
        except ValueError as error:
            return {"output": str(error), "failed": True}
        try:
            return {"output": str(self.methods[tool](**arguments)), "failed": False}
        except Exception as error:  # TRL shows the model what a tool raised
            return {"output": f"{type(error).__name__}: {error}", "failed": True}

    def say(self, texts: list[str]) -> dict[str, Any]:
        """Acts are said as a call: name(JSON), or name TEXT."""
        name, _, text = texts[0].strip().partition(" ")
        if name not in self.methods:
            shown = f"There is no tool {name!r}; the tools are {', '.join(self.methods)}."
        else:
            shown = self.call(name, text.strip())["output"]
        self.turn = one_turn(shown or "Nothing came of it.", (), bool(getattr(self.env, "done", False)))
        return self.turn

    def assess(self, answer: str) -> dict[str, Any]:
        found = getattr(self.env, self.reward)
        score = float(found() if callable(found) else found)
        return {"scores": {AGENT: score}, "facts": {"done": bool(getattr(self.env, "done", False))}}

    def state(self) -> dict[str, Any]:
        plain = (int, float, str, bool)
        own = {name: value for name, value in vars(self.env).items() if isinstance(value, plain)}
        return {"calls": self.calls, "own": own}

    def close(self) -> None:
        if hasattr(self.env, "close"):
            self.env.close()


def usage(name: str, tool: Any) -> str:
    """The line that shows a call."""
    takes = {key: str(getattr(each.annotation, "__name__", "text")) for key, each in _takes(tool).items()}
    about = (inspect.getdoc(tool) or "").strip().splitlines()
    return f"<{name}>{json.dumps(takes)}</{name}> {about[0] if about else 'calls it.'}"


def given(tool: Any, text: str) -> dict[str, Any]:
    """The arguments of a call. Raises ValueError for those that do not fit."""
    takes = _takes(tool)
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        found = text
    if not isinstance(found, dict):
        first = next(iter(takes), "")
        if len(takes) != 1:
            raise ValueError(f"the arguments are an object with {', '.join(takes) or 'nothing'}")
        found = {first: text if takes[first].annotation in (str, "str", inspect.Parameter.empty) else found}
    needed = [key for key, each in takes.items() if each.default is inspect.Parameter.empty]
    if unknown := [key for key in found if key not in takes]:
        raise ValueError(f"there is no argument {unknown[0]!r}; they are {', '.join(takes) or 'none'}")
    if missing := [key for key in needed if key not in found]:
        raise ValueError(f"the argument {missing[0]!r} is missing")
    return found


def _takes(tool: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(tool).parameters)
