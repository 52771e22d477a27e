"""Games for processes that step them: a module that is imported quickly."""

import os
import signal
import time
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock

from redqueen.types import Ask, Message, Outcome, RedQueenError, Seat, Task

SEAT = Seat("only")


class Once:
    """A game of one ask, which is made and answered by the functions of a class."""

    name = "once"
    roles = ("only",)

    def tasks(self):
        return [Task("1")]

    def play(self, task, rng):
        (reply,) = yield [self.ask(rng)]
        return Outcome({SEAT: float(len(reply.text))})

    def ask(self, rng):
        return Ask(SEAT, (Message("game", f"{rng.random()}"),), ("a", "bb"))


class OfThisProcess(Once):
    """A game that says which process steps it."""

    def ask(self, rng):
        return Ask(SEAT, (Message("game", str(os.getpid())),), ("a",))


class Fails(Once):
    def ask(self, rng):
        raise ZeroDivisionError("no such thing")


class Refuses(Once):
    def ask(self, rng):
        raise RedQueenError("this task has no board")


class Kills(Once):
    def ask(self, rng):
        os.kill(os.getpid(), signal.SIGKILL)


class Coloured(Once):
    """A game whose error holds what a terminal obeys."""

    def ask(self, rng):
        raise ValueError("\x1b[2Jcoloured\x07")


class Hangs(Once):
    """A game that never asks."""

    def ask(self, rng):
        while True:
            time.sleep(0.01)


class Deep(Once):
    """A game that is nested too deep to be sent."""

    def __init__(self):
        self.inner = ()
        for _ in range(100_000):
            self.inner = (self.inner,)


class Unreadable:
    """What can be written and not be read again."""

    def __reduce__(self):
        return int, ("no number",)


class Returns(Once):
    """A game that ends with what its process alone understands."""

    def play(self, task, rng):
        yield [self.ask(rng)]
        return Outcome({SEAT: 0.0}, {"found": Unreadable()})


class AsksNothing(Once):
    def play(self, task, rng):
        yield []


class Waiting(Once):
    waits = True


@dataclass(frozen=True)
class Locked(Once):
    lock: object = field(default_factory=Lock)


@dataclass(frozen=True)
class Found(Once):
    """A game that holds what only this process can hold, once it has looked."""

    @cached_property
    def held(self):
        return Lock()

    def ask(self, rng):
        assert self.held.acquire(blocking=False), "another process's"
        self.held.release()
        return Ask(SEAT, (Message("game", "?"),), ("a",))
