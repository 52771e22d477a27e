"""A league (Vinyals et al., 2019, AlphaStar): a learner, its past selves, exploiters that train only to beat it, and
other players that do not learn.

    league = League(learner, exploiters, bots)
    league.draw(rng)                 an opponent for the learner
    league.against(exploiter)        the pool of an exploiter's opponents
    league.add(learner.freeze())     a past self; also one of an exploiter that is done

The learner meets itself with probability `current`, else any other member in proportion to `weighting(p)`; its win
rate p is taken from the payoff matrix of all matches so far or, with `by_rating`, predicted from ratings. An
exploiter meets the learner as it is now or, while its win rate is below `HOPELESS`, the learner's past selves that are
about as strong as it is. It is done once it wins `done_at` of its matches with the learner, or after
`patience` observations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

import numpy as np

from redqueen.chance import pick
from redqueen.opponents.payoffs import Payoffs
from redqueen.opponents.pools import chances, check_frozen, rebuilt, saved
from redqueen.opponents.rules import Forgetting, Weighting, even, hard, least_informative
from redqueen.protocols import COUNT, Player, Policy, State, shaped
from redqueen.types import Episode, Metrics, RedQueenError

ELO = 400.0 / np.log(10.0)  # points per unit of log-odds: 400 for a win rate of 10/11
HOPELESS = 0.1  # AlphaStar's exploiters turn to past selves below this win rate
Kind = Literal["learner", "past", "exploiter", "past exploiter", "fixed"]


@dataclass(frozen=True)
class Member:
    """A player of the league and its kind."""

    player: Player
    kind: Kind


class League:
    """See the module. Beyond `capacity` past selves (the learner's and those of exploiters), one leaves by the rule
    `forgetting`; its results stay in the matrix."""

    def __init__(
        self,
        learner: Policy,
        exploiters: Sequence[Policy] = (),
        fixed: Sequence[Player] = (),
        weighting: Weighting | None = None,  # hard() where None
        current: float = 0.5,
        capacity: int | None = None,
        forgetting: Forgetting = least_informative,
        by_rating: bool = False,
        decay: float = 0.95,
        done_at: float = 0.7,
        patience: int = 100,  # observations
    ) -> None:
        names = [player.name for player in (learner, *exploiters, *fixed)]
        if len(set(names)) < len(names):
            raise RedQueenError(f"players of a league need distinct names, not {', '.join(names)}")
        if capacity is not None and capacity < 1:
            raise RedQueenError(f"a league needs room for at least 1 past self, not {capacity}")
        if not 0.0 <= current <= 1.0 or not 0.0 < done_at <= 1.0 or patience < 1:
            raise RedQueenError("a league needs current from 0 to 1, done_at above 0 and at most 1, patience from 1")
        self.learner, self.exploiters, self.fixed = learner, tuple(exploiters), tuple(fixed)
        self.weighting, self.current, self.by_rating = weighting or hard(), current, by_rating
        self.capacity, self.forgetting = capacity, forgetting
        self.done_at, self.patience = done_at, patience
        self.payoffs = Payoffs(decay)
        self.past: dict[str, list[Policy]] = {each.name: [] for each in (learner, *exploiters)}
        self.past[learner.name].append(learner.freeze())
        self._order = [self.past[learner.name][0].name]  # of the past selves, oldest first
        self._worked = dict.fromkeys((each.name for each in exploiters), 0)  # observations since the start

    def members(self) -> list[Member]:
        """All members: the learner, the exploiters, the other players, the past selves in the order they were added."""
        owners: dict[str, Kind] = {self.learner.name: "past"}
        owners |= {each.name: "past exploiter" for each in self.exploiters}
        found = {player.name: Member(player, kind) for owner, kind in owners.items() for player in self.past[owner]}
        return [
            Member(self.learner, "learner"),
            *(Member(each, "exploiter") for each in self.exploiters),
            *(Member(each, "fixed") for each in self.fixed),
            *(found[name] for name in self._order),
        ]

    def names(self) -> list[str]:
        return [member.player.name for member in self.members()]

    # Opponents

    def draw(self, rng: Random) -> Player:
        """An opponent for the learner."""
        if rng.random() < self.current:
            return self.learner
        others = [member.player for member in self.members()[1:]]
        return others[pick(self.wanted(self.learner, others), rng.random())]

    def against(self, exploiter: Policy) -> Against:
        """The pool of `exploiter`'s opponents."""
        return Against(self, exploiter)

    def wanted(self, player: Player, others: Sequence[Player], weighting: Weighting | None = None) -> list[float]:
        """The probability of each of `others` as the opponent of `player`."""
        rates = self.win_rates(player, [other.name for other in others])
        return chances([(weighting or self.weighting)(float(rate)) for rate in rates])

    def win_rates(self, player: Player, others: Sequence[str]) -> np.ndarray:
        """[P] the win rates of `player` against `others`, from counts or, with `by_rating`, from ratings."""
        if not self.by_rating:
            return np.asarray(self.payoffs.matrix([player.name], others)[0])
        names = self.names()
        strengths = dict(zip(names, self.payoffs.strengths(names), strict=True))
        ahead = strengths[player.name] - np.array([strengths[other] for other in others])
        return np.asarray(1.0 / (1.0 + np.exp(-ahead)))

    # Results

    def observe(self, episodes: Sequence[Episode]) -> None:
        """Counts the results of all members against one another."""
        self.payoffs.observe(episodes, self.names(), {self.learner.name, *self._worked})
        self._worked = {name: count + 1 for name, count in self._worked.items()}

    def add(self, player: Policy) -> None:
        """Adds a past self of the learner or of an exploiter, whose count of observations then restarts at 0."""
        owner = player.name.partition("@")[0]
        for each in (self.learner, *self.exploiters):
            check_frozen(player, each)
        if owner not in self.past or player.name in self._order:
            known = ", ".join(self.past)
            raise RedQueenError(
                f"the league cannot take {player.name!r}: it keeps one past self per version of {known}"
            )
        if self.capacity is not None and len(self._order) == self.capacity:
            self._let_go(self.forgetting(self.payoffs.matrix(self._order, [self.learner.name, *self.names()[1:]])))
        self.past[owner].append(player)
        self._order.append(player.name)
        if owner in self._worked:
            self._worked[owner] = 0

    def done(self) -> list[Policy]:
        """The exploiters that win `done_at` of their matches with the learner, or have made `patience` observations."""
        return [
            each
            for each in self.exploiters
            if self._worked[each.name] >= self.patience
            or self.payoffs.win_rate(each.name, self.learner.name) >= self.done_at
        ]

    def begin_anew(self, exploiter: Policy) -> None:
        """Forgets the results of an exploiter whose weights were reset."""
        self.payoffs.drop(exploiter.name)

    def metrics(self) -> Metrics:
        """The learner's win rates against each kind of member, and against the hardest, the median and the easiest
        member; its rating minus the mean rating of its past selves."""
        members = self.members()[1:]
        rates = self.win_rates(self.learner, [member.player.name for member in members])
        kinds = {member.kind for member in members}
        by_kind = {kind: [r for r, member in zip(rates, members, strict=True) if member.kind == kind] for kind in kinds}
        names = [self.learner.name, *self._order]
        strengths = self.payoffs.strengths(names) * ELO
        return {
            **{f"win_rate/{kind.replace(' ', '_')}": float(np.mean(found)) for kind, found in sorted(by_kind.items())},
            "win_rate/hardest": float(rates.min()),
            "win_rate/median": float(np.median(rates)),
            "win_rate/easiest": float(rates.max()),
            "rating/over_past": float(strengths[0] - strengths[1:].mean()),
            "league/past": float(len(self._order)),
        }

    def table(self) -> dict[str, Any]:
        """The kind, rating and win rates of all members, for viewers: the strongest first; None for two that have not
        met."""
        members = self.members()
        names = [member.player.name for member in members]
        ratings = self.payoffs.strengths(names) * ELO
        order = [int(place) for place in np.argsort(-ratings, kind="stable")]
        return {
            "players": [names[place] for place in order],
            "kinds": [members[place].kind for place in order],
            "ratings": [float(ratings[place]) for place in order],
            "win_rates": [
                [self._counted(names[one], names[other]) if one != other else None for other in order] for one in order
            ],
        }

    def _counted(self, one: str, other: str) -> float | None:
        return self.payoffs.win_rate(one, other) if self.payoffs.played(one, other) >= 1.0 else None

    def state(self) -> State:
        return {
            "past": {owner: saved(players) for owner, players in self.past.items()},
            "order": list(self._order),
            "worked": dict(self._worked),
            "payoffs": self.payoffs.state(),
        }

    def restore(self, state: State) -> None:
        owners = {owner.name: list for owner in (self.learner, *self.exploiters)}
        shaped(state, {"past": owners, "order": [str], "worked": {...: COUNT}, "payoffs": dict}, "the league: ")
        for owner in (self.learner, *self.exploiters):
            self.past[owner.name] = rebuilt(owner, state["past"][owner.name])
        self._order, self._worked = list(state["order"]), dict(state["worked"])
        self.payoffs.restore(state["payoffs"])

    def _let_go(self, place: int) -> None:
        name = self._order.pop(place)
        for owner, players in self.past.items():
            self.past[owner] = [player for player in players if player.name != name]


class Against:
    """The opponents of an exploiter, as a pool to draw from; the league keeps all results."""

    def __init__(self, league: League, exploiter: Policy) -> None:
        self._league, self._exploiter = league, exploiter

    def draw(self, rng: Random) -> Player:
        league, learner = self._league, self._league.learner
        if league.payoffs.win_rate(self._exploiter.name, learner.name) >= HOPELESS or not league.past[learner.name]:
            return learner
        past = league.past[learner.name]
        return past[pick(league.wanted(self._exploiter, past, even()), rng.random())]
