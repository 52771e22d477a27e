"""`POST /v1/responses`, as OpenAI has it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redqueen.games.tool_calls import result, written
from redqueen.guests.dialects.chat import refusal as refusal
from redqueen.guests.dialects.wanted import (
    Said,
    Unfit,
    Wanted,
    arguments,
    event,
    functions_of,
    own_texts,
    shape_of,
    texts,
    unheeded,
    whole,
    with_functions,
)
from redqueen.types import Message

PATH = "/v1/responses"
UNHEEDED = ("temperature", "top_p", "reasoning", "max_tool_calls")
STORED = ("previous_response_id", "conversation", "prompt")  # what a server would have kept


def read(body: Mapping[str, Any], own: str) -> Wanted:
    """The request of a conversation in which `own` is the assistant. Raises Unfit for one that cannot be answered, also
    where it names what was said before by its id alone: the whole conversation is to be sent."""
    for name in STORED:
        if body.get(name):
            raise Unfit(f"{name} is not to be had here: send the whole conversation as input (store=False)")
    shape = shape_of((body.get("text") or {}).get("format"), "text.format")
    functions = functions_of(body, _function)
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise Unfit(f"input must be a text or a list of objects, not {json.dumps(given)[:80]}")
    system = texts(body.get("instructions"))
    messages = [Message("system", system)] if system else []
    return Wanted(
        with_functions([*messages, *_messages(items, own)], functions, shape),
        stream=bool(body.get("stream")),
        most=whole(body, "max_output_tokens"),
        calls=bool(functions),
        unheeded=unheeded(body, UNHEEDED, shape),
    )


def answer(said: Sequence[Said], wanted: Wanted, model: str, name: str) -> dict[str, Any]:
    """The body of the answer."""
    (each,) = said
    cut = each.ended == "length"
    return {
        **_head(model, name, "incomplete" if cut else "completed"),
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": _items(each, name),
        "usage": {
            "input_tokens": each.prompt,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": each.tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": each.prompt + each.tokens,
        },
    }


def events(said: Sequence[Said], wanted: Wanted, model: str, name: str) -> Iterator[bytes]:
    """The answer as a stream."""
    number = 0

    def told(kind: str, **data: Any) -> bytes:
        nonlocal number
        number += 1
        return event({"type": kind, "sequence_number": number - 1, **data}, kind)

    begun = _head(model, name, "in_progress") | {"output": [], "incomplete_details": None}
    yield told("response.created", response=begun)
    yield told("response.in_progress", response=begun)
    for place, item in enumerate(_items(said[0], name)):
        at = {"item_id": item["id"], "output_index": place}
        if item["type"] == "message":
            part = item["content"][0]
            empty = {**part, "text": ""}
            opened = {**item, "status": "in_progress", "content": []}
            yield told("response.output_item.added", output_index=place, item=opened)
            yield told("response.content_part.added", **at, content_index=0, part=empty)
            yield told("response.output_text.delta", **at, content_index=0, delta=part["text"], logprobs=[])
            yield told("response.output_text.done", **at, content_index=0, text=part["text"], logprobs=[])
            yield told("response.content_part.done", **at, content_index=0, part=part)
        else:
            opened = {**item, "status": "in_progress", "arguments": ""}
            yield told("response.output_item.added", output_index=place, item=opened)
            yield told("response.function_call_arguments.delta", **at, delta=item["arguments"])
            done = {"name": item["name"], "arguments": item["arguments"]}
            yield told("response.function_call_arguments.done", **at, **done)
        yield told("response.output_item.done", output_index=place, item=item)
    end = answer(said, wanted, model, name)
    yield told(f"response.{end['status']}", response=end)


def _messages(items: Sequence[Mapping[str, Any]], own: str) -> list[Message]:
    """The conversation. What the assistant said and called, item after item, is one message."""
    found: list[Message] = []
    text: list[str] = []
    calls: list[tuple[str, dict[str, Any]]] = []

    def close() -> None:
        if text or calls:
            found.append(Message(own, written("".join(text), calls)))
            text.clear()
            calls.clear()

    for item in items:
        kind, role = item.get("type", "message"), item.get("role")
        if kind == "message" and role == "assistant":
            text.append(own_texts(item.get("content")))
        elif kind == "function_call":
            calls.append((str(item.get("name")), arguments(item.get("arguments"))))
        elif kind == "reasoning":
            continue
        else:
            close()
            if kind == "function_call_output":
                found.append(result(str(item.get("call_id", "")), texts(item.get("output"))))
            elif kind == "message" and role in ("system", "developer", "user"):
                found.append(Message("game" if role == "user" else "system", texts(item.get("content"))))
            else:
                raise Unfit(f"an item of the input is {json.dumps(kind)[:40]} of {json.dumps(role)[:40]}, not known")
    close()
    return found


def _function(tool: object) -> Mapping[str, Any]:
    if not isinstance(tool, dict) or tool.get("type") != "function" or not isinstance(tool.get("name"), str):
        raise Unfit(f"a tool is a function with a name, not {json.dumps(tool)[:80]}")
    return {"name": tool["name"], "description": tool.get("description") or "", "parameters": tool.get("parameters")}


def _items(said: Said, name: str) -> list[dict[str, Any]]:
    part = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
    message = {"id": f"msg_{name}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    calls = [
        {
            "id": f"fc_{name}_{number}",
            "type": "function_call",
            "status": "completed",
            "call_id": call.id,
            "name": call.name,
            "arguments": json.dumps(call.arguments),
        }
        for number, call in enumerate(said.calls)
    ]
    return [*([message] if said.text or not calls else []), *calls]


def _head(model: str, name: str, status: str) -> dict[str, Any]:
    return {
        "id": f"resp_{name}",
        "object": "response",
        "created_at": 0,
        "model": model,
        "status": status,
        "error": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": None,
        "top_p": None,
        "tool_choice": "auto",
        "tools": [],
    }
