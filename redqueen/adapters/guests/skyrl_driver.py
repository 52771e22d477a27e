"""Environments of SkyRL Gym, in a guest: `acting:skyrl(gsm8k,tasks=sums.jsonl)`.

A name is an environment that skyrl_gym knows, or module:Class or FILE.py:Class of one's own. Each line of the file is a
task: `prompt` or `question`, `answer`, which becomes the ground truth, and what else the environment reads.
"""

from __future__ import annotations

from typing import Any

from redqueen.guests.guest_process import AGENT, member, one_turn, read_tasks


def load(settings: dict[str, Any]) -> Sky:
    return Sky(settings)


class Sky:
    def __init__(self, settings: dict[str, Any]) -> None:
        import skyrl_gym

        self.gym, name = skyrl_gym, settings["name"]
        self.tasks, self.held_out = read_tasks(settings["tasks"])
        if ":" in name:
            self.name = f"redqueen-{name.rpartition(':')[2]}"
            skyrl_gym.register(id=self.name, entry_point=member(name))
        else:
            self.name = name
            skyrl_gym.spec(name)

    def about(self) -> dict[str, Any]:
        return {"seats": [AGENT], "tasks": self.tasks, "held_out": self.held_out, "repeatable": True}

    def open(self, task: dict[str, Any], seed: int) -> SkySession:
        truth = {"method": "rule", "ground_truth": task["answer"]}
        extras = {"reward_spec": truth, "reward_model": truth, "extra_info": {}, "max_turns": 5, "data": task["prompt"]}
        env = self.gym.make(self.name, env_config={}, extras={**extras, **task["facts"].get("row", {})})
        return SkySession(env, task["prompt"])


class SkySession:
    def __init__(self, env: Any, prompt: str) -> None:
        self.env, self.total, self.tools = env, 0.0, list[Any]()
        shown, _ = env.init([{"role": "user", "content": prompt}])
        words = _words(shown)
        self.turn = one_turn("Answer." if words == prompt else words)  # the task is shown before the first view
        self.facts: dict[str, Any] = {}

    def say(self, texts: list[str]) -> dict[str, Any]:
        found = self.env.step(texts[0])
        reward, over = float(found["reward"]), bool(found["done"])
        self.total += reward
        self.turn = one_turn(_words(found["observations"]) or "Go on.", (), over, reward)
        return self.turn

    def assess(self, answer: str) -> dict[str, Any]:
        metrics = {name: value for name, value in self.env.get_metrics().items() if isinstance(value, (int, float))}
        return {"scores": {AGENT: self.total}, "facts": {"metrics": metrics}}

    def state(self) -> dict[str, Any]:
        return {"total": self.total, "turns": int(getattr(self.env, "turns", 0))}

    def close(self) -> None:
        self.env.close()


def _words(messages: Any) -> str:
    if isinstance(messages, str):
        return messages
    return "\n".join(str(message.get("content", "")) for message in messages or ())
