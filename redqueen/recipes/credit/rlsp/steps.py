"""What RLSP pays for searching (2502.06773)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from redqueen.credit.rewards import spoken_turns
from redqueen.types import Episode, RedQueenError, Seat


@dataclass(frozen=True)
class Exploration:
    """-price / max(tokens, least) on the last turn of each seat, of all tokens that it said, its thoughts among them.

    Raises RedQueenError for a price above `least` times the `gap` between what right and wrong answers earn: a long
    wrong answer would then be paid more than a short right one.
    """

    price: float
    least: int
    gap: float = 1.0

    def __post_init__(self) -> None:
        if self.price > self.least * self.gap:
            enough = self.price / self.gap
            raise RedQueenError(
                f"--price {self.price:g} pays a long wrong answer more than a right one below {enough:g} tokens: set "
                f"--least to {enough:g} or more, not {self.least}"
            )

    def __call__(self, episode: Episode) -> dict[Seat, np.ndarray]:
        found = {}
        for seat, turns in spoken_turns(episode).items():
            tokens = sum(len(turn.reply.tokens) for turn in turns)
            found[seat] = np.zeros(len(turns))
            found[seat][-1] = -self.price / max(tokens, self.least)
        return found
