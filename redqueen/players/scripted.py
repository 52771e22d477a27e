"""Players that follow a fixed rule: baselines, opponents, demonstrations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from redqueen.chance import pick, uniform
from redqueen.types import Ask, RedQueenError, Reply, Strategy


@dataclass(frozen=True)
class Uniform:
    """A uniformly random legal reply."""

    name: str = "uniform"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return _drawn(self.name, asks, self.probabilities(asks))

    def probabilities(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        return [np.full(count, 1.0 / count) for count in (_choices(self.name, ask) for ask in asks)]


@dataclass(frozen=True)
class FirstChoice:
    """Always the first legal reply."""

    name: str = "first_choice"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return _drawn(self.name, asks, self.probabilities(asks))

    def probabilities(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        return [np.eye(_choices(self.name, ask))[0] for ask in asks]


@dataclass(frozen=True)
class Constant:
    """Always the same text, legal or not."""

    text: str
    name: str = "constant"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self.text, self.name) for _ in asks]

    def probabilities(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        """[K] for each ask, all on the text. Raises RedQueenError if it is not among the legal replies."""
        return [_certain(self.name, ask, self.text) for ask in asks]


@dataclass(frozen=True)
class Scripted:
    """Says the n-th of `replies` at a seat's n-th turn, legal or not, in each match separately."""

    replies: tuple[str, ...]
    name: str = "scripted"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        """The replies of this turn. Raises RedQueenError if a seat has more turns than there are `replies`."""
        return [Reply(self._line(ask), self.name) for ask in asks]

    def probabilities(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        """[K] for each ask, all on the text. Raises RedQueenError if it is not among the legal replies."""
        return [_certain(self.name, ask, self._line(ask)) for ask in asks]

    def _line(self, ask: Ask) -> str:
        turn = len(ask.past)
        if turn >= len(self.replies):
            raise RedQueenError(f"player {self.name!r} has {len(self.replies)} replies, but {ask.seat} needs more")
        return self.replies[turn]


@dataclass(frozen=True)
class Strategic:
    """Plays a `Strategy`: equilibria, best responses, solved games."""

    strategy: Strategy
    name: str = "strategic"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return _drawn(self.name, asks, self.probabilities(asks))

    def probabilities(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        """[K] for each ask. Raises RedQueenError for an ask that the strategy does not list."""
        return [self._chances(ask) for ask in asks]

    def _chances(self, ask: Ask) -> np.ndarray:
        chances = self.strategy.get(ask)
        if chances is None:
            shown = ask.messages[-1].text[-60:]
            raise RedQueenError(
                f'the strategy of {self.name!r} does not cover what {ask.seat} is asked ("...{shown}"): '
                "it was made for another game or another wording"
            )
        return np.asarray(chances, dtype=np.float64)


def _drawn(name: str, asks: Sequence[Ask], chances: Sequence[np.ndarray]) -> list[Reply]:
    """One choice for each ask, drawn with the ask's seed."""
    return [
        Reply(ask.choices[pick(row.tolist(), uniform(ask.seed))], name) for ask, row in zip(asks, chances, strict=True)
    ]


def _choices(name: str, ask: Ask) -> int:
    """The number of legal replies. Raises RedQueenError if they are not listed."""
    if not ask.choices:
        raise RedQueenError(f"player {name!r} needs listed choices, but {ask.seat} is asked for free text")
    return len(ask.choices)


def _certain(name: str, ask: Ask, text: str) -> np.ndarray:
    """[K] with all probability on the text."""
    _choices(name, ask)
    if text not in ask.choices:
        raise RedQueenError(f"player {name!r} says {text[:80]!r}, which is not one of: {', '.join(ask.choices)}")
    chances = np.zeros(len(ask.choices))
    chances[ask.choices.index(text)] = 1.0
    return chances
