"""Playing many matches without rounds: a match goes on as soon as its own asks are answered.

A player that can stream (a language model in free text) is asked through its stream, so the replies of one match
do not wait for the longest of another; any other player answers at once. Seeds are those of `lockstep`, so the
episodes are the same as in rounds, up to rounding that depends on what is computed in one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from redqueen.chance import derive
from redqueen.play.lockstep import answers
from redqueen.play.table import Table
from redqueen.protocols import Player, Stream, StreamingPlayer, has
from redqueen.types import Ask, Episode, Match, RedQueenError, Reply


def play(matches: Sequence[Match], rng: Random, at_once: int = 64) -> list[Episode]:
    """The episodes of the matches, in their order. At most `at_once` are being played at a time; a match without a
    seed gets one from `rng`."""
    if at_once < 1:
        raise RedQueenError(f"at least one match must be played at once, not {at_once}")
    base = rng.getrandbits(64)
    streams: dict[int, _Desk] = {}
    going: dict[int, Table] = {}
    done: dict[int, Table] = {}
    upcoming = iter(enumerate(matches))

    def go_on(number: int, table: Table) -> None:
        table.turn_away()
        if table.outcome is not None:
            done[number] = going.pop(number)
        _ask(table, number, streams, at_once)

    while len(done) < len(matches):
        while len(going) < at_once and (following := next(upcoming, None)) is not None:
            number, match = following
            going[number] = Table(match, derive(base, number) if match.seed is None else match.seed)
            go_on(number, going[number])
        for desk in list(streams.values()):
            for number, table in desk.answer():
                go_on(number, table)
        for number, table in list(going.items()):
            if not table.asks:  # its game waits
                table.hear([])
                go_on(number, table)
    return [done[number].episode() for number in range(len(matches))]


class _Waiting:
    """A table with open asks."""

    def __init__(self, table: Table, number: int) -> None:
        self.table, self.number = table, number
        self.replies: list[Reply | None] = [None] * len(table.asks)


class _Desk:
    """The open asks of one player, and their tables."""

    def __init__(self, player: Player, rows: int) -> None:
        self._stream: Stream = player.stream(rows) if has(player, StreamingPlayer) else _AtOnce(player)
        self._asked: dict[int, tuple[_Waiting, int]] = {}

    def put(self, ask: Ask, waiting: _Waiting, place: int) -> None:
        (number,) = self._stream.put([ask])
        self._asked[number] = (waiting, place)

    def answer(self) -> list[tuple[int, Table]]:
        """Takes the finished replies; returns the tables that now have a reply to each of their asks."""
        complete = []
        for number, reply in self._stream.get():
            waiting, place = self._asked.pop(number)
            waiting.replies[place] = reply
            replies = [each for each in waiting.replies if each is not None]
            if len(replies) == len(waiting.replies):
                waiting.table.hear(replies)
                complete.append((waiting.number, waiting.table))
        return complete


class _AtOnce:
    """The stream of a player that answers at once."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._asks: list[Ask] = []
        self._answered = 0

    def put(self, asks: Sequence[Ask]) -> list[int]:
        first = self._answered + len(self._asks)
        self._asks += asks
        return list(range(first, first + len(asks)))

    def get(self) -> list[tuple[int, Reply]]:
        asks, self._asks = self._asks, []
        replies = answers(self._player, asks) if asks else []
        first, self._answered = self._answered, self._answered + len(asks)
        return list(enumerate(replies, first))


def _ask(table: Table, number: int, desks: dict[int, _Desk], rows: int) -> None:
    """Passes the asks of a table to the players."""
    waiting = _Waiting(table, number)
    for place, ask in enumerate(table.asks):
        player = table.match.cast[ask.seat.role]
        desk = desks.get(id(player))
        if desk is None:
            desk = desks[id(player)] = _Desk(player, rows)
        desk.put(ask, waiting, place)
