"""What a person may see of their game, as JSON: before the end nothing but what their seat was told.

The walls are made of what is read here, not of what is left out: messages come from asks of the person's own seat,
boards are drawn with the hands of its role, and the task, the seed and the turns of others wait for the end (in a
game of perfect information the others' moves lie open anyway).
"""

from __future__ import annotations

import shlex
from typing import Any

from redqueen.games.boards import Frame, frames
from redqueen.games.hearing import addressed, spoken_to, stated_hearers
from redqueen.markup import signed, speaker_line
from redqueen.players.human import new_messages, numbered
from redqueen.types import Ask, Episode, Message, Outcome, Reply, Seat, Turn
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
        "moves": _moves(sitting),
        "ask": None if ask is None else _asked(ask, sitting),
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
    if ask.seat == sitting.seat:  # a policy reads what the seat was told, whoever plays the seat
        ask = Ask(ask.seat, ask.messages, ask.choices, (), ask.seed, ask.stops)
    found = sitting.opponent().probabilities(ask)
    return [[choice, round(float(chance), 6)] for choice, chance in zip(ask.choices, found, strict=True)]


def again(spec: str, opponent: str, role: str, seed: int) -> str:
    """The command that deals the same game at the keyboard."""
    return shlex.join(["redqueen", "play", spec, "--against", opponent, "--role", role, "--seed", str(seed)])


def _asked(ask: Ask, sitting: Sitting) -> dict[str, Any]:
    return {
        "seat": str(ask.seat),
        "heard": _heard(ask.seat.role, sitting),
        "messages": _messages(ask, sitting),
        "choices": list(ask.choices),
        "numbered": numbered(ask.choices),
    }


def _heard(role: str, sitting: Sitting) -> str:
    """Who hears a role, as the game states it: nothing of this match, so that it may be said before the end."""
    return spoken_to(role, sitting.game.roles, stated_hearers(sitting.game))


def _messages(ask: Ask, sitting: Sitting) -> list[list[str]]:
    """[[who speaks, with who else heard it, text], ...]"""
    return [[_speaker(message, sitting), message.text] for message in new_messages(ask)]


def _speaker(message: Message, sitting: Sitting) -> str:
    heard = _heard(message.speaker, sitting)
    return f"{speaker_line(message)} {heard}" if heard else speaker_line(message)


def _moves(sitting: Sitting) -> list[dict[str, Any]]:
    """The moves that the person may see; who heard each is read from the whole talk once it is over, and from what the
    game states before."""
    turns = sitting.turns()
    lines = [f"{turn.ask.seat} {_heard(turn.ask.seat.role, sitting)}".rstrip() for turn in turns]
    if sitting.over:
        lines = addressed(sitting.table.episode(), stated_hearers(sitting.game))
    return [_move(turn, line, sitting) for turn, line in zip(turns, lines, strict=True)]


def _move(turn: Turn, line: str, sitting: Sitting) -> dict[str, Any]:
    yours = turn.ask.seat == sitting.seat
    return {
        "seat": str(turn.ask.seat),
        "line": line,
        "yours": yours,
        "shown": _messages(turn.ask, sitting) if yours or sitting.over else [],
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
        "scores": [[str(seat), signed(episode.outcome.scores[seat]), seat == sitting.seat] for seat in episode.seats],
        "facts": [[str(name), str(fact)] for name, fact in episode.outcome.facts.items()],
        "task": episode.task.id,
        "seed": str(episode.seed),
    }
