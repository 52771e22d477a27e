"""Whom the learner plays: itself, a fixed player, or a pool of its past selves.

A pool is restored after its learner, of which its past selves are frozen copies given their own state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from redqueen.chance import pick
from redqueen.protocols import Player, Policy, State
from redqueen.types import Episode, RedQueenError

Weighting = Callable[[float], float]
"""How much a past self is wanted as an opponent, given the learner's win rate against it, in [0, 1]."""

Forgetting = Callable[[Sequence[float]], int]
"""Which past self leaves a full pool: an index into the learner's win rates, oldest self first."""


class Mirror:
    """Always the learner as it is now."""

    def __init__(self, learner: Player) -> None:
        self.learner = learner

    def draw(self, rng: Random) -> Player:
        return self.learner

    def add(self, player: Policy) -> None:
        raise RedQueenError(f"a mirror holds only {self.learner.name!r} itself: use Snapshots to keep {player.name!r}")

    def observe(self, episodes: Sequence[Episode]) -> None:
        pass

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        pass


class Fixed:
    """Always the same player, who does not learn."""

    def __init__(self, player: Player) -> None:
        self.player = player

    def draw(self, rng: Random) -> Player:
        return self.player

    def add(self, player: Policy) -> None:
        raise RedQueenError(f"the opponent is fixed to {self.player.name!r}: use Snapshots to keep {player.name!r}")

    def observe(self, episodes: Sequence[Episode]) -> None:
        pass

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        pass


class Snapshots:
    """Past selves, all equally likely; the first is the learner as it was when the pool was made.

    Uniform over all of the past this is fictitious self-play (Heinrich et al., 2015); `latest` keeps to the
    youngest so many. With probability `current` the opponent is the learner itself. Beyond `capacity`
    the oldest self is forgotten.
    """

    def __init__(
        self, learner: Policy, capacity: int | None = None, latest: int | None = None, current: float = 0.0
    ) -> None:
        _check(capacity, current)
        if latest is not None and (latest < 1 or (capacity is not None and latest > capacity)):
            raise RedQueenError(f"latest must be between 1 and the capacity, {capacity}, not {latest}")
        self.learner = learner
        self.capacity = capacity
        self.latest = latest
        self.current = current
        self.players: list[Policy] = [learner.freeze()]  # oldest first

    def draw(self, rng: Random) -> Player:
        if self.current > 0.0 and rng.random() < self.current:
            return self.learner
        first = 0 if self.latest is None else max(0, len(self.players) - self.latest)
        return self.players[rng.randrange(first, len(self.players))]

    def add(self, player: Policy) -> None:
        """Takes in a past self: `pool.add(learner.freeze())`."""
        _check_frozen(player, self.learner)
        if len(self.players) == self.capacity:
            del self.players[0]
        self.players.append(player)

    def observe(self, episodes: Sequence[Episode]) -> None:
        pass

    def state(self) -> State:
        return {"players": _saved(self.players)}

    def restore(self, state: State) -> None:
        self.players = _rebuilt(self.learner, state["players"])


