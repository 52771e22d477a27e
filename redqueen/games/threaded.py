"""A game whose matches each run in a thread of their own, so that a slow tool or world holds up its own match alone.

    match 1   ask -> agent  ...  its query runs for 5 ms  ...  ask -> agent
    match 2   ask -> agent  ...  its search takes a second  ..........................  ask -> agent
    match 3   ask -> agent  ...

All steps of a match are run in the same thread, so that what a visit holds (a connection to a database, a browser) is
used by one thread. Which matches are answered together depends on how fast their tools are; what is asked and how a
match ends do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from random import Random
from threading import Semaphore, Thread
from typing import Literal

from redqueen.games.catalogue import find_game
from redqueen.protocols import HoldsOut, KnowsHow, Play, has
from redqueen.types import Ask, Outcome, RedQueenError, Reply, Task

MOMENT = 0.005  # seconds that a play waits for its step before it lets others go on


@dataclass(frozen=True)
class Threaded:
    """The same game, at most `at_once` of whose matches step at a time. Its records are those of the game itself."""

    game: HoldsOut = field(repr=False)
    at_once: int = 8
    waits = True
    _free: Semaphore = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.at_once < 1:
            raise RedQueenError(f"games in threads step 1 or more at once, not {self.at_once}")
        object.__setattr__(self, "_free", Semaphore(self.at_once))

    @property
    def name(self) -> str:
        return self.game.name

    @property
    def roles(self) -> tuple[str, ...]:
        return self.game.roles

    def tasks(self) -> Sequence[Task]:
        return self.game.tasks()

    def held_out(self) -> Sequence[Task]:
        return self.game.held_out()

    def expert(self, task: Task) -> tuple[str, ...]:
        if not has(self.game, KnowsHow):
            raise RedQueenError(f"the game {self.name} shows nobody how its tasks are done: it has no expert(task)")
        return self.game.expert(task)

    def play(self, task: Task, rng: Random) -> Play:
        steps = _Steps(self.game.play(task, rng), self._free, f"match of {self.name}")
        try:
            steps.ask(None)
            while True:
                yield []  # the other matches go on
                found = steps.found()
                if isinstance(found, _Over):
                    return found.outcome
                if found is not None:
                    steps.ask((yield found))
        finally:
            steps.close()


@dataclass(frozen=True)
class _Over:
    outcome: Outcome


class _Steps:
    """The steps of one match in a thread of its own. The thread holds on to nothing of this object: whoever drops a
    match, and be it the collector of garbage in the midst of anything, waits for nobody."""

    def __init__(self, play: Play, free: Semaphore, name: str) -> None:
        self._wanted: SimpleQueue[_Wanted] = SimpleQueue()
        self._found: SimpleQueue[_Found] = SimpleQueue()
        Thread(target=_steps, args=(play, free, self._wanted, self._found), name=name, daemon=True).start()

    def ask(self, replies: list[Reply] | None) -> None:
        """Has the match go on with these replies."""
        self._wanted.put(replies)

    def found(self) -> list[Ask] | _Over | None:
        """What came of it; None where that takes longer than a moment. Raises what the match raised."""
        try:
            found = self._found.get(timeout=MOMENT)
        except Empty:
            return None
        if isinstance(found, BaseException):
            raise found
        return found

    def close(self) -> None:
        """Has the match closed by its thread, once its step is over."""
        self._wanted.put("close")


_Wanted = list[Reply] | Literal["close"] | None
_Found = list[Ask] | _Over | BaseException


def _steps(play: Play, free: Semaphore, wanted: SimpleQueue[_Wanted], found: SimpleQueue[_Found]) -> None:
    while (replies := wanted.get()) != "close":
        with free:
            try:
                found.put(play.send(replies))  # type: ignore[arg-type]  # None begins it
            except StopIteration as stop:
                found.put(_Over(stop.value))
            except BaseException as error:  # raised again by who waits
                found.put(error)
    play.close()


def threaded(game: str, at_once: int = 8) -> Threaded:
    """The game that `game` names, with its matches in threads: "threaded:working:sql"."""
    found = find_game(game)
    if not has(found, HoldsOut):
        raise RedQueenError(f"the game {found.name} holds no tasks out: games in a world do, such as working:sql")
    return Threaded(found, at_once)
