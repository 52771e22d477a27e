"""Plain data as JSON and back: asks, replies, episodes. Reading returns what was written, equal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from redqueen.protocols import AMOUNT, COUNT, FINITE, Row
from redqueen.types import (
    Ask,
    Episode,
    Message,
    Outcome,
    Part,
    RedQueenError,
    Reply,
    Seat,
    Task,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    tuples,
)

Json = dict[str, Any]
_MESSAGE = Row(str, (str, list))
TASK = {  # the shapes of what is read from files that others may have written
    "id": str,
    "kind": str,
    "prompt": str,
    "answer": str,
    "facts": dict,
    "weight": AMOUNT,
    "choices?": [str],
    "messages?": [_MESSAGE],
}
ASK = {"seat": Row(str, COUNT), "messages": [_MESSAGE], "choices": [str], "stops?": [str]}
REPLY = {
    "text": str,
    "thought": str,
    "player": str,
    "version": COUNT,
    "prompt_tokens": [COUNT],
    "tokens": [COUNT],
    "logprobs": [FINITE],
    "legal_tokens": [[COUNT]],
    "truncated": bool,
    "malformed": bool,
    "recited": bool,
}
EPISODE = {
    "game": str,
    "task": TASK,
    "seed": int,
    "seats": [Row(str, COUNT)],
    "silent?": [Row(str, COUNT, str)],
    "scores": [(int, float)],
    "facts": dict,
    "turns": [{"ask": ASK, "reply": REPLY}],
}


def ask_to_json(ask: Ask) -> Json:
    """The ask as JSON, without its past, which the episode holds."""
    return {
        "seat": [ask.seat.role, ask.seat.number],
        "messages": [message_to_json(message) for message in ask.messages],
        "choices": list(ask.choices),
        "stops": list(ask.stops),
    }


def ask_from_json(data: Json) -> Ask:
    role, number = data["seat"]
    messages = tuple(message_from_json(message) for message in data["messages"])
    return Ask(Seat(role, number), messages, tuple(data["choices"]), stops=tuple(data.get("stops", ())))


def message_to_json(message: Message) -> list[Any]:
    """`[speaker, text]` for a message of one text (as in older records), else `[speaker, [part, ...]]`."""
    match message.parts:
        case (Text(text),):
            return [message.speaker, text]
        case parts:
            return [message.speaker, [_part_to_json(part) for part in parts]]


def message_from_json(data: Sequence[Any]) -> Message:
    speaker, said = data
    return Message(speaker, said if isinstance(said, str) else [_part_from_json(part) for part in said])


def _part_to_json(part: Part) -> Json:
    match part:
        case Text(text):
            return {"text": text}
        case ToolCall(id, name, arguments):
            return {"call": id, "name": name, "arguments": plain(arguments)}
        case ToolResult(id, text):
            return {"result": id, "text": text}


def _part_from_json(data: Json) -> Part:
    match data:
        case {"call": str(id), "name": str(name), "arguments": Mapping() as arguments}:
            return ToolCall(id, name, arguments)
        case {"result": str(id), "text": str(text)}:
            return ToolResult(id, text)
        case {"text": str(text)}:
            return Text(text)
    raise RedQueenError(
        'a part of a message is {"text": ...}, {"call": ID, "name": ..., "arguments": {...}} or '
        f'{{"result": ID, "text": ...}}, not {data!r:.80}'
    )


def reply_to_json(reply: Reply) -> Json:
    """The reply as JSON. Log-probabilities keep every bit: Python writes the shortest decimal that reads back equal."""
    return {
        "text": reply.text,
        "thought": reply.thought,
        "player": reply.player,
        "version": reply.version,
        "prompt_tokens": reply.prompt_tokens.tolist(),
        "tokens": reply.tokens.tolist(),
        "logprobs": reply.logprobs.tolist(),
        "legal_tokens": [list(tokens) for tokens in reply.legal_tokens],
        "truncated": reply.truncated,
        "malformed": reply.malformed,
        "recited": reply.recited,
        **({"working": reply.working} if reply.working else {}),
    }


def reply_from_json(data: Json) -> Reply:
    arrays = {
        "prompt_tokens": np.array(data["prompt_tokens"], dtype=np.int64),
        "tokens": np.array(data["tokens"], dtype=np.int64),
        "logprobs": np.array(data["logprobs"], dtype=np.float64),
        "legal_tokens": tuple(tuple(tokens) for tokens in data["legal_tokens"]),
    }
    if data["version"] == -1:  # how older records marked a recited reply
        data = {**data, "version": 0, "recited": True}
    return Reply(**{**data, **arrays})


def episode_to_json(episode: Episode) -> Json:
    seats = list(episode.seats)
    silent: Json = {"silent": [[seat.role, seat.number, name] for seat, name in episode.silent]}
    return {
        "game": episode.game,
        "task": task_to_json(episode.task),
        "seed": episode.seed,
        "seats": [[seat.role, seat.number] for seat in seats],
        "scores": [float(episode.outcome.scores[seat]) for seat in seats],
        "facts": plain(episode.outcome.facts),
        "turns": [{"ask": ask_to_json(turn.ask), "reply": reply_to_json(turn.reply)} for turn in episode.turns],
        **(silent if episode.silent else {}),
    }


def episode_line(episode: Episode, **more: Json) -> str:
    """An episode as a line of JSON, with `more` fields. Raises RedQueenError for facts that JSON does not hold."""
    try:
        return json.dumps({**episode_to_json(episode), **more}) + "\n"
    except (TypeError, ValueError) as error:
        raise RedQueenError(f"the facts of {episode.game} cannot be stored as JSON: {error}") from error


def episode_from_json(data: Json) -> Episode:
    seats = tuple(Seat(role, number) for role, number in data["seats"])
    outcome = Outcome(dict(zip(seats, data["scores"], strict=True)), tuples(data["facts"]))
    turns = tuple(Turn(ask_from_json(turn["ask"]), reply_from_json(turn["reply"])) for turn in data["turns"])
    silent = tuple((Seat(role, number), name) for role, number, name in data.get("silent", ()))
    return Episode(data["game"], task_from_json(data["task"]), data["seed"], turns, outcome, seats, silent)


def task_to_json(task: Task) -> Json:
    """The fields of a task as JSON; `choices` and `messages` only if not empty."""
    listed: Json = {"choices": list(task.choices)} if task.choices else {}
    told: Json = {"messages": [message_to_json(message) for message in task.messages]} if task.messages else {}
    return {
        "id": task.id,
        "kind": task.kind,
        "prompt": task.prompt,
        "answer": task.answer,
        "facts": plain(task.facts),
        "weight": task.weight,
        **listed,
        **told,
    }


def task_from_json(data: Json) -> Task:
    """The task from its JSON. Older records hold `choices` and `messages` among the facts: they become its fields."""
    facts = dict(data["facts"])
    older = {name: facts.pop(name) for name in ("choices", "messages") if name in facts and name not in data}
    found = {**data, **older}
    return Task(
        **{
            **found,
            "facts": tuples(facts),
            "choices": tuple(found.get("choices", ())),
            "messages": tuple(message_from_json(message) for message in found.get("messages", ())),
        }
    )


def plain(value: Any) -> Any:
    """`value` with mappings, sequences and numpy values as JSON types. Bytes, which JSON lacks, are left as is."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview):
        return [plain(item) for item in value]
    return value


def flat(data: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested settings as strings under dotted names."""
    rows: dict[str, str] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            rows |= flat(value, f"{prefix}{key}.")
        else:
            rows[prefix + key] = "by default" if value is None else str(value)
    return rows
