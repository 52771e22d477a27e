"""What a person may see of their game, as JSON: before the end nothing but what their seat was told.

The walls are made of what is read here, not of what is left out: messages come from asks of the person's own role,
boards are drawn with the hands of that role, and the task, the seed and the turns of others wait for the end (in a
game of perfect information the others' moves lie open anyway).
"""

from __future__ import annotations

import shlex
from typing import Any

from redqueen.games.boards import Frame, frames
from redqueen.markup import speaker_line
from redqueen.players.human import new_messages, numbered
from redqueen.types import Ask, Episode, Outcome, Reply, Seat, Turn
from redqueen.views.serve.refusals import Declined
from redqueen.views.serve.sitting import SILENT, Sitting


def shown(sitting: Sitting) -> dict[str, Any]:
    """The whole page of a game."""
    ask = sitting.ask
    return {
        "game": sitting.game.name,
        "role": sitting.role,
        "entries": sitting.entries,
        "over": sitting.over,
        "trouble": sitting.trouble,
        "can_ask_again": sitting.trouble == SILENT,
        "frame": _frame(sitting),
        "moves": [_move(turn, sitting) for turn in sitting.turns()],
        "ask": None if ask is None else _asked(ask),
        "result": _result(sitting) if sitting.over else None,
    }


def chances(sitting: Sitting, move: int | None) -> list[list[Any]]:
    """[[legal reply, probability], ...] of the opponent's policy: for the ask before the person, or for a move that
    the person can see. Raises Declined if there are none."""
    turns = sitting.turns()
    if move is not None and not 0 <= move < len(turns):
        raise Declined("there is no such move", 404)
    ask = sitting.ask if move is None else turns[move].ask
    if ask is None:
        raise Declined("nobody is asked now", 409)
    if ask.seat.role == sitting.role:  # a policy reads what the seat was told, whoever plays the seat
        ask = Ask(ask.seat, ask.messages, ask.choices, (), ask.seed, ask.stops)
    found = sitting.opponent().probabilities(ask)
    return [[choice, round(float(chance), 6)] for choice, chance in zip(ask.choices, found, strict=True)]


def again(spec: str, opponent: str, role: str, seed: int) -> str:
    """The command that deals the same game at the keyboard."""
    return shlex.join(["redqueen", "play", spec, "--against", opponent, "--role", role, "--seed", str(seed)])


def _asked(ask: Ask) -> dict[str, Any]:
    return {
        "seat": str(ask.seat),
        "messages": _messages(ask),
        "choices": list(ask.choices),
        "numbered": numbered(ask.choices),
    }


def _messages(ask: Ask) -> list[list[str]]:
    return [[speaker_line(message), message.text] for message in new_messages(ask)]


def _move(turn: Turn, sitting: Sitting) -> dict[str, Any]:
    yours = turn.ask.seat.role == sitting.role
    return {
        "seat": str(turn.ask.seat),
        "yours": yours,
        "shown": _messages(turn.ask) if yours or sitting.over else [],
        "said": turn.reply.text,
        "thought": turn.reply.thought if sitting.over else "",
        "listed": bool(turn.ask.choices),
    }


def _frame(sitting: Sitting) -> Frame | None:
    """What lies on the table now, as far as the person sees it."""
    if sitting.over:
        drawn = frames(sitting.table.episode())
        return drawn[-1] if drawn else None
    asked = [Turn(sitting.ask, Reply(""))] if sitting.ask else []
    seats = tuple(Seat(role) for role in sitting.game.roles)
    turns = (*sitting.table.turns, *asked)
    drawn = frames(Episode(sitting.game.name, sitting.table.match.task, 0, turns, Outcome({}), seats))
    if not drawn:
        return None
    frame = drawn[len(sitting.table.turns)]
    if frame["kind"] == "cards":
        own = {seat: cards for seat, cards in frame["hands"].items() if seat == sitting.role}
        return {**frame, "hands": own}
    return frame


def _result(sitting: Sitting) -> dict[str, Any]:
    episode = sitting.table.episode()
    return {
        "scores": [
            [str(seat), f"{episode.outcome.scores[seat]:+g}", seat.role == sitting.role] for seat in episode.seats
        ],
        "facts": [[str(name), str(fact)] for name, fact in episode.outcome.facts.items()],
        "task": episode.task.id,
        "seed": str(episode.seed),
    }
