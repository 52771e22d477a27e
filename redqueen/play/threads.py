"""Asking slow players in threads, so that nobody else waits for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Condition, Thread

from redqueen.play.lockstep import answers
from redqueen.protocols import Player
from redqueen.types import Ask, Reply


@dataclass(frozen=True, eq=False)
class Question:
    """What a player is asked, and who is told the reply."""

    player: Player
    ask: Ask
    tell: Callable[[Reply], None]


def tell(questions: Sequence[Question], replies: Sequence[Reply]) -> None:
    for question, reply in zip(questions, replies, strict=True):
        question.tell(reply)


class Threads:
    """At most `at_once` threads, which end when there is nothing to ask.

    A thread that is free takes its share of what waits for one player: all of it where it is the only free one, so that
    a player is asked in few and large parts, and yet every thread has something to do.
    """

    def __init__(self, at_once: int) -> None:
        self.used = False
        self._at_once = at_once
        self._threads: list[Thread] = []
        self._working = 0  # threads that have not come to their end
        self._free = 0  # those among them that are about to take a share
        self._waiting: list[Question] = []  # oldest first
        self._said: list[tuple[list[Question], list[Reply]]] = []
        self._error: BaseException | None = None
        self._changed = Condition()

    def put(self, questions: Sequence[Question]) -> None:
        """Has them asked after those that wait."""
        with self._changed:
            self.used = True
            self._waiting += questions
            new = [
                Thread(target=self._work, name="slow player", daemon=True)
                for _ in range(min(self._at_once - self._working, len(questions)))
            ]
            self._working += len(new)
            self._free += len(new)
            self._threads = [thread for thread in self._threads if thread.is_alive()] + new
        for thread in new:
            thread.start()

    def take(self) -> None:
        """Tells what has been said since. Raises the error of a player."""
        with self._changed:
            said, self._said = self._said, []
            if self._error is not None:
                raise self._error
        for questions, replies in said:
            tell(questions, replies)

    def wait(self) -> float:
        """Until there is something to take; the seconds that it took."""
        began = time.perf_counter()
        with self._changed:
            assert self._working or self._said or self._error, "nobody is asked anything, and yet a match goes on"
            self._changed.wait_for(lambda: self._said or self._error)
        return time.perf_counter() - began

    def close(self) -> None:
        """Drops what waits, and ends the threads, which takes as long as the replies that are under way."""
        with self._changed:
            self._waiting = []
        for thread in self._threads:
            thread.join()
        self._said, self._error = [], None

    def _work(self) -> None:
        """In a thread."""
        while part := self._share():
            try:
                replies = answers(part[0].player, [question.ask for question in part])
            except BaseException as error:  # it is raised where the episodes are wanted
                with self._changed:
                    self._error, self._waiting = error, []
                    self._working -= 1
                    self._changed.notify()
                return
            with self._changed:
                self._said.append((part, replies))
                self._free += 1
                self._changed.notify()

    def _share(self) -> list[Question]:
        with self._changed:
            same = [question for question in self._waiting if question.player is self._waiting[0].player]
            part = same[: -(-len(same) // self._free)]
            taken = set(map(id, part))
            self._waiting = [question for question in self._waiting if id(question) not in taken]
            self._free -= 1
            self._working -= not part  # in the same breath as it saw that nothing waits
            return part
