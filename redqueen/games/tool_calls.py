"""Calls of functions in what a model says, as Hermes and Qwen models write them:

<tool_call>
{"name": "search", "arguments": {"query": "kuhn poker"}}
</tool_call>

Read as well are Mistral's, at the end of a reply, and Llama's, which are all of one:

[TOOL_CALLS][{"name": "search", "arguments": {"query": "kuhn poker"}}]        [TOOL_CALLS]search[ARGS]{"query": "..."}
<|python_tag|>{"name": "search", "parameters": {"query": "kuhn poker"}}

The marks of a list and of Llama's may be missing, as tokens that are not text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from redqueen.texts import is_deep, well_formed
from redqueen.types import Message, Text, ToolCall, ToolResult

OPEN, CLOSE = "<tool_call>", "</tool_call>"
_BETWEEN = re.compile(r"\s*;?\s*")
MISTRAL, ARGUMENTS, LLAMA = "[TOOL_CALLS]", "[ARGS]", "<|python_tag|>"


def described(functions: Sequence[Mapping[str, Any]]) -> str:
    """What a model is told of the functions that it may call: name, description and parameters of each."""
    listed = "\n".join(json.dumps(function, ensure_ascii=False) for function in functions)
    return (
        f"You can call functions. These are described in <tools></tools>:\n<tools>\n{listed}\n</tools>\n"
        f"A call is a JSON object between {OPEN} and {CLOSE}:\n{OPEN}\n"
        f'{{"name": "NAME", "arguments": {{"PARAMETER": "VALUE"}}}}\n{CLOSE}\n'
        "Its result is shown to you afterwards."
    )


def called(text: str, number: int = 0) -> tuple[str, tuple[ToolCall, ...]]:
    """What a reply says without its calls, stripped, and the calls, with ids that count on from `number`. What is no
    call, such as JSON that cannot be read, stays part of what is said."""
    before, objects = _of_mistral(text) or _of_llama(text) or ("", [])
    others = [_call(each, f"call_{number + place}") for place, each in enumerate(objects)]
    if others and None not in others:
        return before.strip(), tuple(each for each in others if each is not None)
    said, calls = list[str](), list[ToolCall]()
    pieces = text.split(OPEN)
    said.append(pieces[0])
    for piece in pieces[1:]:
        inside, closed, rest = piece.partition(CLOSE)
        found = _call(_as_json(inside), f"call_{number + len(calls)}") if closed else None
        if found is None:
            said.append(OPEN + piece)
        else:
            calls.append(found)
            said.append(rest)
    return "".join(said).strip(), tuple(calls)


def written(said: str, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """The reply that says this and makes these calls, (name, arguments) each."""
    objects = [json.dumps({"name": name, "arguments": dict(found)}, ensure_ascii=False) for name, found in calls]
    return "\n".join(filter(None, (said, *(f"{OPEN}\n{each}\n{CLOSE}" for each in objects))))


def same(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """What two replies have in common that say the same and make the same calls."""
    said, calls = called(text)
    return said, tuple((call.name, json.dumps(call.arguments, sort_keys=True)) for call in calls)


def result(of: str, text: str) -> Message:
    """The message that shows the result of the call with the id `of`."""
    return Message("tool", (Text("<tool_response>\n"), ToolResult(of, text), Text("\n</tool_response>")))


def _of_mistral(text: str) -> tuple[str, list[Any]] | None:
    """What is said before the calls, and their objects. The mark is no text for some tokenizers."""
    before, *pieces = text.split(MISTRAL)
    if not pieces and text.lstrip().startswith("[{"):
        listed = _as_json(text)
        named = listed and all(isinstance(each, dict) and {"name", "arguments"} <= each.keys() for each in listed)
        return ("", listed) if named else None
    objects = list[Any]()
    for piece in pieces:
        start = min((at for at in (piece.find("{"), piece.find("[{")) if at >= 0), default=len(piece))
        name, found = piece[:start].strip().removesuffix(ARGUMENTS).strip(), _as_json(piece[start:])
        objects += found if not name and isinstance(found, list) else [{"name": name, "arguments": found}]
    return (before, objects) if objects else None


def _of_llama(text: str) -> tuple[str, list[Any]] | None:
    """The objects of a reply that is nothing but calls, with semicolons between."""
    rest, objects, at = text.strip().removeprefix(LLAMA).strip(), list[Any](), 0
    while rest.startswith("{", at):
        try:
            found, end = _DECODER.raw_decode(rest, at)
        except (ValueError, RecursionError):
            return None
        if "parameters" not in found or is_deep(found):
            return None
        objects.append(found)
        between = _BETWEEN.match(rest, end)
        at = between.end() if between else end
    return ("", objects) if objects and at == len(rest) else None


def _as_json(text: str) -> Any:
    """None for what is no JSON, and for what is nested so deep that it could not be written again."""
    try:
        found = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return None if is_deep(found) else found


def _finite(text: str) -> float:
    """A number; NaN and what is too large for one are no JSON that others read."""
    if not isfinite(found := float(text)):
        raise ValueError(f"{text} is no number of JSON")
    return found


_DECODER = json.JSONDecoder(parse_constant=_finite, parse_float=_finite)


def _call(found: Any, name: str) -> ToolCall | None:
    found = json.loads(well_formed(json.dumps(found, ensure_ascii=False)))  # half a character may be escaped
    if not isinstance(found, dict) or not isinstance(found.get("name"), str) or not found["name"]:
        return None
    arguments = found.get("arguments", found.get("parameters", {}))  # the latter as Llama models write them
    return ToolCall(name, found["name"], arguments) if isinstance(arguments, dict) else None
