"""Playing many matches in rounds: each round every player answers all of its asks in one call.

    match 1   ask -> first  ....  ask -> second  ....  outcome
    match 2   ask -> first  ....  ask -> second  ....  ask -> first  ....  outcome
              \\__ one reply() __/  \\__ one reply() __/

A player sees the asks of a round as one batch, so equal prompts can be computed once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from redqueen.chance import derive
from redqueen.play.table import Table, tell, waits
from redqueen.progress import stage
from redqueen.protocols import Game, HasHorizon, Player, has
from redqueen.types import Ask, Episode, Match, Message, RedQueenError, Reply

SETTLED = 0.05  # seconds in which no program has asked anything new


def play(matches: Sequence[Match], rng: Random) -> list[Episode]:
    """The episodes of the matches, in their order. A match without a seed gets one from `rng`."""
    return [tell(episode) for episode in finished(matches, rng.getrandbits(64))]


def finished(
    matches: Sequence[Match], base: int, parts: int = 1, ended: Callable[[Episode], None] | None = None
) -> list[Episode]:
    """The episodes of the matches, in their order, of which nobody has been told yet, but that `ended` is given each as
    soon as it is over. A match without a seed gets one from `base`. Of several `parts` one is answered while games of
    the others step elsewhere (`play.actors`)."""
    tables = [
        Table(match, derive(base, number) if match.seed is None else match.seed) for number, match in enumerate(matches)
    ]
    waiting = [_open(tables[part::parts]) for part in range(parts)]
    going = _told(tables, ended) if ended else []
    with stage("matches", len(tables)) as playing:
        while any(waiting):
            playing.done = len(tables) - sum(map(len, waiting))
            for part in filter(None, waiting):
                gather(part)
                for table in part:
                    table.turn_away()
                _round([table for table in part if table.asks])
            waiting = [_open(part) for part in waiting]
            going = _told(going, ended) if ended else []
    return [table.record() for table in tables]


def _told(tables: Sequence[Table], ended: Callable[[Episode], None]) -> list[Table]:
    """The tables that are open; those that are over are told."""
    for table in tables:
        if table.outcome is not None:
            ended(table.record())
    return _open(tables)


def _open(tables: Sequence[Table]) -> list[Table]:
    return [table for table in tables if table.outcome is None]


def seeded(matches: Sequence[Match], seed: int) -> list[Match]:
    """The matches with the seeds that `play` gives them from `Random(seed)`, so that they can be played with others."""
    base = Random(seed).getrandbits(64)
    return [replace(match, seed=derive(base, number)) for number, match in enumerate(matches)]


def gather(tables: Sequence[Table]) -> None:
    """Waits for the programs of games that wait (`Waits`), until each has asked something or is over; no longer than
    `SETTLED` after the last one did, so that a slow one does not hold up the others."""
    began = time.monotonic()
    while working := [table for table in tables if table.outcome is None and not table.asks]:
        for table in working:
            table.hear([])
        if any(table.asks or table.outcome is not None for table in working):
            began = time.monotonic()
        if len(working) < len(tables) and time.monotonic() - began > SETTLED:
            return


def _round(tables: Sequence[Table]) -> None:
    """Asks every player once for the replies of all its seats."""
    players: dict[int, Player] = {}
    questions: dict[int, list[Ask]] = {}
    order: list[list[int]] = []  # for each table, the player of each ask
    for table in tables:
        asked = []
        for ask in table.asks:
            player = table.match.cast[ask.seat.role]
            players.setdefault(id(player), player)
            questions.setdefault(id(player), []).append(ask)
            asked.append(id(player))
        order.append(asked)
    said = {key: iter(answers(players[key], asks)) for key, asks in questions.items()}
    for table, asked in zip(tables, order, strict=True):
        table.hear([next(said[key]) for key in asked])


def answers(player: Player, asks: Sequence[Ask]) -> list[Reply]:
    """The player's replies to `asks`. Raises RedQueenError if their number differs from that of the asks."""
    replies = player.reply(asks)
    if len(replies) != len(asks):
        raise RedQueenError(f"player {player.name!r} gave {len(replies)} replies to {len(asks)} asks")
    return replies


def check_ends(game: Game) -> None:
    """Plays one match, with random choices where there are any. Raises RedQueenError if it does not end. The match of a
    program is not played for that."""
    if waits(game):
        return
    for task in game.tasks()[:1]:
        table = Table(Match(game, task, {role: _Nobody() for role in game.roles}), 0)
        while table.outcome is None:
            table.hear([Reply(ask.choices[ask.seed % len(ask.choices)] if ask.choices else "") for ask in table.asks])


def replay(game: Game, episode: Episode) -> Episode:
    """The new record of an episode that is played again from its task, seed and replies. Raises RedQueenError at the
    first ask that differs from the record, which it names, and for a task that the game cannot play. Where the task
    states a horizon, the game is played within it. What a program asks at once may come in another order."""
    try:
        if "horizon" in episode.task.facts and has(game, HasHorizon):
            game = game.within(episode.task.facts["horizon"])
        return _replayed(game, episode)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        said = f"{type(error).__name__}: {error}"
        raise RedQueenError(f"{game.name!r} cannot play the task of the record, {episode.task.id!r}: {said}") from error


def _replayed(game: Game, episode: Episode) -> Episode:
    recorded = _Recorded(game, episode)
    table = Table(Match(game, episode.task, dict.fromkeys(game.roles, recorded)), episode.seed)
    while table.outcome is None:
        table.turn_away()
        table.hear(recorded.reply(table.asks))
    if recorded.left:
        raise RedQueenError(f"{game.name!r} ended at turn {recorded.number}, but the record goes on")
    return table.episode()


def _in_words(ask: Ask) -> Ask:
    """The ask as in records from before messages had parts."""
    return replace(ask, messages=tuple(Message(message.speaker, message.text) for message in ask.messages))


class _Nobody:
    """A placeholder player for a seat whose replies are fed in."""

    name = "nobody"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        raise AssertionError("the replies to these asks are fed in")


class _Recorded:
    """Says what was said in an episode, in its order; to a program in whatever order it asks. As many of its calls as
    were turned away then are turned away, where the record does not hold them."""

    name = "nobody"

    def __init__(self, game: Game, episode: Episode) -> None:
        self.left = list(episode.turns)
        self.number = 0  # of turns so far
        self._game, self._in_any_order = game, waits(game)
        self._turned_away = episode.outcome.facts.get("turned_away", 0)

    def unreadable(self, ask: Ask) -> str:
        if self._turned_away < 1 or self._place(ask) is not None:
            return ""
        self._turned_away -= 1
        return f"the prompt of {ask.seat} was longer than its model reads"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._said(ask) for ask in asks]

    def _said(self, ask: Ask) -> Reply:
        if not self.left:
            raise RedQueenError(f"the record ends at turn {self.number}, but {self._game.name!r} asks {ask.seat} again")
        place = self._place(ask)
        if place is None:
            raise RedQueenError(f"turn {self.number} of the record is not what {self._game.name!r} asks {ask.seat} now")
        self.number += 1
        return self.left.pop(place).reply

    def _place(self, ask: Ask) -> int | None:
        """Which of the turns that are left answers the ask."""
        known = self.left if self._in_any_order else self.left[:1]
        return next((place for place, turn in enumerate(known) if turn.ask in (ask, _in_words(ask))), None)
