"""An endpoint whose probabilities are read from the log-probabilities of its first tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from redqueen.players.endpoint import Server
from redqueen.types import Ask, Reply


@dataclass
class Rated:
    """A player by what begins its replies: a choice has the mass of the likeliest first tokens that begin it, of all
    choices' (`Server.rate_choices`). Where none of these begins a choice, all are taken to be equally likely, and the
    ask is counted in `silent`."""

    server: Server
    silent: list[Ask] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.server.name

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return self.server.reply(asks)

    def probabilities(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        found = self.server.rate_choices(asks)
        self.silent += [ask for ask, row in zip(asks, found, strict=True) if np.isnan(row).any()]
        return [np.full(len(row), 1.0 / len(row)) if np.isnan(row).any() else row for row in found]
