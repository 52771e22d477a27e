"""One match in progress: it takes the asks of its game and passes the replies to it.

A table derives the randomness of the game and of every reply from the match's seed, and keeps each
seat's turns, so that a player can continue its own tokens instead of encoding them again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Any

from redqueen.chance import derive
from redqueen.protocols import Game, MayNotRead, Play, Waits, has
from redqueen.types import Ask, Episode, Match, Message, NotRead, Outcome, RedQueenError, Reply, Seat, Turn

MAX_TURNS = 10_000  # a match longer than this does not end
ROUNDING = 1e-6  # of a sum of scores


_TOLD: list[Callable[[Episode], None]] = []  # of this process, the innermost last


@contextmanager
def told_of_episodes(take: Callable[[Episode], None]) -> Iterator[None]:
    """Passes every episode that is finished meanwhile to `take`, and to nobody outside of this block."""
    _TOLD.append(take)
    try:
        yield
    finally:
        _TOLD.remove(take)


def tell(episode: Episode) -> Episode:
    """The episode, of which those who wait for finished ones are told."""
    for each in _TOLD[-1:]:
        each(episode)
    return episode


def waits(game: Game) -> bool:
    """Whether a game may have nothing to ask yet."""
    return has(game, Waits) and game.waits


class DoesNotEnd(RedQueenError):
    """A game went on asking."""


class Table:
    """A match in progress. While `outcome` is None, `asks` are open; none are while its game waits for a program
    (`Waits`), and `hear([])` looks again."""

    def __init__(self, match: Match, seed: int, max_turns: int = MAX_TURNS, rng: Random | None = None) -> None:
        self.match = match
        self.seed = seed
        self.turns: list[Turn] = []
        self.asks: list[Ask] = []
        self.outcome: Outcome | None = None
        self._max_turns = max_turns
        self._past: dict[Seat, tuple[Turn, ...]] = {}
        self._play = self._checked_play(match.game.play(match.task, rng or Random(derive(seed, "game"))))
        self._advance(lambda: next(self._play))

    def hear(self, replies: Sequence[Reply]) -> None:
        """Takes one reply to each of `asks`, in their order, and continues to the next asks."""
        for ask, reply in zip(self.asks, replies, strict=True):
            if type(reply) is not Reply or type(reply.text) is not str:
                given = f"a text that is {reply.text!r:.80}" if type(reply) is Reply else f"{reply!r:.80}"
                raise RedQueenError(
                    f"player {self.match.cast[ask.seat.role].name!r} must answer with a Reply whose text is a "
                    f"string, not with {given}"
                )
            turn = Turn(ask, reply)
            self.turns.append(turn)
            self._past[ask.seat] = (*self._past.get(ask.seat, ()), turn)
        if len(self.turns) > self._max_turns:
            raise DoesNotEnd(
                f"{self.match.game.name} does not end: it asked {self._max_turns} times in one match, and its play() "
                "must return an Outcome"
            )
        sent = list(replies)
        self._advance(lambda: self._play.send(sent))

    def turn_away(self) -> None:
        """Tells a game that waits for a program which of `asks` a player cannot read, so that the program can ask
        less, until none of them is. Any other game is asked in vain: its player says so to the user."""
        while waits(self.match.game) and (reasons := self._unreadable()):
            self._advance(partial(self._play.throw, NotRead(reasons)))

    def _unreadable(self) -> dict[int, str]:
        """Why players cannot read those of `asks` that they cannot, by their places."""
        reasons = {}
        for place, ask in enumerate(self.asks):
            player = self.match.cast[ask.seat.role]
            if has(player, MayNotRead) and (reason := player.unreadable(ask)):
                reasons[place] = reason
        return reasons

    def episode(self) -> Episode:
        """The record of the finished match, of which those who wait for it are told."""
        return tell(self.record())

    def record(self) -> Episode:
        """The record of the finished match."""
        assert self.outcome is not None, "the match is not over"
        game, seats = self.match.game, tuple(self.outcome.scores)
        spoken = {turn.ask.seat for turn in self.turns}
        silent = tuple((seat, self._name(seat)) for seat in seats if seat not in spoken)
        return Episode(game.name, self.match.task, self.seed, tuple(self.turns), self.outcome, seats, silent)

    def _name(self, seat: Seat) -> str:
        """Of the player that holds a seat."""
        return str(getattr(self.match.cast.get(seat.role), "name", ""))

    def _advance(self, step: Any) -> None:
        try:
            asks = step()
        except StopIteration as stop:
            self.asks, self.outcome = [], self._checked_outcome(stop.value)
            return
        self.asks = [self._seated(ask) for ask in self._checked_asks(asks)]

    def _seated(self, ask: Ask) -> Ask:
        spoken = self._past.get(ask.seat, ())
        seed = derive(self.seed, ask.seat.role, ask.seat.number, len(spoken))
        past = spoken if ask.continues is None else ask.continues
        return Ask(ask.seat, ask.messages, ask.choices, past, seed, ask.stops)

    def _checked_play(self, play: object) -> Play:
        if not isinstance(play, Generator):
            raise RedQueenError(
                f"game {self.match.game.name!r} must yield its asks: play() is to be a generator, not to return "
                f"{play!r:.80}"
            )
        return play

    def _checked_asks(self, asks: object) -> list[Ask]:
        game = self.match.game
        if asks == [] and waits(game):
            return []
        if not isinstance(asks, list) or not asks or not all(isinstance(ask, Ask) for ask in asks):
            raise RedQueenError(f"game {game.name!r} must yield a list of Ask objects, not {asks!r:.80}")
        for ask in asks:
            if ask.seat.role not in self.match.cast:
                raise RedQueenError(
                    f"game {game.name!r} asks the seat {ask.seat}, but its roles are {', '.join(self.match.cast)}"
                )
            if not _all_of(ask.messages, Message) or not ask.messages:
                raise RedQueenError(
                    f"game {game.name!r} must show the seat {ask.seat} a tuple of Message objects, not "
                    f"{ask.messages!r:.80}"
                )
            if not _all_of(ask.choices, str):
                raise RedQueenError(
                    f"game {game.name!r} must list the choices of {ask.seat} as a tuple of strings, not "
                    f"{ask.choices!r:.80}"
                )
        return asks

    def _checked_outcome(self, outcome: object) -> Outcome:
        if not isinstance(outcome, Outcome):
            raise RedQueenError(
                f"game {self.match.game.name!r} must return an Outcome from play(), not {outcome!r:.80}"
            )
        silent = next((turn.ask.seat for turn in self.turns if turn.ask.seat not in outcome.scores), None)
        if silent is not None:
            raise RedQueenError(
                f"game {self.match.game.name!r} let the seat {silent} speak but gave it no score in its Outcome"
            )
        try:
            total = sum(outcome.scores.values())
        except TypeError:
            raise RedQueenError(
                f"game {self.match.game.name!r} must score each seat with a number, not {outcome.scores!r:.80}"
            ) from None
        if getattr(self.match.game, "zero_sum", False) is True and abs(total) > ROUNDING:
            raise RedQueenError(
                f"game {self.match.game.name!r} says zero_sum, and its scores sum to {total:g}: make them sum to 0, or "
                "leave zero_sum out"
            )
        return outcome


def _all_of(items: object, kind: type) -> bool:
    return isinstance(items, tuple) and all(isinstance(item, kind) for item in items)
