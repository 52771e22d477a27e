"""`POST /v1/chat/completions`, as OpenAI, vLLM and most others have it."""

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

PATH = "/v1/chat/completions"
# settings of the seat, not of who asks it
UNHEEDED = (
    *("temperature", "top_p", "top_k", "min_p", "seed", "presence_penalty", "frequency_penalty", "logit_bias"),
    *("reasoning_effort", "verbosity", "functions", "function_call"),
)
MOST = 64  # replies to one request


def read(body: Mapping[str, Any], own: str) -> Wanted:
    """The request of a conversation in which `own` is the assistant. Raises Unfit for one that cannot be answered."""
    functions = functions_of(body, _function)
    shape = shape_of(body.get("response_format"), "response_format")
    count = whole(body, "n") or 1
    if count > MOST:
        raise Unfit(f"n is at most {MOST}, not {count}")
    messages = [each for message in needed(body, "messages", list, "a list") for each in _message(message, own)]
    return Wanted(
        with_functions(messages, functions, shape),
        stops(body.get("stop")),
        count,
        bool(body.get("stream")),
        whole(body, "max_completion_tokens", "max_tokens"),
        bool(functions),
        bool(body.get("logprobs")),
        bool((body.get("stream_options") or {}).get("include_usage")),
        unheeded(body, UNHEEDED, shape),
    )


def answer(said: Sequence[Said], wanted: Wanted, model: str, name: str) -> dict[str, Any]:
    """The body of the answer. `token_ids` and `prompt_token_ids` are those that were sampled, as vLLM gives them."""
    choices = [
        {
            "index": number,
            "message": {"role": "assistant", "content": each.text or None, **_calls(each)},
            "finish_reason": each.ended,
            "logprobs": _logprobs(each) if wanted.rated else None,
            "token_ids": each.reply.tokens.tolist(),
        }
        for number, each in enumerate(said)
    ]
    prompt = said[0].reply.prompt_tokens.tolist()
    return {**_head(model, name, ""), "choices": choices, "usage": _usage(said), "prompt_token_ids": prompt}


def events(said: Sequence[Said], wanted: Wanted, model: str, name: str) -> Iterator[bytes]:
    """The answer as a stream."""
    head = _head(model, name, ".chunk")

    def chunk(number: int, delta: Mapping[str, Any], **more: Any) -> bytes:
        return event({**head, "choices": [{"index": number, "delta": delta, "finish_reason": None, **more}]})

    for number, each in enumerate(said):
        rated = {"logprobs": _logprobs(each)} if wanted.rated else {}
        yield chunk(number, {"role": "assistant", "content": ""}, **rated)
        if each.text:
            yield chunk(number, {"content": each.text})
        for place, call in enumerate(_calls(each).get("tool_calls", ())):
            yield chunk(number, {"tool_calls": [{"index": place, **call}]})
        yield chunk(number, {}, finish_reason=each.ended)
    if wanted.usage:
        yield event({**head, "choices": [], "usage": _usage(said)})
    yield b"data: [DONE]\n\n"


def refusal(reason: str, kind: str) -> dict[str, Any]:
    return {"error": {"message": reason, "type": kind, "param": None, "code": None}}


def _message(message: object, own: str) -> list[Message]:
    if not isinstance(message, dict):
        raise Unfit(f"a message is an object, not {json.dumps(message)[:80]}")
    role, content = message.get("role"), message.get("content")
    text = own_texts(message.get("refusal") if content is None else content) if role == "assistant" else texts(content)
    if role in ("system", "developer"):
        return [Message("system", text)]
    if role == "user":
        return [Message("game", text)]
    if role == "assistant":
        calls = [each.get("function", {}) for each in message.get("tool_calls") or ()]
        return [Message(own, written(text, [(str(f.get("name")), arguments(f.get("arguments"))) for f in calls]))]
    if role == "tool":
        return [result(str(message.get("tool_call_id", "")), text)]
    raise Unfit(f"the role of a message is system, user, assistant or tool, not {json.dumps(role)[:40]}")


def _function(tool: object) -> Mapping[str, Any]:
    found = tool.get("function") if isinstance(tool, dict) else None
    if not isinstance(found, dict) or not isinstance(found.get("name"), str):
        raise Unfit(f"a tool is a function with a name, not {json.dumps(tool)[:80]}")
    return found


def _calls(said: Said) -> dict[str, Any]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
        for call in said.calls
    ]
    return {"tool_calls": calls} if calls else {}


def _logprobs(said: Said) -> dict[str, Any]:
    rated = zip(said.reply.tokens.tolist(), said.reply.logprobs.tolist(), strict=True)
    return {
        "content": [{"token": f"token_id:{n}", "logprob": p, "bytes": None, "top_logprobs": []} for n, p in rated],
        "refusal": None,
    }


def _head(model: str, name: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{name}", "object": f"chat.completion{kind}", "created": 0, "model": model}


def _usage(said: Sequence[Said]) -> dict[str, int]:
    prompt, reply = said[0].prompt, sum(each.tokens for each in said)
    return {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply}
