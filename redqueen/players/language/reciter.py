"""A player that says a given text in the learner's own tokens: demonstrations to imitate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from redqueen.protocols import Player, has
from redqueen.types import Ask, RedQueenError, Reply


class Reader(Protocol):
    """A player that can turn a given text into a reply of its own; `in_format` is a demonstrated text as the role that
    is asked says it, where `answer` is what a whole reply comes to."""

    @property
    def name(self) -> str: ...
    def recite(self, ask: Ask, text: str) -> Reply: ...
    def in_format(self, ask: Ask, text: str, answer: str = "") -> str: ...


def reader(player: Player) -> Reader:
    """The player as a `Reader`. Raises RedQueenError if it has no `recite`."""
    if not has(player, Reader):
        raise RedQueenError(
            f"{player.name} cannot recite a given text: it has no recite(ask, text) and in_format(ask, text)"
        )
    return player


@dataclass(frozen=True)
class Reciter:
    """Always says `text` as if the learner had: its tokens are the learner's own, and are learned."""

    learner: Reader
    text: str

    @property
    def name(self) -> str:
        return self.learner.name

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self.learner.recite(ask, self.text) for ask in asks]


@dataclass(frozen=True)
class Demonstrating:
    """Says what a demonstration shows as if the learner had, in the answer format of its role: `text` is the answer
    itself, or a whole reply that comes to `answer`."""

    learner: Reader
    text: str
    answer: str = ""

    @property
    def name(self) -> str:
        return self.learner.name

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self.learner.recite(ask, self.learner.in_format(ask, self.text, self.answer)) for ask in asks]
