"""One person at a table: whose turn it is, what was entered, and what the others reply.

    say ──▶ is it legal? ──▶ the table hears it ──▶ the others reply ──▶ ... until the person is asked again

A reply that is not legal changes nothing. A player that fails changes nothing either: it can be asked again.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from threading import Lock

from redqueen.play.table import Table
from redqueen.players.human import complaint, meant
from redqueen.protocols import Game, Player, StatesInformation, has
from redqueen.types import Ask, Match, RedQueenError, Reply, Seat, Task, Turn
from redqueen.views.serve.menu import Opponent
from redqueen.views.serve.refusals import Declined
from redqueen.views.serve.trial_move import objection

PERSON = "person"
LONGEST_ENTRY = 4000  # characters
# what is said of a failure is said in the terminal: its words may hold what the person's seat must not see
SILENT = "The opponent failed to reply. The terminal of redqueen serve says why; you can ask it again."
BROKEN = "The game broke off with an error. The terminal of redqueen serve says why."


class Sitting:
    """See the module. The person holds one seat of the role, the first of it that is asked. `opponent` finds the player
    that takes all others; `rules` is held while a game computes: some games keep to the generators of the process and
    must not run beside each other."""

    def __init__(
        self, game: Game, task: Task, seed: int, role: str, opponent: Callable[[], Opponent], rules: Lock
    ) -> None:
        self.game = game
        self.role = role
        self.opponent = opponent
        self.lock = Lock()  # one request of a sitting at a time
        self.trouble = ""
        self._rules = rules
        self._heard: list[list[Reply]] = []  # the rounds so far
        self._others: list[Reply] = []  # of this round, to the asks of other seats
        self._mine: list[Reply] = []  # of this round
        cast: dict[str, Player] = {each: _Seated() for each in game.roles}
        with rules:
            self.table = Table(Match(game, task, cast, seed), seed)

    @property
    def over(self) -> bool:
        return self.table.outcome is not None

    @property
    def seat(self) -> Seat | None:
        """The person's; None before any seat of the role was asked."""
        asks = (*(turn.ask for turn in self.table.turns), *self.table.asks)
        return next((ask.seat for ask in asks if ask.seat.role == self.role), None)

    @property
    def ask(self) -> Ask | None:
        """What the person must answer now."""
        own = [ask for ask in self.table.asks if ask.seat == self.seat]
        ready = not self.trouble and len(self._others) == len(self.table.asks) - len(own)
        return own[len(self._mine)] if ready and len(self._mine) < len(own) else None

    @property
    def entries(self) -> int:
        """How many replies of the person were taken: a request names it, so that none is taken twice."""
        return sum(turn.ask.seat == self.seat for turn in self.table.turns) + len(self._mine)

    def turns(self) -> list[Turn]:
        """Those that the person may see: their own, all of a game without secrets, and in the end all."""
        public = self.over or (has(self.game, StatesInformation) and self.game.perfect_information)
        return [turn for turn in self.table.turns if public or turn.ask.seat == self.seat]

    def say(self, entry: str, entries: int) -> None:
        """Takes what the person entered and plays on. Raises Declined, with the reason in words, for an entry that is
        not legal or answers an earlier ask."""
        ask = self.ask
        if ask is None or entries != self.entries:
            raise Declined("the game has gone on since: look at the board again", 409)
        reply = Reply(_legible(entry, ask.choices), PERSON)
        replies = self._round([*self._mine, reply])
        if replies is not None and not ask.choices:
            with self._rules:
                wrong = objection(self.table, self._heard, replies, ask)
            if wrong:
                raise Declined(wrong)
        self._mine.append(reply)
        self.go_on()

    def go_on(self) -> None:
        """Plays until the person is asked or the game is over. What fails on the way is told to the terminal, and
        `trouble` says that it did."""
        if self.trouble == BROKEN:
            return
        self.trouble = ""
        while not self.over and not self.trouble and self.ask is None:
            replies = self._round(self._mine)
            if replies is None:
                self._ask_others()
            else:
                self._hear(replies)

    def _ask_others(self) -> None:
        asks = [ask for ask in self.table.asks if ask.seat != self.seat]
        try:
            replies = self.opponent().reply(asks)
            if len(replies) != len(asks):
                raise RedQueenError(f"{len(replies)} replies came to {len(asks)} asks")
            self._others = replies
        except Exception as error:  # whatever it is, the person's game can wait for it to be put right
            _tell(error)
            self.trouble = SILENT

    def _hear(self, replies: Sequence[Reply]) -> None:
        try:
            with self._rules:
                self.table.hear(replies)
        except Exception as error:  # the games of other people go on
            _tell(error)
            self.trouble = BROKEN
            return
        self._heard.append(list(replies))
        self._others, self._mine = [], []

    def _round(self, mine: Sequence[Reply]) -> list[Reply] | None:
        """One reply to each of the table's asks, in their order; None while some are missing."""
        if len(mine) + len(self._others) < len(self.table.asks):
            return None
        own, others = iter(mine), iter(self._others)
        return [next(own if ask.seat == self.seat else others) for ask in self.table.asks]


class _Seated:
    """Holds a seat at a table whose replies come from outside."""

    name = "a player"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        raise AssertionError("the sitting asks its players itself")


def _legible(entry: str, choices: Sequence[str]) -> str:
    """What the entry says. Raises Declined where it says nothing."""
    if len(entry) > LONGEST_ENTRY:
        raise Declined(f"That is too long: {len(entry):,} characters, where {LONGEST_ENTRY:,} are taken.")
    if any("\ud800" <= sign <= "\udfff" for sign in entry):
        raise Declined("That holds half a character: please write it anew.")
    said = meant(entry, choices)
    if said is None:
        raise Declined(complaint(entry, choices))
    return said


def _tell(error: Exception) -> None:
    if isinstance(error, RedQueenError):
        print(f"redqueen: {error}", file=sys.stderr)
    else:
        traceback.print_exception(error)
