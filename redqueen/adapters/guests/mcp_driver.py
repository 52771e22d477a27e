"""Any MCP server as tools, in a guest: `working:mcp(python -m my_server,tasks=tasks.jsonl)`.

Each visit starts the server anew, speaks to it over its standard input and output, and takes its tools; arguments are
JSON. A line of the file of tasks is {"prompt", "answer"} or {"prompt", "check": {"tool", "arguments", "holds"}}: at the
end the answer must be in the reply, and the tool, called by us on the final state, must say a text that holds this one.

The tools are those of the start of a visit. A call that the server refuses, of a tool that it has no longer for one, is
told who called; where it refuses the check, nobody knows how the visit went.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import sys
from contextlib import AsyncExitStack
from typing import Any

from redqueen.guests.guest_process import AGENT, one_turn, question, read_tasks

CLOSED = -32000  # the code of an error that says that the server is gone
ENDS_WITH_US = """import ctypes, os, signal, sys
getattr(ctypes.CDLL(None), "prctl", lambda *given: None)(1, signal.SIGKILL)
os.execvp(sys.argv[1], sys.argv[1:])"""  # whoever is called so ends with its parent, also where that is killed
WANTED = 'a task is an object with a prompt, and an answer or a check {"tool": NAME, "holds": TEXT}'


def load(settings: dict[str, Any]) -> Server:
    return Server(settings)


class Server:
    def __init__(self, settings: dict[str, Any]) -> None:
        import mcp  # noqa: F401  # a guest without it does not start

        self.settings = settings
        self.tasks, self.held_out = read_tasks(settings["tasks"], judged, WANTED)

    def about(self) -> dict[str, Any]:
        repeatable = bool(self.settings["repeatable"])
        return {"seats": [AGENT], "tasks": self.tasks, "held_out": self.held_out, "repeatable": repeatable}

    def open(self, task: dict[str, Any], seed: int) -> ServerSession:
        return ServerSession(shlex.split(self.settings["name"]), task)


class ServerSession:
    def __init__(self, command: list[str], task: dict[str, Any]) -> None:
        self.task, self.calls, self.loop = task, 0, asyncio.new_event_loop()
        self.stack, self.ended = AsyncExitStack(), asyncio.Event()
        self.session: Any = None
        self.failed: BaseException | None = None
        ready: asyncio.Future[Any] = self.loop.create_future()
        self.life = self.loop.create_task(self._live(command, ready))  # opened and closed by one task, as anyio asks
        listed = self.loop.run_until_complete(ready)
        self.known = {tool.name: tool for tool in listed}
        self.tools = [{"name": tool.name, "usage": usage(tool)} for tool in listed]
        self.turn = one_turn("Use the tools, then answer.")

    async def _live(self, command: list[str], ready: asyncio.Future[Any]) -> None:
        from mcp import ClientSession, StdioServerParameters
        from mcp.client.stdio import stdio_client

        program = sys.executable if command[0] in ("python", "python3") else command[0]
        words = ["-c", ENDS_WITH_US, program, *command[1:]]
        server = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
        try:
            if shutil.which(program) is None:
                raise FileNotFoundError(f"there is no program {program}")
            with open(os.devnull, "w") as nothing:
                async with (
                    stdio_client(server, errlog=nothing) as (reads, writes),
                    ClientSession(reads, writes) as self.session,
                ):
                    await self.session.initialize()
                    ready.set_result((await self.session.list_tools()).tools)
                    await self.ended.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(RuntimeError(f"the server {shlex.join(command)} does not start: {error!r:.200}"))

    def call(self, tool: str, text: str) -> dict[str, Any]:
        self.calls += 1
        schema = input_schema(self.known[tool])
        names = list(schema.get("properties", {}))
        try:
            arguments = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            arguments = text
        if not isinstance(arguments, dict):
            if len(names) != 1:
                return {
                    "output": f"the arguments are a JSON object with {', '.join(names) or 'nothing'}",
                    "failed": True,
                }
            kind = schema["properties"][names[0]].get("type", "string")
            arguments = {names[0]: text if kind == "string" else arguments}
        return self._called(tool, arguments)

    def _called(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            found = self.loop.run_until_complete(self.session.call_tool(tool, arguments))
        except Exception as error:
            code = getattr(error, "code", getattr(getattr(error, "error", None), "code", CLOSED))
            if code == CLOSED:  # no answer of the server
                raise
            return {"output": f"The server refuses {tool}: {' '.join(str(error).split())[:200]}", "failed": True}
        said = "\n".join(getattr(part, "text", f"[{part.type}]") for part in found.content)
        failed = bool(getattr(found, "is_error", getattr(found, "isError", False)))
        return {"output": said or "Nothing.", "failed": failed}

    def say(self, texts: list[str]) -> dict[str, Any]:
        """Acts are said as a call: the tool's name, then its arguments."""
        name, _, text = texts[0].strip().partition(" ")
        if name not in self.known:
            self.turn = one_turn(f"There is no tool {name!r}; the tools are {', '.join(self.known)}.")
        else:
            self.turn = one_turn(self.call(name, text.strip())["output"])
        return self.turn

    def assess(self, answer: str) -> dict[str, Any]:
        parts = {}
        if wanted := self.task.get("answer", ""):
            parts["answered"] = float(wanted.lower() in answer.lower())
        check = self.task["facts"]["row"].get("check")
        if check:
            said = self._called(check["tool"], check.get("arguments", {}))
            if said["failed"]:
                raise RuntimeError(f"the check calls {check['tool']}, which fails: {said['output'][:200]}")
            parts["state"] = float(str(check["holds"]) in said["output"])
        score = float(all(parts.values())) if parts else 0.0
        return {"scores": {AGENT: score}, "parts": parts, "facts": {}}

    def state(self) -> dict[str, Any]:
        return {"calls": self.calls}

    def close(self) -> None:
        self.ended.set()
        self.loop.run_until_complete(asyncio.wait([self.life], timeout=2.0))


def judged(number: int, row: dict[str, Any]) -> dict[str, Any]:
    """The task of a row. Raises ValueError for one that nothing tells done from undone."""
    task = question(number, row)
    check = task["facts"]["row"].get("check")
    whole = isinstance(check, dict) and isinstance(check.get("tool"), str) and str(check.get("holds", ""))
    if not (task["answer"] if check is None else whole):
        raise ValueError(WANTED)
    return task


def input_schema(tool: Any) -> dict[str, Any]:
    """The schema of a tool's arguments, as either generation of the SDK names it."""
    return dict(getattr(tool, "input_schema", None) or getattr(tool, "inputSchema", None) or {})


def usage(tool: Any) -> str:
    """The line that shows a call."""
    takes = {name: each.get("type", "any") for name, each in input_schema(tool).get("properties", {}).items()}
    about = (tool.description or "calls it.").strip().splitlines()[0]
    return f"<{tool.name}>{json.dumps(takes)}</{tool.name}> {about}"
