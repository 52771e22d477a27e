"""A game that a program plays: it asks the seats whenever it likes, in its own words, and says how it went.

    program     What is 7 x 6? Draft an answer.      ->  agent   40, or 42?
    program     Check this draft: 40, or 42?         ->  agent   42
    program     1.0

The program runs beside the play, in a thread or a process of its own: agent scripts, environments of others that call a
model, agents that come over HTTP (`redqueen.guests`). Many programs are at work at once, and what they ask meanwhile
is answered together.

A seat may hold several conversations at once. What is asked belongs to the one that it goes on with: whose messages
it repeats unchanged, the seat's own replies among them. A program that changes a message begins another branch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from math import isfinite
from random import Random
from threading import Condition, Thread
from typing import Any, Protocol

from redqueen.games.talk import check_window, left_out, recent
from redqueen.protocols import Play
from redqueen.texts import before_stop
from redqueen.types import Ask, Episode, Message, NotRead, Outcome, RedQueenError, Reply, Seat, Task, Turn

MOMENT = 0.005  # seconds that a play waits for its program before it lets others go on
Scores = float | Mapping[str, float] | Outcome  # of the only seat, by role, or all there is to say


class MatchOver(Exception):
    """What a program is told that asks when its match is over, or its calls are used up."""


class Program(Protocol):
    """What plays a match of `Programmed`."""

    @property
    def name(self) -> str: ...
    @property
    def roles(self) -> tuple[str, ...]: ...
    def tasks(self) -> Sequence[Task]: ...
    def held_out(self) -> Sequence[Task]: ...
    def begin(self, task: Task, desk: Desk) -> None:
        """Begins to play and returns at once. `desk.end` or `desk.fail` is called when it is over."""


@dataclass(frozen=True)
class Wish:
    """A call of a program for a reply of a seat."""

    seat: Seat
    messages: tuple[Message, ...]
    stops: tuple[str, ...]
    said: Future[Reply] = field(default_factory=Future)


class Desk:
    """What the program of one match asks, and what it is told. May be used from several threads. After `calls` calls
    no more are taken."""

    def __init__(self, roles: Sequence[str], seed: int, calls: int) -> None:
        self.seats = {role: Seat(role) for role in roles}
        self.seed = seed  # for the program's own chance
        self._calls = calls
        self._wishes: list[Wish] = []
        self._taken: list[Wish] = []
        self._noted: dict[str, Any] = {}
        self._ended: Outcome | None = None
        self._closed = ""  # why nothing more is taken
        self.over = False  # whether nobody plays on
        self._changed = Condition()

    def ask(self, role: str, messages: Sequence[Message], stops: Sequence[str] = ()) -> Future[Reply]:
        """The reply of a role, once it is there. Raises MatchOver, and RedQueenError for a role that is none or a
        conversation that does not end with somebody else's words."""
        return self.asks(role, messages, stops, 1)[0]

    def asks(self, role: str, messages: Sequence[Message], stops: Sequence[str], count: int) -> list[Future[Reply]]:
        """`count` replies to one ask, all or none, as `ask`. Raises RedQueenError where fewer calls are left."""
        if role not in self.seats:
            raise RedQueenError(f"there is no seat {role!r}: the seats are {', '.join(self.seats)}")
        seat = self.seats[role]
        if not messages or messages[-1].speaker == str(seat):
            why = "not with its own words" if messages else "and this one is empty"
            raise RedQueenError(f"a conversation ends with what the seat is to answer, {why}")
        wishes = [Wish(seat, tuple(messages), tuple(stops)) for _ in range(count)]
        with self._changed:
            if not self._closed and not self._calls:
                self._closed = "the calls of this match are used up"
            if self._closed:
                raise MatchOver(self._closed)
            if count > self._calls:
                raise RedQueenError(f"{count} replies are asked for, and {self._calls} calls of this match are left")
            self._calls -= count
            self._wishes += wishes
            self._changed.notify()
        return [wish.said for wish in wishes]

    def put_back(self, wishes: Sequence[Wish]) -> None:
        """Takes these again first."""
        with self._changed:
            self._wishes = [*wishes, *self._wishes]

    def end(self, scores: Scores, facts: Mapping[str, Any] | None = None) -> None:
        """The match is over with these scores: of the only seat, by role, or an outcome. Raises RedQueenError for
        scores of other roles."""
        self._end(_outcome(scores, tuple(self.seats.values()), facts or {}))

    def fail(self, reason: str) -> None:
        """The match is over, and nobody knows how well it went."""
        self._end(Outcome(dict.fromkeys(self.seats.values(), 0.0), {"reason": reason, "right": None}))

    def take(self, seconds: float) -> list[Wish]:
        """What has been asked, at most once of each seat, after at most so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._wishes or self._ended, seconds)
            first = {wish.seat: wish for wish in reversed(self._wishes)}  # the oldest of each seat
            found = [wish for wish in self._wishes if first[wish.seat] is wish]
            self._wishes = [wish for wish in self._wishes if first[wish.seat] is not wish]
            self._taken = found
            return found

    def note(self, fact: str, value: Any) -> None:
        """Adds a fact to the outcome."""
        with self._changed:
            self._noted[fact] = value

    @property
    def noted(self) -> dict[str, Any]:
        with self._changed:
            return dict(self._noted)

    @property
    def ended(self) -> Outcome | None:
        return self._ended

    def close(self) -> None:
        """Tells everybody who still waits that the match is over."""
        with self._changed:
            self.over, self._closed = True, self._closed or "the match is over"
            wishes, self._wishes = [*self._taken, *self._wishes], []
        for wish in wishes:
            if not wish.said.done():
                wish.said.set_exception(MatchOver(self._closed))

    def _end(self, outcome: Outcome) -> None:
        with self._changed:
            if self._ended is None:
                self._ended = outcome
            self._closed = self._closed or "the match is over"
            self._changed.notify()


@dataclass(frozen=True)
class Programmed:
    """The matches that a program plays.

    Scores are those that the program says; where it fails, takes longer than `seconds` or says NaN, the verdict is
    unknown and nothing is learned. At most `calls` replies are given in a match. `same` is what two texts of a seat
    have in common that count as one: what it said, and what the program says that it said. With a `window` a seat is
    shown the last turns of a conversation alone, whatever the program repeats, and is told how many are left out.
    A call whose prompt the player cannot read is refused with the reason, and the match goes on.

    Facts: `right`, None, where the verdict is unknown, and the `reason` where a match failed; `conversations`, how many
    were begun; `turns_left_out`, how many turns were left out of the prompt that lacks most, where one does;
    `turned_away`, how many calls had a prompt that the player could not read, where there were any; and those of the
    program.
    """

    program: Program = field(repr=False)
    calls: int = 64
    seconds: float = 600.0
    same: Callable[[str], Hashable] = field(default=str.strip, repr=False)
    window: int = 0  # turns of a conversation that are shown; 0 is all
    waits = True

    def __post_init__(self) -> None:
        if self.calls < 1 or not self.seconds > 0:
            raise RedQueenError(f"a program needs at least one call and some seconds, not {self.calls}, {self.seconds}")
        check_window(self.window)

    @property
    def name(self) -> str:
        return self.program.name

    @property
    def roles(self) -> tuple[str, ...]:
        return self.program.roles

    def tasks(self) -> Sequence[Task]:
        return self.program.tasks()

    def held_out(self) -> Sequence[Task]:
        return self.program.held_out()

    def play(self, task: Task, rng: Random) -> Play:
        desk = Desk(self.roles, rng.getrandbits(48), self.calls)
        said = {seat: Conversations(seat, self.same) for seat in desk.seats.values()}
        until = time.monotonic() + self.seconds
        turned_away = 0
        try:
            self.program.begin(task, desk)
            yield []  # the other matches begin as well
            while True:
                wishes = desk.take(MOMENT)
                if wishes:
                    asks = [said[wish.seat].placed(wish) for wish in wishes]
                    shown = [replace(each, messages=recent(each.messages, each.seat, self.window)) for each in asks]
                    try:
                        replies = yield shown
                    except NotRead as error:
                        turned_away += len(error.reasons)
                        for place, reason in error.reasons.items():
                            wishes[place].said.set_exception(RedQueenError(reason))
                        desk.put_back([wish for place, wish in enumerate(wishes) if place not in error.reasons])
                        continue
                    for wish, ask, reply in zip(wishes, asks, replies, strict=True):
                        said[wish.seat].hear(ask, reply)
                        wish.said.set_result(reply)
                elif desk.ended is not None:
                    break
                elif time.monotonic() > until:
                    desk.fail(f"it took longer than {self.seconds:g} s")
                else:
                    yield []
        finally:
            desk.close()
        told = {
            "conversations": sum(each.begun for each in said.values()),
            **left_out(max(each.longest for each in said.values()), self.window),
            **({"turned_away": turned_away} if turned_away else {}),
        }
        return Outcome(desk.ended.scores, {**told, **desk.ended.facts, **desk.noted})


def as_recorded(episode: Episode) -> Programmed:
    """The game of a recorded episode of `Programmed`, whose program asks what was asked and says what it said then: for
    replays without the program."""
    return Programmed(_Recorded(episode), calls=max(len(episode.turns), 1))


@dataclass(frozen=True)
class _Recorded:
    """A program that says again what it said in an episode."""

    episode: Episode = field(repr=False)

    @property
    def name(self) -> str:
        return self.episode.game

    @property
    def roles(self) -> tuple[str, ...]:
        return tuple(seat.role for seat in self.episode.seats)

    def tasks(self) -> Sequence[Task]:
        return (self.episode.task,)

    def held_out(self) -> Sequence[Task]:
        return (self.episode.task,)

    def begin(self, task: Task, desk: Desk) -> None:
        def play() -> None:
            for turn in self.episode.turns:
                desk.ask(turn.ask.seat.role, turn.ask.messages, turn.ask.stops).result()
            desk.end(self.episode.outcome)

        Thread(target=play, name=self.name, daemon=True).start()


class Conversations:
    """What one seat was asked and said in a match, as a tree: a turn goes on with the one whose messages and reply it
    repeats, a reply also without the stop that ended it and what stands behind."""

    def __init__(self, seat: Seat, same: Callable[[str], Hashable] = str.strip) -> None:
        self.begun = 0
        self.longest = 0  # turns before an ask
        self._seat = seat
        self._same = same
        self._turns: list[Turn] = []
        self._told: dict[str, set[str]] = {}  # of replies that a stop ended, what stands before it

    def placed(self, wish: Wish) -> Ask:
        """The ask, with the turns that it goes on with; the seat's own words in it are exactly those that it said."""
        shared = [(self._shared(turn, wish.messages), turn) for turn in self._turns]
        known, before = max(shared, key=lambda each: each[0], default=(0, None))
        if before is None or not known:
            return Ask(wish.seat, wish.messages, stops=wish.stops, continues=())
        said = Message(str(self._seat), before.reply.text)
        messages = (*before.ask.messages, said, *wish.messages[known:])
        return Ask(wish.seat, messages, stops=wish.stops, continues=(*(before.ask.continues or ()), before))

    def hear(self, ask: Ask, reply: Reply) -> None:
        self.begun += not ask.continues
        self.longest = max(self.longest, len(ask.continues or ()))
        self._turns.append(Turn(ask, reply))
        told, stop = before_stop(reply.text, ask.stops)
        if stop:
            self._told.setdefault(reply.text, set()).add(told)

    def _shared(self, turn: Turn, messages: Sequence[Message]) -> int:
        """How many of the messages are those of the turn, its reply among them; 0 if it is no beginning of them."""
        told = (*turn.ask.messages, Message(str(self._seat), turn.reply.text))
        agree = len(messages) > len(told) and all(map(self._agree, told, messages))
        return len(told) if agree else 0

    def _agree(self, one: Message, other: Message) -> bool:
        own = one.speaker == other.speaker == str(self._seat)
        if one == other or not own:
            return one == other
        return any(self._same(text) == self._same(other.text) for text in (one.text, *self._told.get(one.text, ())))


def _outcome(scores: Scores, seats: Sequence[Seat], facts: Mapping[str, Any]) -> Outcome:
    if isinstance(scores, Outcome):
        return _outcome({str(seat): score for seat, score in scores.scores.items()}, seats, {**scores.facts, **facts})
    if isinstance(scores, Mapping):
        if set(scores) != {seat.role for seat in seats}:
            raise RedQueenError(
                f"each seat gets one score: the seats are {', '.join(map(str, seats))}, and scored are "
                f"{', '.join(map(str, scores)) or 'none'}"
            )
        found = {seat: scores[seat.role] for seat in seats}
    elif len(seats) == 1:
        found = {seats[0]: scores}
    else:
        raise RedQueenError(f"{len(seats)} seats need a score each, by role, not {scores!r:.80} alone")
    if not all(isinstance(score, int | float) for score in found.values()):
        raise RedQueenError(f"a score is a number, not {scores!r:.80}")
    if all(map(isfinite, found.values())):
        return Outcome({seat: float(score) for seat, score in found.items()}, dict(facts))
    return Outcome(dict.fromkeys(found, 0.0), {**facts, "right": None})
