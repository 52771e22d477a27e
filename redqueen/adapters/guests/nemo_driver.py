"""Resources servers of NeMo Gym, over HTTP: `working:nemo(http://127.0.0.1:8010,tasks=example.jsonl)`.

Each line of the file is a row as NeMo Gym has them: `responses_create_params` with `input` and `tools`, and what else
the server reads. A visit is a session of the server, which it knows by a cookie: `/seed_session` begins it with the
row, each tool is a path of its name, and `/verify` is given the row with all that was said, and answers with the
`reward`. An error of the server is shown to the agent, as its own agent does; an error of `/seed_session` or `/verify`
ends the visit.

Written from what its repository says and tried against a stand-in: NeMo Gym itself needs a newer Python. Not run.
"""

from __future__ import annotations

import http.cookiejar
import json
import urllib.error
import urllib.request
from typing import Any

from redqueen.guests.guest_process import AGENT, one_turn, read_tasks

PATIENCE = 0.9  # of the seconds that an answer may take: a server that is late is named, before the visit is over
ROW = "a row has responses_create_params with input"


def load(settings: dict[str, Any]) -> Nemo:
    return Nemo(settings)


class Nemo:
    def __init__(self, settings: dict[str, Any]) -> None:
        self.url, self.repeatable = settings["name"].rstrip("/"), settings["repeatable"]
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(f"a resources server is named by its address, http://HOST:PORT, not {self.url}")
        self.seconds = PATIENCE * settings["seconds"]
        self.tasks, self.held_out = read_tasks(settings["tasks"], task_of, ROW)

    def about(self) -> dict[str, Any]:
        said = {"tasks": self.tasks, "held_out": self.held_out, "repeatable": self.repeatable}
        return {"seats": [AGENT], **said}

    def open(self, task: dict[str, Any], seed: int) -> NemoSession:
        return NemoSession(self.url, task["facts"]["row"], self.seconds)


class NemoSession:
    def __init__(self, url: str, row: dict[str, Any], seconds: float) -> None:
        self.url, self.row, self.output = url, row, list[dict[str, Any]]()
        self.seconds = seconds  # that the server may take
        self.known: dict[str, dict[str, Any]] = {}  # what was verified, by what it was given
        handlers = (urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()), urllib.request.ProxyHandler({}))
        self.opener = urllib.request.build_opener(*handlers)
        self._must("seed_session", row)
        self.names = [tool["name"] for tool in _tools(row)]
        self.tools = [{"name": tool["name"], "usage": usage(tool)} for tool in _tools(row)]
        self.turn = one_turn("Use the tools, or answer." if self.tools else "Answer.")

    def call(self, tool: str, text: str) -> dict[str, Any]:
        try:
            arguments = json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            return {"output": "the arguments of a call are an object in JSON", "failed": True}
        status, output = self._post(tool, arguments)
        number = f"call{len(self.output) // 2}"
        self.output += [
            {"type": "function_call", "call_id": number, "name": tool, "arguments": json.dumps(arguments)},
            {"type": "function_call_output", "call_id": number, "output": output},
        ]
        return {"output": output or "Nothing came of it.", "failed": status >= 400}

    def say(self, texts: list[str]) -> dict[str, Any]:
        """Acts are said as a call: name JSON. Anything else is the answer, and ends the visit."""
        name, _, text = texts[0].strip().partition(" ")
        if name in self.names:
            self.turn = one_turn(self.call(name, text)["output"])
        else:
            self.turn = one_turn("The end.", (), True)
        return self.turn

    def assess(self, answer: str) -> dict[str, Any]:
        message = {"type": "output_text", "text": answer, "annotations": []}
        said = {"id": "msg", "type": "message", "role": "assistant", "status": "completed", "content": [message]}
        response = {
            "id": "resp",
            "object": "response",
            "created_at": 0,
            "model": "seat",
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": _tools(self.row),
            "output": [*self.output, said],
        }
        key = json.dumps([answer, len(self.output)])
        if key not in self.known:
            self.known[key] = self._must("verify", {**self.row, "response": response})
        found = self.known[key]
        own = {name: value for name, value in found.items() if name not in self.row and isinstance(value, (int, float))}
        facts: dict[str, Any] = {"verified": own}
        if found.get("mask_sample"):  # the server says that its reward measures nothing
            facts |= {"failed": str(found.get("failure_reason") or "was not measured")[:200], "right": None}
        return {"scores": {AGENT: float(found["reward"])}, "facts": facts}

    def state(self) -> dict[str, Any]:
        return {"output": list(self.output)}

    def close(self) -> None:
        self.opener.close()

    def _must(self, path: str, data: dict[str, Any]) -> dict[str, Any]:
        """What the server answers. Raises ValueError where that is no object."""
        status, text = self._post(path, data)
        try:
            found = json.loads(text) if status < 400 else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ValueError(f"{self.url}/{path} answers {status} {' '.join(text.split())[:120]}")
        if path == "verify" and not isinstance(found.get("reward"), (int, float)):
            raise ValueError(f"{self.url}/verify answers without a reward")
        return found

    def _post(self, path: str, data: dict[str, Any]) -> tuple[int, str]:
        head = {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"{self.url}/{path}", json.dumps(data).encode(), head)
        try:
            with self.opener.open(asked, timeout=self.seconds) as answer:
                return answer.status, answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode("utf-8", "replace")
        except OSError as error:
            raise ValueError(f"{self.url} is not reached: {error}") from None


def task_of(number: int, row: dict[str, Any]) -> dict[str, Any]:
    """The task of a row, whose tools can be read."""
    _tools(row)
    return {"id": f"line{number}", "prompt": _words(row["responses_create_params"]["input"]), "facts": {"row": row}}


def usage(tool: dict[str, Any]) -> str:
    """The line that shows a call."""
    takes = {name: each.get("type", "text") for name, each in tool.get("parameters", {}).get("properties", {}).items()}
    about = str(tool.get("description") or "").strip().splitlines()
    return f"<{tool['name']}>{json.dumps(takes)}</{tool['name']}> {about[0] if about else 'calls it.'}"


def _tools(row: dict[str, Any]) -> list[dict[str, Any]]:
    tools = row["responses_create_params"].get("tools") or []
    return [tool for tool in tools if tool.get("type") == "function" and tool["name"]]


def _words(messages: Any) -> str:
    if isinstance(messages, str):
        return messages
    parts = [each.get("content", "") for each in messages]
    texts = [part if isinstance(part, str) else "\n".join(one.get("text", "") for one in part) for part in parts]
    return "\n".join(filter(None, texts))
