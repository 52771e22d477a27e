"""What a request of any dialect comes to, and what is answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redqueen.games.tool_calls import called, described
from redqueen.texts import before_stop, is_deep
from redqueen.types import Message, Reply, ToolCall

_SHAPES = ("text", "json_object", "json_schema")
_ONE_AT_A_TIME = "disable_parallel_tool_use"  # as Anthropic says it
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
TOLD = "format"  # asked for in words that the model reads, and not forced upon its reply


class Unfit(Exception):
    """A request that cannot be answered: one line that says why."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class Wanted:
    """A request for replies of a seat."""

    messages: tuple[Message, ...]
    stops: tuple[str, ...] = ()
    count: int = 1
    stream: bool = False
    most: int | None = None  # tokens of a reply
    calls: bool = False  # whether functions may be called
    rated: bool = False  # whether log-probabilities are asked for
    usage: bool = True  # whether a stream ends with the number of tokens
    unheeded: tuple[str, ...] = ()  # settings that a seat does not take from those who ask it


@dataclass(frozen=True)
class Said:
    """A reply as the asker is told it: what is said, and the calls of functions."""

    text: str
    calls: tuple[ToolCall, ...]
    reply: Reply
    stop: str = ""  # of the asker's, at which it ended

    @property
    def ended(self) -> str:
        """Why it ended: "length", "tool_calls" or "stop"."""
        return "length" if self.reply.truncated else "tool_calls" if self.calls else "stop"

    @property
    def prompt(self) -> int:
        return len(self.reply.prompt_tokens)

    @property
    def tokens(self) -> int:
        return len(self.reply.tokens)


def as_said(reply: Reply, wanted: Wanted, number: int) -> Said:
    """The reply as its asker is told it, up to the first of its stops, as their APIs do; ids of calls count on from
    `number`."""
    told, stop = before_stop(reply.text, wanted.stops)
    text, calls = called(told, number) if wanted.calls else (told.strip(), ())
    return Said(text, calls, reply, stop)


def with_functions(
    messages: Sequence[Message], functions: Sequence[Mapping[str, Any]], shape: str
) -> tuple[Message, ...]:
    """The conversation, at whose beginning the functions are described and the `shape` of replies is asked for."""
    told = [Message("system", text) for text in (described(functions) if functions else "", shape) if text]
    after = 1 if messages and messages[0].speaker == "system" else 0
    return (*messages[:after], *told, *messages[after:])


def shape_of(found: object, field: str) -> str:
    """What a model is told of the format that a request wants its replies in: nothing for free text. `field` is where
    the request says so. Raises Unfit for a format that is not known, and for a schema that is no object."""
    if found is None:
        return ""
    kind = found.get("type", "text") if isinstance(found, dict) else found
    if not isinstance(found, dict) or kind not in _SHAPES:
        raise Unfit(f"{field} is of a type among {', '.join(_SHAPES)}, not {json.dumps(kind)[:40]}")
    if kind == "text":
        return ""
    if kind == "json_object":
        return "Reply with a JSON object and nothing else."
    schema = (found.get("json_schema") or {}).get("schema") if "json_schema" in found else found.get("schema")
    if not isinstance(schema, dict):
        raise Unfit(f"{field} of type json_schema has a schema, an object, not {json.dumps(schema)[:80]}")
    return f"Reply with JSON that fits this schema, and with nothing else:\n{json.dumps(schema, ensure_ascii=False)}"


def functions_of(body: Mapping[str, Any], read: Callable[[object], Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The functions of a request, each as `read` has it; none where none may be called."""
    return [] if _choice(body) == "none" else [read(each) for each in body.get("tools") or ()]


def _choice(body: Mapping[str, Any]) -> Any:
    """How functions are chosen: "auto", "none", or a way that forces a call; None where nothing is said."""
    found = body.get("tool_choice")
    return found.get("type") if isinstance(found, dict) else found


def unheeded(body: Mapping[str, Any], settings: Sequence[str], shape: str) -> tuple[str, ...]:
    """What a request asks for and does not get: `settings` that are the seat's own, calls that are forced or one at a
    time, log-probabilities of other tokens, and replies that are forced into the format of which the model is told."""
    choice = body.get("tool_choice")
    one = body.get("parallel_tool_calls") is False or (isinstance(choice, dict) and choice.get(_ONE_AT_A_TIME))
    return (
        *(name for name in settings if body.get(name) is not None),
        *([TOLD] if shape else []),
        *(["top_logprobs"] if body.get("top_logprobs") else []),
        *(["tool_choice"] if _choice(body) not in (None, "auto", "none") else []),
        *(["parallel_tool_calls"] if one else []),
    )


def needed(body: Mapping[str, Any], name: str, kind: type | tuple[type, ...], what: str) -> Any:
    """A field of the request that must be there. Raises Unfit where it is not, or is of another kind."""
    found = body.get(name)
    if not isinstance(found, kind) or isinstance(found, bool):
        raise Unfit(f"{name} must be {what}, not {json.dumps(found)[:80]}")
    return found


def texts(content: object, kinds: Sequence[str] = ("text", "input_text", "output_text")) -> str:
    """The text of a message, given as one or in parts of text. Raises Unfit for parts of any other kind."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise Unfit(f"the content of a message must be a text or a list of parts, not {json.dumps(content)[:80]}")
    other = [str(part.get("type")) for part in content if part.get("type") not in kinds]
    if other:
        raise Unfit(f"a part of a message is {other[0][:40]!r}: the models here read text alone")
    found = [part.get("text", "") for part in content]
    if not all(isinstance(text, str) for text in found):
        raise Unfit("the text of a part must be a string")
    return "".join(found)


def own_texts(content: object, other: Sequence[str] = ()) -> str:
    """The text of the seat's own message: a refusal is said too, thoughts and parts of the kinds `other` are not."""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return texts(content)
    said = [part for part in content if part.get("type") not in (*_THOUGHTS, *other)]
    return texts(
        [{"type": "text", "text": part.get("refusal")} if part.get("type") == "refusal" else part for part in said]
    )


def arguments(found: object) -> dict[str, Any]:
    """The arguments of a call, given as an object or as its JSON. What is no object is kept as text."""
    if isinstance(found, dict):
        return found
    try:
        read = json.loads(found) if isinstance(found, str) else None
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, dict) and not is_deep(read) else {"text": str(found)}


def whole(body: Mapping[str, Any], *names: str) -> int | None:
    """The first of these fields that is given, a whole number above 0. Raises Unfit for anything else."""
    given = [(name, body[name]) for name in names if body.get(name) is not None]
    for name, value in given:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise Unfit(f"{name} must be a whole number above 0, not {json.dumps(value)[:40]}")
    return given[0][1] if given else None


def stops(found: object) -> tuple[str, ...]:
    """The stops of a request: none, one, or a list. Raises Unfit for anything else."""
    listed = [] if found is None else [found] if isinstance(found, str) else found
    if not isinstance(listed, list) or not all(isinstance(each, str) and each for each in listed):
        raise Unfit(f"stops are texts that are not empty, not {json.dumps(found)[:80]}")
    return tuple(listed)


def event(data: Mapping[str, Any], name: str = "") -> bytes:
    """One event of a stream."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()
