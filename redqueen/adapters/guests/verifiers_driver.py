"""Environments of verifiers (v1), in a guest: `acting:verifiers:ID`, `--game verifiers:kuhn_poker` for several agents.

An environment of verifiers calls models; here it is called. Its agents get a harness that makes one request a turn and
a client that waits for the seat of that agent; between the calls of Red Queen its event loop stands still. So each
environment runs unchanged, its own referee, prompts and rewards. One agent runs at a time, as is its default. Where an
agent is run several times, each run is a seat of its own, numbered.

Not taken: environments with tool servers, which are processes of their own.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import types
import urllib.error
import urllib.request
from typing import Any

from redqueen.guests.guest_process import AGENT

_HARNESS = "redqueen_seat"


def load(settings: dict[str, Any]) -> Verifiers:
    return Verifiers(settings)


class Verifiers:
    def __init__(self, settings: dict[str, Any]) -> None:
        from verifiers.v1.configs.agent import agent_config_fields
        from verifiers.v1.utils.loaders import env_config_type, load_environment, resolve_env_config

        _make_harness()
        name, taskset = settings["name"], {"id": settings["name"]}
        roles = list(agent_config_fields(env_config_type(name)()))
        seats = {role: {"harness": {"id": _HARNESS}, "runtime": {"type": "subprocess"}} for role in roles}
        config = resolve_env_config({"taskset": taskset, "interception": {"type": "server"}, **seats})
        self.env = load_environment(config)
        self.roles, most = roles, settings["count"] + settings["tests"]
        self.tasks = list(itertools.islice(iter(self.env.taskset), most))
        self.tests = min(settings["tests"], len(self.tasks) // 2)

    def about(self) -> dict[str, Any]:
        said = [{"id": f"task{place}", "facts": {"place": place}} for place in range(len(self.tasks))]
        seats = self.roles if len(self.roles) > 1 else [AGENT]
        return {"seats": seats, "tasks": said[self.tests :], "held_out": said[: self.tests], "repeatable": True}

    def open(self, task: dict[str, Any], seed: int) -> VerifiersSession:
        return VerifiersSession(self.env, self.tasks[task["facts"]["place"]], self.roles)


class VerifiersSession:
    def __init__(self, env: Any, task: Any, roles: list[str]) -> None:
        from verifiers.v1.clients import EvalClientConfig, ModelContext
        from verifiers.v1.interception import server

        self.env, self.task, self.roles, self.tools = env, task, roles, list[Any]()
        self.loop = asyncio.new_event_loop()
        self.asked: asyncio.Queue[Any] = asyncio.Queue()
        self.traces: dict[str, Any] = {}
        self.numbers: dict[str, tuple[str, int]] = {}
        self.shown: dict[str, int] = {}  # messages that each conversation has been shown
        self.waiting: Any = None
        self.episode: Any = None
        server.resolve_client = lambda config: _client(self)
        context = ModelContext(model="seat", client=EvalClientConfig(base_url="http://127.0.0.1:9/v1"))
        self.life = self.loop.create_task(self._live(context))
        self.turn = self._turn()

    async def _live(self, context: Any) -> None:
        try:
            async with self.env.serving():
                keep = lambda trace: self.traces.__setitem__(trace.id, trace)  # noqa: E731
                self.episode = await self.env.run_episode(self.task, context, on_trace=keep)
        finally:
            await self.asked.put(None)

    def _turn(self) -> dict[str, Any]:
        """Runs the loop until an agent waits for its words, or the episode is over."""
        self.waiting = self.loop.run_until_complete(self.asked.get())
        if self.waiting is None:
            self.life.result()  # raises what the environment raised
            return {"asks": [], "over": True, "shown": ""}
        trace, messages, _ = self.waiting
        role, number = self.seat(trace)
        before = self.shown.get(trace, 0)
        new = [message for message in messages[before:] if message.get("role") != "assistant" or not before]
        self.shown[trace] = len(messages) + 1  # with what is said now
        shown = "\n".join(filter(None, (_words(message) for message in new)))
        return {"asks": [{"seat": role, "shown": shown, "number": number}], "over": False}

    def seat(self, trace: str) -> tuple[str, int]:
        """The seat of a run: its agent, and which of that agent's runs it is."""
        if trace not in self.numbers:
            found = self.traces.get(trace)
            name = found.agent.name if found is not None and found.agent is not None else self.roles[0]
            number = sum(1 for other, _ in self.numbers.values() if other == name)
            self.numbers[trace] = (name, number)
        role, number = self.numbers[trace]
        return (role if len(self.roles) > 1 else AGENT), number

    def say(self, texts: list[str]) -> dict[str, Any]:
        self.waiting[2].set_result(texts[0])
        self.turn = self._turn()
        return self.turn

    def assess(self, answer: str) -> dict[str, Any]:
        scores = {(role if len(self.roles) > 1 else AGENT): 0.0 for role in self.roles}
        facts: dict[str, Any] = {"metrics": {}}
        if self.episode is None:
            return {"scores": scores, "facts": {**facts, "ended": False}}
        for trace in self.episode.traces:
            role, number = self.seat(trace.id)
            name = f"{role}/{number}" if number else role
            scores[name] = float(trace.reward)
            facts["metrics"][name] = {key: float(value) for key, value in trace.metrics.items() if value is not None}
        if self.episode.errors:
            said = [f"{error.type}: {' '.join(error.message.split())}"[:300] for error in self.episode.errors]
            facts |= {"errors": said, "failed": said[0], "right": None}  # as there, such an episode has no scores
        return {"scores": scores, "facts": {**facts, "ended": True}}

    def state(self) -> dict[str, Any]:
        said = {f"{role}/{number}": self.shown.get(trace, 0) for trace, (role, number) in self.numbers.items()}
        return {"shown": said, "over": self.episode is not None}

    def close(self) -> None:
        self.life.cancel()
        self.loop.run_until_complete(asyncio.wait([self.life], timeout=2.0))


