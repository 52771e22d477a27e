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
    """An ask for a player, and the callback for its reply."""

    player: Player
    ask: Ask
    tell: Callable[[Reply], None]


def tell(questions: Sequence[Question], replies: Sequence[Reply]) -> None:
    for question, reply in zip(questions, replies, strict=True):
        question.tell(reply)


class Threads:
    """At most `at_once` threads, which end when there is nothing to ask.

    A free thread takes an equal share of the questions that wait for one player (all of them if it is the only free
    one), so that calls are few and large while every thread has work.
    """

    def __init__(self, at_once: int) -> None:
        self.used = False
        self._at_once = at_once
        self._threads: list[Thread] = []
        self._working = 0  # threads that have not ended
        self._free = 0  # of these, the threads about to take a share
        self._waiting: list[Question] = []  # oldest first
        self._said: list[tuple[list[Question], list[Reply]]] = []
        self._error: BaseException | None = None
        self._changed = Condition()

    def put(self, questions: Sequence[Question]) -> None:
        """Adds `questions` to the end of the queue."""
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
        """Passes the new replies to the callbacks. Raises the error of a player."""
        with self._changed:
            said, self._said = self._said, []
            if self._error is not None:
                raise self._error
        for questions, replies in said:
            tell(questions, replies)

    def wait(self) -> float:
        """Waits until there is something to take; returns the seconds waited."""
        began = time.perf_counter()
        with self._changed:
            assert self._working or self._said or self._error, "nobody is asked anything, and yet a match goes on"
            self._changed.wait_for(lambda: self._said or self._error)
        return time.perf_counter() - began

    def close(self) -> None:
        """Drops the waiting questions and ends the threads once their running calls return."""
        with self._changed:
            self._waiting = []
        for thread in self._threads:
            thread.join()
        self._said, self._error = [], None

    def _work(self) -> None:
        """The loop of one thread."""
        while part := self._share():
            try:
                replies = answers(part[0].player, [question.ask for question in part])
            except BaseException as error:  # raised again by `take`
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
            self._working -= not part  # under the same lock as the check that nothing waits
            return part
