"""Tries a person's reply on a copy of the game, so that a typing error does not lose it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace

from redqueen.play.table import Table
from redqueen.protocols import Game
from redqueen.types import Ask, Match, Reply

PLAIN = "The game does not take that as a legal reply."


def objection(table: Table, heard: Sequence[Sequence[Reply]], replies: Sequence[Reply], ask: Ask) -> str:
    """The game's objection to the seat's reply in this round; "" if the reply breaks no rule.

    `heard` are the replies of all rounds so far and `replies` those to the present asks of the table, which is left
    as it is. The words are those with which the game asks again when it gives second chances.
    """
    match = table.match
    outcome = _continued(table, match, heard, replies).outcome
    if outcome is None or outcome.facts.get("forfeit") != str(ask.seat):
        return ""
    lenient = _with_another_chance(match.game)
    if lenient is None:
        return PLAIN
    again = _continued(table, replace(match, game=lenient), heard, replies).asks
    return next((_new_words(ask, other) for other in again if other.seat == ask.seat), PLAIN)


def _continued(table: Table, match: Match, heard: Sequence[Sequence[Reply]], replies: Sequence[Reply]) -> Table:
    copy = Table(match, table.seed)
    for each in (*heard, replies):
        copy.hear(each)
    return copy


def _with_another_chance(game: Game) -> Game | None:
    """The same game with one more retry; None for a game without retries."""
    if not is_dataclass(game) or "retries" not in {field.name for field in fields(game) if field.init}:
        return None
    lenient: Game = replace(game, retries=game.retries + 1)
    return lenient


def _new_words(before: Ask, after: Ask) -> str:
    """The end of the last message, without what the seat was told before."""
    told, known = after.messages[-1].text, before.messages[-1].text
    return told.removeprefix(known).strip() or PLAIN
