"""Plain data as JSON and back: asks, replies, episodes. What is written reads back equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from redqueen.types import Ask, Episode, Message, Outcome, Reply, Seat, Task, Turn

Json = dict[str, Any]


def ask_to_json(ask: Ask) -> Json:
    """The ask without its past, which the episode around it holds."""
    return {
        "seat": [ask.seat.role, ask.seat.number],
        "messages": [[message.speaker, message.text] for message in ask.messages],
        "choices": list(ask.choices),
        "stops": list(ask.stops),
    }


def ask_from_json(data: Json) -> Ask:
    role, number = data["seat"]
    messages = tuple(Message(speaker, text) for speaker, text in data["messages"])
    return Ask(Seat(role, number), messages, tuple(data["choices"]), stops=tuple(data.get("stops", ())))


def reply_to_json(reply: Reply) -> Json:
    """Log-probabilities keep every bit: Python writes the shortest decimal that reads back equal."""
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
    }


def reply_from_json(data: Json) -> Reply:
    arrays = {
        "prompt_tokens": np.array(data["prompt_tokens"], dtype=np.int64),
        "tokens": np.array(data["tokens"], dtype=np.int64),
        "logprobs": np.array(data["logprobs"], dtype=np.float64),
        "legal_tokens": tuple(tuple(tokens) for tokens in data["legal_tokens"]),
    }
    return Reply(**{**data, **arrays})


def episode_to_json(episode: Episode) -> Json:
    seats = list(episode.seats)
    return {
        "game": episode.game,
        "task": task_to_json(episode.task),
        "seed": episode.seed,
        "seats": [[seat.role, seat.number] for seat in seats],
        "scores": [float(episode.outcome.scores[seat]) for seat in seats],
        "facts": plain(episode.outcome.facts),
        "turns": [{"ask": ask_to_json(turn.ask), "reply": reply_to_json(turn.reply)} for turn in episode.turns],
    }


def episode_from_json(data: Json) -> Episode:
    seats = tuple(Seat(role, number) for role, number in data["seats"])
    outcome = Outcome(dict(zip(seats, data["scores"], strict=True)), tuples(data["facts"]))
    turns = tuple(Turn(ask_from_json(turn["ask"]), reply_from_json(turn["reply"])) for turn in data["turns"])
    return Episode(data["game"], task_from_json(data["task"]), data["seed"], turns, outcome, seats)


def task_to_json(task: Task) -> Json:
    return {
        "id": task.id,
        "kind": task.kind,
        "prompt": task.prompt,
        "answer": task.answer,
        "facts": plain(task.facts),
        "weight": task.weight,
    }


def task_from_json(data: Json) -> Task:
    return Task(**{**data, "facts": tuples(data["facts"])})


def plain(value: Any) -> Any:
    """Mappings, sequences and numpy values as JSON has them. Bytes, which it does not have, stay."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview):
        return [plain(item) for item in value]
    return value


def tuples(value: Any) -> Any:
    """Facts are made of tuples; JSON has lists."""
    if isinstance(value, dict):
        return {key: tuples(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(tuples(item) for item in value)
    return value


def flat(data: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested settings under dotted names, as words."""
    rows: dict[str, str] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            rows |= flat(value, f"{prefix}{key}.")
        else:
            rows[prefix + key] = "by default" if value is None else str(value)
    return rows
