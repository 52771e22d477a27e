"""The learner's opponents: itself, a fixed player, or a pool of its past selves. For a league, see `league`.

A pool is restored after its learner: past selves are frozen copies of the learner with their own state.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from redqueen.chance import pick
from redqueen.opponents.payoffs import Payoffs
from redqueen.opponents.rules import Forgetting, Weighting, hard, oldest
from redqueen.protocols import Player, Policy, State, shaped
from redqueen.types import Episode, RedQueenError


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
    """Always the same player, which does not learn."""

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

    Uniform over all past selves this is fictitious self-play (Heinrich et al., 2015); with `latest` only that many of
    the newest are drawn. With probability `current` the opponent is the learner itself. Beyond `capacity` the
    oldest self is dropped.
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
        check_frozen(player, self.learner)
        if len(self.players) == self.capacity:
            del self.players[0]
        self.players.append(player)

    def observe(self, episodes: Sequence[Episode]) -> None:
        pass

    def state(self) -> State:
        return {"players": saved(self.players)}

    def restore(self, state: State) -> None:
        shaped(state, {"players": list}, "the pool: ")
        self.players = rebuilt(self.learner, state["players"])


class Prioritized:
    """Past selves drawn by the learner's win rates against them: prioritised fictitious self-play
    (Vinyals et al., 2019, AlphaStar).

    A past self is drawn in proportion to `weighting(p)`, where p is the learner's win rate against it in `Payoffs`
    (a draw counts half). `forgetting` chooses the one that is dropped beyond `capacity`.
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
        if forgetting is not None and capacity is None:
            raise RedQueenError("a rule for forgetting has no effect without a capacity: set one")
        self.learner = learner
        self.weighting = weighting or hard()
        self.capacity = capacity
        self.forgetting = forgetting or oldest
        self.current = current
        self.players: list[Policy] = [learner.freeze()]  # oldest first
        self._payoffs = Payoffs(decay)

    def win_rate(self, name: str) -> float:
        """The learner's share of wins against this past self."""
        return self._payoffs.win_rate(self.learner.name, name)

    def chances(self) -> list[float]:
        """The probability of each of `players`, given that a past self is drawn."""
        return chances([self.weighting(self.win_rate(player.name)) for player in self.players])

    def draw(self, rng: Random) -> Player:
        if self.current > 0.0 and rng.random() < self.current:
            return self.learner
        return self.players[pick(self.chances(), rng.random())]

    def add(self, player: Policy) -> None:
        """Takes in a past self: `pool.add(learner.freeze())`."""
        check_frozen(player, self.learner)
        if len(self.players) == self.capacity:
            names = [player.name for player in self.players]
            del self.players[self.forgetting(self._payoffs.matrix(names, [self.learner.name, *names]))]
            self._payoffs.keep([self.learner.name, *(player.name for player in self.players)])
        self.players.append(player)

    def observe(self, episodes: Sequence[Episode]) -> None:
        """Counts the results of the learner and its past selves against one another; other players are ignored."""
        learner = self.learner.name
        self._payoffs.observe(episodes, {learner, *(player.name for player in self.players)}, {learner})

    def state(self) -> State:
        return {"players": saved(self.players), "payoffs": self._payoffs.state()}

    def restore(self, state: State) -> None:
        shaped(state, {"players": list, "payoffs": dict}, "the pool: ")
        self.players = rebuilt(self.learner, state["players"])
        self._payoffs.restore(state["payoffs"])


def chances(weights: Sequence[float]) -> list[float]:
    """Probabilities in proportion to `weights`; uniform if all are 0."""
    total = sum(weights)
    return [weight / total for weight in weights] if total > 0.0 else [1.0 / len(weights)] * len(weights)


def _check(capacity: int | None, current: float) -> None:
    if capacity is not None and capacity < 1:
        raise RedQueenError(f"a pool needs a capacity of at least 1, not {capacity}")
    if not 0.0 <= current < 1.0:
        raise RedQueenError(f"current must be at least 0 and below 1, not {current}: for 1, use Mirror")


def check_frozen(player: Policy, learner: Policy) -> None:
    if player is learner:
        raise RedQueenError("a pool keeps past selves: add learner.freeze(), not the learner, which goes on changing")


def saved(players: Sequence[Policy]) -> list[dict[str, Any]]:
    return [{"name": player.name, "state": player.state()} for player in players]


def rebuilt(learner: Policy, saved: Sequence[State]) -> list[Policy]:
    """The past selves with the states `saved`, each a frozen copy of `learner` with its state restored."""
    shaped(list(saved), [{"name": str, "state": dict}], "the past selves: ")
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