def _words(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "\n".join(str(part.get("text", "")) for part in content)
    return str(content)


def _posted(request: urllib.request.Request) -> Any:
    """The answer on loopback, past any proxy; None where it is refused."""
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError:
        return None


def _client(session: VerifiersSession) -> Any:
    """A client of verifiers that waits for what a seat says."""
    from verifiers.v1.clients import Client

    class SeatClient(Client):
        async def get_response(
            self, dialect: Any, body: Any, sampling: Any, session_id: Any = None, turn: Any = None, headers: Any = None
        ) -> Any:
            said: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            await session.asked.put((session_id, body["messages"], said))
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": await said}}
            raw = {"id": "seat", "object": "chat.completion", "created": 0, "model": "seat", "choices": [choice]}
            raw["usage"] = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            response = dialect.parse_response(dialect.validate_response(raw))
            response.raw = raw
            return response

    return SeatClient()


def _make_harness() -> None:
    """A harness in a module of its own, which verifiers finds by the module's name."""
    from verifiers.v1.configs.harness import HarnessConfig
    from verifiers.v1.dialects.chat import message_to_wire
    from verifiers.v1.harness import Harness, HarnessSession

    class SeatHarnessConfig(HarnessConfig):
        pass

    class SeatSession(HarnessSession):
        said: list[dict[str, Any]]

        async def turn(self, messages: Any = None) -> None:
            if not hasattr(self, "said"):
                system, prompt = self.harness.resolve_prompt(self.data)
                self.said = [{"role": "system", "content": system}] if system else []
                if isinstance(prompt, str):
                    self.said.append({"role": "user", "content": prompt})
                elif prompt is not None:
                    self.said += [message_to_wire(message) for message in prompt]
            self.said += [message_to_wire(message) for message in messages or ()]
            headers = {"Authorization": f"Bearer {self.secret}", "Content-Type": "application/json"}
            data = json.dumps({"model": "seat", "messages": self.said}).encode()
            request = urllib.request.Request(f"{self.endpoint}/chat/completions", data, headers)
            answer = await asyncio.to_thread(_posted, request)
            if answer is not None:  # a turn that verifiers refuses ends the exchange
                self.said.append(answer["choices"][0]["message"])

    class SeatHarness(Harness[SeatHarnessConfig]):
        APPENDS_SYSTEM_PROMPT = True
        SUPPORTS_RESUME = True
        EXECUTES_CODE = False
        NEEDS_CONTAINER = False

        async def session(self, *given: Any, **named: Any) -> Any:
            return SeatSession(self, *given, **named)

        async def launch(self, *given: Any, **named: Any) -> Any:
            raise NotImplementedError

    module: Any = types.ModuleType(_HARNESS)
    module.SeatHarness, module.SeatHarnessConfig, module.__all__ = SeatHarness, SeatHarnessConfig, ["SeatHarness"]
    SeatHarness.__module__ = _HARNESS
    sys.modules[_HARNESS] = module
