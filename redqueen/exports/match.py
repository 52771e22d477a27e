"""A game for a trainer of others: one seat is theirs, and the exact exploitability of whoever learned it.

match = OneSeat(game, others=Uniform())
ask = match.begin(task, seed=7)
while ask is not None:
    ask = match.say(answer(ask))
match.score

Exact(game)(chances)["exploitability"]       chances(asks) gives the probabilities of each ask's legal replies
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import islice

import numpy as np

from redqueen.chance import derive
from redqueen.measures.exact.exploitability import GameTree
from redqueen.play.lockstep import answers
from redqueen.play.seating import dealt
from redqueen.play.table import Table, waits
from redqueen.players.scripted import Uniform
from redqueen.protocols import Game, Player
from redqueen.types import Ask, Match, Outcome, RedQueenError, Reply, Task

UNASKED = 1_000  # matches in a row
Chances = Callable[[Sequence[Ask]], Sequence[Sequence[float] | np.ndarray]]


class OneSeat:
    """Matches in which the role of one seat is played from outside, and all others by a player. Without a `role` each
    seed has one of its own, so that all are learned."""

    def __init__(self, game: Game, others: Player | None = None, role: str = "") -> None:
        if waits(game):
            raise RedQueenError(
                f"{game.name} runs a program that asks when it likes: it cannot be stepped from outside"
            )
        if role and role not in game.roles:
            raise RedQueenError(f"{game.name} has no role {role!r}: its roles are {', '.join(game.roles)}")
        self.game, self.others, self.score = game, others or Uniform(), 0.0
        self.outcome: Outcome | None = None
        self._role, self.role = role, role or game.roles[0]
        self._table: Table | None = None

    def begin(self, task: Task, seed: int) -> Ask | None:
        """The first ask of the seat that is played from outside; None where the match ends without one."""
        self.role = self._role or self.game.roles[derive(seed, "role") % len(self.game.roles)]
        self.outcome, self.score = None, 0.0
        self._table = Table(Match(self.game, task, dict.fromkeys(self.game.roles, self.others)), seed)
        return self._next()

    def begin_asked(self, seeds: Iterable[int]) -> Ask:
        """The first ask of the match of the first seed with one, since a match may end before the seat is asked. Raises
        RedQueenError after so many that did."""
        for seed in islice(seeds, UNASKED):
            ask = self.begin(dealt(self.game, seed), seed)
            if ask is not None:
                return ask
        raise RedQueenError(
            f"{UNASKED} matches of {self.game.name} ended before the {self._role or 'seat'} was asked anything: "
            f"{self.others.name}, who has the other seats, never lets play come there"
        )

    def say(self, text: str) -> Ask | None:
        """The next ask after a reply; None where the match is over: `score` and `outcome` say how it ended. Raises
        RedQueenError where nothing is asked."""
        table = self._table
        if table is None or table.outcome is not None:
            raise RedQueenError(f"nothing is asked in {self.game.name}: begin a match first")
        mine = next(ask for ask in table.asks if ask.seat.role == self.role)
        self._hear(table, mine, text)
        return self._next()

    def _next(self) -> Ask | None:
        table = self._table
        assert table is not None, "a match has begun"
        while table.outcome is None:
            mine = next((ask for ask in table.asks if ask.seat.role == self.role), None)
            if mine is not None:
                return mine
            table.hear(answers(self.others, table.asks))
        self.outcome = table.outcome
        self.score = next(score for seat, score in table.outcome.scores.items() if seat.role == self.role)
        return None

    def _hear(self, table: Table, mine: Ask, text: str) -> None:
        said = iter(answers(self.others, [ask for ask in table.asks if ask is not mine]))
        table.hear([Reply(text) if ask is mine else next(said) for ask in table.asks])


def lists_replies(game: Game) -> bool:
    """Whether whoever is asked first in a match is shown the legal replies."""
    match = Match(game, dealt(game, 0), dict.fromkeys(game.roles, Uniform()))
    return all(ask.choices for ask in Table(match, 0).asks)


def shown(ask: Ask) -> str:
    """What an ask shows, in one text: who said what, and the legal replies."""
    own = str(ask.seat)
    lines = [f"You: {each.text}" if each.speaker == own else each.text for each in ask.messages]
    return "\n".join([*lines, *([f"Reply with one of: {', '.join(ask.choices)}"] if ask.choices else [])])


class Exact:
    """How far a player is from an equilibrium of a game, where its histories can be listed."""

    def __init__(self, game: Game) -> None:
        self._game = game

    @cached_property
    def tree(self) -> GameTree:
        """Raises RedQueenError for a game that has none."""
        return GameTree(self._game)

    def __call__(self, chances: Chances) -> dict[str, float]:
        """`exploitability` and `nash_conv` of a player, and `value`, what the first seat scores against itself.
        `chances` gives for each ask the probability of each of its choices."""
        rows = [np.asarray(row, dtype=np.float64) for row in chances(self.tree.states)]
        strategy = dict(zip(self.tree.states, rows, strict=True))
        conv = self.tree.nash_conv(strategy)
        value = float(self.tree.values(strategy)[0])
        return {"exploitability": conv / len(self.tree.seats), "nash_conv": conv, "value": value}
