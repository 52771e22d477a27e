"""`POST /v1/messages`, as Anthropic has it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redqueen.games.tool_calls import result, written
from redqueen.guests.dialects.wanted import (
    Said,
    Unfit,
    Wanted,
    arguments,
    event,
    functions_of,
    needed,
    own_texts,
    shape_of,
    stops,
    texts,
    unheeded,
    whole,
    with_functions,
)
from redqueen.types import Message

PATH = "/v1/messages"
UNHEEDED = ("temperature", "top_p", "top_k", "thinking")
_ENDED = {"length": "max_tokens", "tool_calls": "tool_use", "stop": "end_turn"}


def read(body: Mapping[str, Any], own: str) -> Wanted:
    """The request of a conversation in which `own` is the assistant. Raises Unfit for one that cannot be answered."""
    functions = functions_of(body, _function)
    shape = shape_of((body.get("output_config") or {}).get("format"), "output_config.format")
    system = texts(body.get("system"))
    messages = [Message("system", system)] if system else []
    messages += [each for message in needed(body, "messages", list, "a list") for each in _messages(message, own)]
    return Wanted(
        with_functions(messages, functions, shape),
        stops(body.get("stop_sequences")),
        stream=bool(body.get("stream")),
        most=whole(body, "max_tokens"),
        calls=bool(functions),
        unheeded=unheeded(body, UNHEEDED, shape),
    )


def answer(said: Sequence[Said], wanted: Wanted, model: str, name: str) -> dict[str, Any]:
    """The body of the answer."""
    (each,) = said
    ended = {"content": _blocks(each), **_end(each)}
    return {**_head(model, name), **ended, "usage": {"input_tokens": each.prompt, "output_tokens": each.tokens}}


def events(said: Sequence[Said], wanted: Wanted, model: str, name: str) -> Iterator[bytes]:
    """The answer as a stream."""
    (each,) = said

    def told(kind: str, **data: Any) -> bytes:
        return event({"type": kind, **data}, kind)

    start: dict[str, Any] = {"content": [], "stop_reason": None, "stop_sequence": None}
    usage = {"input_tokens": each.prompt, "output_tokens": 0}
    yield told("message_start", message={**_head(model, name), **start, "usage": usage})
    for number, block in enumerate(_blocks(each)):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield told("content_block_start", index=number, content_block=empty)
        yield told("content_block_delta", index=number, delta=delta)
        yield told("content_block_stop", index=number)
    yield told("message_delta", delta=_end(each), usage={"output_tokens": each.tokens})
    yield told("message_stop")


def _end(each: Said) -> dict[str, Any]:
    """Why a reply ended, and at which stop."""
    stopped = each.stop and each.ended == "stop"
    reason = "stop_sequence" if stopped else _ENDED[each.ended]
    return {"stop_reason": reason, "stop_sequence": each.stop if stopped else None}


def refusal(reason: str, kind: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": reason}}


def _messages(message: object, own: str) -> list[Message]:
    if not isinstance(message, dict):
        raise Unfit(f"a message is an object, not {json.dumps(message)[:80]}")
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant"):
        raise Unfit(f"the role of a message is user or assistant, not {json.dumps(role)[:40]}")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": texts(content)}]
    if not all(isinstance(block, dict) for block in blocks):
        raise Unfit(f"the content of a message must be a text or a list of blocks, not {json.dumps(content)[:80]}")
    if role == "assistant":
        calls = [
            (str(each.get("name")), arguments(each.get("input"))) for each in blocks if each.get("type") == "tool_use"
        ]
        return [Message(own, written(own_texts(blocks, ["tool_use"]), calls))]
    found = []
    for block in blocks:
        if block.get("type") == "tool_result":
            failed = "Error: " if block.get("is_error") else ""  # chat templates have no place of their own for it
            found.append(result(str(block.get("tool_use_id", "")), failed + texts(block.get("content"))))
        else:
            found.append(Message("game", texts([block])))
    return found


def _function(tool: object) -> Mapping[str, Any]:
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str) or "input_schema" not in tool:
        raise Unfit(f"a tool has a name and an input_schema, unlike {json.dumps(tool)[:80]}")
    return {"name": tool["name"], "description": tool.get("description", ""), "parameters": tool["input_schema"]}


def _blocks(said: Said) -> list[dict[str, Any]]:
    text = [{"type": "text", "text": said.text}] if said.text or not said.calls else []
    calls = [
        {"type": "tool_use", "id": each.id, "name": each.name, "input": dict(each.arguments)} for each in said.calls
    ]
    return [*text, *calls]


def _head(model: str, name: str) -> dict[str, Any]:
    return {"id": f"msg_{name}", "type": "message", "role": "assistant", "model": model}
