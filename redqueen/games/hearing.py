"""Who hears what is said in a talk: as the game states it, or as what seats are shown later tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redqueen.protocols import Game, StatesHearers, has
from redqueen.types import Episode, Seat, Turn


def stated_hearers(game: Game) -> Mapping[str, Sequence[str]]:
    """By role who hears it, as the game states it; empty where it does not."""
    return game.heard_by if has(game, StatesHearers) else {}


def spoken_to(role: str, roles: Sequence[str], stated: Mapping[str, Sequence[str]]) -> str:
    """Who hears a role, by roles alone, as the game states it and whoever sits there: "to all", "to buyer alone", "in
    secret"; "" where it does not state it."""
    if role not in stated:
        return ""
    others = [other for other in roles if other != role]
    heard = [other for other in others if other in stated[role]]
    if not heard:
        return f"to {role}" if role in stated[role] else "in secret"
    if len(heard) == len(others):
        return f"to {heard[0] if len(heard) == 1 else 'all'}"
    return f"to {' and '.join(heard)} alone"


def addressed(episode: Episode, stated: Mapping[str, Sequence[str]]) -> list[str]:
    """For each turn who speaks to whom: "buyer to all", "adviser to buyer alone", "voter in secret"; the seat alone
    where that is not known. Where a role is not `stated`, another seat has heard a reply in free text if a message that
    it is later shown holds it, and one of listed replies if a message of the speaker says it."""
    return [_line(place, episode, stated) for place in range(len(episode.turns))]


def _line(place: int, episode: Episode, stated: Mapping[str, Sequence[str]]) -> str:
    speaker = episode.turns[place].ask.seat
    others = [seat for seat in episode.seats if seat != speaker]
    if speaker.role in stated:
        heard = [seat for seat in others if seat.role in stated[speaker.role]]
    elif not (heard := _shown_later(place, episode, others)):
        return str(speaker)
    if not heard:
        return f"{speaker} in secret"
    if len(heard) == len(others):
        return f"{speaker} to {heard[0] if len(heard) == 1 else 'all'}"
    return f"{speaker} to {' and '.join(map(str, heard))} alone"


def _shown_later(place: int, episode: Episode, others: Sequence[Seat]) -> list[Seat]:
    turn = episode.turns[place]
    said, text = str(turn.ask.seat), turn.reply.text.strip()
    shown = {
        later.ask.seat
        for later in episode.turns[place + 1 :]
        for message in later.ask.messages
        if text and ((message.speaker == said and message.text.strip() == text) or _tells(message.text, turn))
    }
    return [seat for seat in others if seat in shown]


def _tells(shown: str, turn: Turn) -> bool:
    """Whether a text that another seat is shown holds what was said in free text, by more than a word."""
    text = turn.reply.text.strip()
    return not turn.ask.choices and len(text.split()) > 1 and text in shown