class Prioritized:
    """Past selves drawn by how the learner fares against them: prioritised fictitious self-play
    (Vinyals et al., 2019, AlphaStar).

    A self is drawn in proportion to `weighting(p)`, where p is the learner's win rate against it, draws counting
    half. Every self starts as if one match against it had been drawn. Before each `observe` the
    old results are multiplied by `decay`, since they are those of a learner that has since changed.
    """

    def __init__(
        self,
        learner: Policy,
        weighting: Weighting | None = None,  # hard() where None
        capacity: int | None = None,
        forgetting: Forgetting | None = None,  # oldest where None
        current: float = 0.0,
        decay: float = 1.0,
    ) -> None:
        _check(capacity, current)
        if not 0.0 <= decay <= 1.0:
            raise RedQueenError(f"decay must be between 0 and 1, not {decay}")
        if forgetting is not None and capacity is None:
            raise RedQueenError("a rule for forgetting has no effect without a capacity: set one")
        self.learner = learner
        self.weighting = weighting or hard()
        self.capacity = capacity
        self.forgetting = forgetting or oldest
        self.current = current
        self.decay = decay
        self.players: list[Policy] = [learner.freeze()]  # oldest first
        self._won: dict[str, float] = {}  # by name, draws counting half
        self._played: dict[str, float] = {}

    def win_rate(self, name: str) -> float:
        """The learner's share of wins against this past self."""
        return (self._won.get(name, 0.0) + 0.5) / (self._played.get(name, 0.0) + 1.0)

    def chances(self) -> list[float]:
        """How likely each of `players` is, given that a past self is drawn. Uniform where nobody is wanted."""
        weights = [self.weighting(self.win_rate(player.name)) for player in self.players]
        total = sum(weights)
        if total <= 0.0:
            return [1.0 / len(weights)] * len(weights)
        return [weight / total for weight in weights]

    def draw(self, rng: Random) -> Player:
        if self.current > 0.0 and rng.random() < self.current:
            return self.learner
        return self.players[pick(self.chances(), rng.random())]

    def add(self, player: Policy) -> None:
        """Takes in a past self: `pool.add(learner.freeze())`."""
        _check_frozen(player, self.learner)
        if len(self.players) == self.capacity:
            del self.players[self.forgetting([self.win_rate(player.name) for player in self.players])]
            known = {player.name for player in self.players}
            self._won = {name: won for name, won in self._won.items() if name in known}
            self._played = {name: played for name, played in self._played.items() if name in known}
        self.players.append(player)

    def observe(self, episodes: Sequence[Episode]) -> None:
        """Counts the learner's results against each past self; episodes without both are passed over."""
        for name in self._played:
            self._won[name] *= self.decay
            self._played[name] *= self.decay
        names = {player.name for player in self.players}
        for episode in episodes:
            scores = mean_scores(episode)
            if self.learner.name not in scores:
                continue
            for name in scores.keys() & names:
                margin = scores[self.learner.name] - scores[name]
                won = 1.0 if margin > 0.0 else 0.5 if margin == 0.0 else 0.0
                self._won[name] = self._won.get(name, 0.0) + won
                self._played[name] = self._played.get(name, 0.0) + 1.0

    def state(self) -> State:
        return {"players": _saved(self.players), "won": dict(self._won), "played": dict(self._played)}

    def restore(self, state: State) -> None:
        self.players = _rebuilt(self.learner, state["players"])
        self._won, self._played = dict(state["won"]), dict(state["played"])


def hard(power: float = 2.0) -> Weighting:
    """(1 - p)^power: those the learner loses to."""
    return lambda win_rate: (1.0 - win_rate) ** power


def even(power: float = 1.0) -> Weighting:
    """(p (1 - p))^power: those about as strong as the learner."""
    return lambda win_rate: (win_rate * (1.0 - win_rate)) ** power


def oldest(win_rates: Sequence[float]) -> int:
    """The self that has been there longest."""
    return 0


def most_beaten(win_rates: Sequence[float]) -> int:
    """The self that the learner beats most often; of equals the oldest."""
    return max(range(len(win_rates)), key=lambda index: win_rates[index])


def mean_scores(episode: Episode) -> dict[str, float]:
    """The mean score over the seats of each player who spoke, by name."""
    speakers = {turn.ask.seat: turn.reply.player for turn in episode.turns}
    scores: dict[str, list[float]] = {}
    for seat in episode.seats:
        if seat in speakers:
            scores.setdefault(speakers[seat], []).append(episode.outcome.scores[seat])
    return {name: sum(values) / len(values) for name, values in scores.items()}


def _check(capacity: int | None, current: float) -> None:
    if capacity is not None and capacity < 1:
        raise RedQueenError(f"a pool needs a capacity of at least 1, not {capacity}")
    if not 0.0 <= current < 1.0:
        raise RedQueenError(f"current must be at least 0 and below 1, not {current}: for 1, use Mirror")


def _check_frozen(player: Policy, learner: Policy) -> None:
    if player is learner:
        raise RedQueenError("a pool keeps past selves: add learner.freeze(), not the learner, which goes on changing")


def _saved(players: Sequence[Policy]) -> list[dict[str, Any]]:
    return [{"name": player.name, "state": player.state()} for player in players]


def _rebuilt(learner: Policy, saved: Sequence[State]) -> list[Policy]:
    """Past selves from their states, each a frozen copy of the learner that is given its own."""
    players = []
    for record in saved:
        player = learner.freeze()
        player.restore(record["state"])
        if player.name != record["name"]:
            raise RedQueenError(
                f"the pool's {record['name']!r} was restored as {player.name!r}: another learner wrote it"
            )
        players.append(player)
    return players
