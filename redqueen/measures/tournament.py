"""Everyone against everyone: each deal is played in both seatings, so that neither seat nor luck decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from math import inf
from random import Random

import numpy as np

from redqueen.chance import derive
from redqueen.curricula.dealt import Enumerated
from redqueen.measures.intervals import Interval, student_interval
from redqueen.play.lockstep import play
from redqueen.play.seating import both_seatings
from redqueen.protocols import Game, Player
from redqueen.types import Episode, RedQueenError

ENOUGH_EQUAL = 6  # 2 * 0.5^6 < .05
HEADINGS = ("player", "matches", "score", "95 % interval", "won", "drawn", "lost", "forfeited", "given")


@dataclass(frozen=True)
class Tally:
    """How matches ended for one side. The five sorts of end add up to `matches`."""

    matches: int
    won: int
    drawn: int
    lost: int
    forfeited: int  # by this side
    given: int  # forfeited by the other side


@dataclass(frozen=True)
class Pairing:
    """How one player did against another. `score` is its mean over deals, each played in both seatings, and `margin`
    the mean of how much more it scored than the other; both with Student's t intervals."""

    player: str
    opponent: str
    score: Interval
    margin: Interval
    by_role: Mapping[str, float]  # the player's mean score in each role
    tally: Tally


@dataclass(frozen=True)
class Standing:
    """How one player did against all others, who count alike."""

    player: str
    score: Interval
    tally: Tally


@dataclass(frozen=True)
class Standings:
    """A finished tournament, the best mean score first."""

    game: str
    players: tuple[Standing, ...]
    pairings: tuple[Pairing, ...]  # every ordered pair
    # [D, P, P] of each deal, in the order of `names`: the share of its two matches that a player won against another (a
    # forfeit is won by the other side), one half against itself; and its mean score
    won: np.ndarray = field(repr=False, compare=False)
    scored: np.ndarray = field(repr=False, compare=False)

    def between(self, player: str, opponent: str) -> Pairing:
        """How `player` did against `opponent`."""
        found = [p for p in self.pairings if (p.player, p.opponent) == (player, opponent)]
        if not found:
            raise RedQueenError(f"{player!r} did not meet {opponent!r} in this tournament")
        return found[0]

    def names(self) -> list[str]:
        """The players, the best mean score first."""
        return [standing.player for standing in self.players]

    def scores(self) -> np.ndarray:
        """[P, P] the mean score of each player against each other one, in the order of `names`, zeros with itself."""
        met = {(pairing.player, pairing.opponent): pairing.score.mean for pairing in self.pairings}
        return np.array([[met.get((one, other), 0.0) for other in self.names()] for one in self.names()])

    def widths(self) -> np.ndarray:
        """[P, P] half the width of the 95 % interval of `scores`; infinite where the deals are too few, zeros with
        itself."""
        met = {(each.player, each.opponent): (each.score.high - each.score.low) / 2.0 for each in self.pairings}
        return np.array([[met.get((one, other), 0.0) for other in self.names()] for one in self.names()])

    def matrix(self) -> tuple[list[str], list[tuple[str, ...]]]:
        """The payoff matrix as headings and rows of text: the mean score of the row's player against the column's with
        half the width of its interval (? where the deals are too few)."""
        headings = ["against", *(str(number) for number in range(1, len(self.players) + 1))]
        cells = [
            [
                "" if row == column else f"{mean:+.3f}\n{'?' if width == inf else f'±{width:.3f}'}"
                for column, (mean, width) in enumerate(zip(means, widths, strict=True))
            ]
            for row, (means, widths) in enumerate(zip(self.scores(), self.widths(), strict=True))
        ]
        rows = [(f"{n} {name}", *own) for n, (name, own) in enumerate(zip(self.names(), cells, strict=True), 1)]
        return headings, rows

    def beats(self) -> np.ndarray:
        """[P, P] bool, where the whole interval of the margin over the other lies above zero."""
        sure = {(pairing.player, pairing.opponent) for pairing in self.pairings if pairing.margin.low > 0.0}
        return np.array([[(one, other) in sure for other in self.names()] for one in self.names()])

    def table(self) -> list[tuple[str, ...]]:
        """Rows of text under `HEADINGS`, the best player first."""
        return [
            (
                standing.player,
                str(standing.tally.matches),
                f"{standing.score.mean:+.3f}",
                _bounds(standing.score),
                *(str(count) for count in _ends(standing.tally)),
            )
            for standing in self.players
        ]


def tournament(game: Game, players: Sequence[Player], matches_per_pair: int, seed: int) -> Standings:
    """Plays every pair `matches_per_pair` times, half in each seating, all pairs on the same deals.

    A deal is a task and a seed, so the two seatings differ in who sits where and in nothing else. Raises
    RedQueenError for fewer than two players, equal names, an odd number of matches or a game without two roles.
    """
    names = [player.name for player in players]
    check_pairs(game, names, matches_per_pair)
    tasks = Enumerated(game.tasks()).draw(matches_per_pair // 2, Random(derive(seed, "tasks")))
    pairs = list(combinations(range(len(players)), 2))
    matches = [
        match for a, b in pairs for match in both_seatings(game, tasks, players[a], players[b], derive(seed, "matches"))
    ]
    episodes = play(matches, Random(seed))
    played = {
        (names[a], names[b]): episodes[number * matches_per_pair : (number + 1) * matches_per_pair]
        for number, (a, b) in enumerate(pairs)
    }
    sides = {  # for every ordered pair, the role in which the player begins each deal
        (player, opponent): (player, opponent) in played for player, opponent in permutations(names, 2)
    }
    results = {
        pair: _results(game, played[pair] if first else played[pair[1], pair[0]], first)
        for pair, first in sides.items()
    }
    pairings = tuple(_pairing(pair, ends) for pair, ends in results.items())
    standings = [_standing(name, [ends for pair, ends in results.items() if pair[0] == name]) for name in names]
    best_first = sorted(standings, key=lambda standing: -standing.score.mean)
    order = [standing.player for standing in best_first]
    won = _by_deal(results, order, 0.5, lambda end: end.won)
    scored = _by_deal(results, order, 0.0, lambda end: end.score)
    return Standings(game.name, tuple(best_first), pairings, won, scored)


@dataclass(frozen=True)
class _Result:
    """One match as one side saw it."""

    role: str
    score: float
    margin: float  # over the other side
    forfeit: str  # the role that broke the rules, or ""

    @property
    def won(self) -> float:
        """1, a half for a draw, or 0."""
        return float(self.forfeit != self.role) if self.forfeit else 0.5 + 0.5 * float(np.sign(self.margin))


def _by_deal(
    results: Mapping[tuple[str, str], Sequence[_Result]],
    names: Sequence[str],
    own: float,
    of: Callable[[_Result], float],
) -> np.ndarray:
    """[D, P, P] the mean over the two seatings of each deal, `own` of each player with itself."""
    (deals,) = {len(ends) // 2 for ends in results.values()}
    found = np.full((deals, len(names), len(names)), own)
    for (player, opponent), ends in results.items():
        found[:, names.index(player), names.index(opponent)] = _deals([of(end) for end in ends])
    return found


def _results(game: Game, episodes: Sequence[Episode], first: bool) -> list[_Result]:
    """The matches of a pair from one side: deals in order, two seatings each. The side that `both_seatings`
    was given first takes the roles in their order, the other side in reverse."""
    roles = game.roles if first else game.roles[::-1]
    results = []
    for number, episode in enumerate(episodes):
        role = roles[number % 2]
        own, others = _mean_score(episode, role, True), _mean_score(episode, role, False)
        breakers = [seat.role for seat in episode.seats if str(seat) == episode.outcome.facts.get("forfeit")]
        results.append(_Result(role, own, own - others, breakers[0] if breakers else ""))
    return results


def _mean_score(episode: Episode, role: str, own: bool) -> float:
    scores = [score for seat, score in episode.outcome.scores.items() if (seat.role == role) == own]
    return sum(scores) / len(scores)


def _pairing(pair: tuple[str, str], ends: Sequence[_Result]) -> Pairing:
    by_role = {
        role: float(np.mean([end.score for end in ends if end.role == role])) for role in sorted({e.role for e in ends})
    }
    score, margin = (_interval(_deals(values)) for values in ([e.score for e in ends], [e.margin for e in ends]))
    return Pairing(*pair, score, margin, by_role, _tally(ends))


def _standing(name: str, pairings: Sequence[Sequence[_Result]]) -> Standing:
    # opponents met the same deals, so what is independent is a deal, not a match
    deals = np.mean([_deals([end.score for end in ends]) for ends in pairings], axis=0)
    tally = _tally([end for ends in pairings for end in ends])
    return Standing(name, _interval(deals), tally)


def _deals(values: Sequence[float]) -> np.ndarray:
    """[matches / 2] the mean over the two seatings of each deal."""
    found = np.array(values)
    return np.asarray((found[::2] + found[1::2]) / 2.0)


def _interval(deals: np.ndarray) -> Interval:
    """The mean of independent deals and its Student's t interval. Deals that are all equal, and too few for a coin to
    fall the same way all the time in less than one case of twenty, say nothing."""
    if len(deals) < ENOUGH_EQUAL and np.ptp(deals) == 0.0:
        return Interval(float(deals.mean()), -inf, inf)
    return student_interval(deals)


def _tally(ends: Sequence[_Result]) -> Tally:
    played = [end.margin for end in ends if not end.forfeit]
    return Tally(
        matches=len(ends),
        won=sum(margin > 0.0 for margin in played),
        drawn=sum(margin == 0.0 for margin in played),
        lost=sum(margin < 0.0 for margin in played),
        forfeited=sum(end.forfeit == end.role for end in ends),
        given=sum(end.forfeit not in ("", end.role) for end in ends),
    )


def _bounds(score: Interval) -> str:
    return "too few deals" if score.low == -inf else f"[{score.low:+.3f}, {score.high:+.3f}]"


def _ends(tally: Tally) -> tuple[int, int, int, int, int]:
    return tally.won, tally.drawn, tally.lost, tally.forfeited, tally.given


def check_pairs(game: Game, names: Sequence[str], matches_per_pair: int) -> None:
    """Raises RedQueenError for what `tournament` refuses, before anything takes time."""
    if len(names) < 2:
        raise RedQueenError("a tournament needs at least two players")
    if len(set(names)) < len(names):
        raise RedQueenError(f"players of a tournament need different names, not {', '.join(names)}")
    if len(game.roles) != 2:
        raise RedQueenError(f"a tournament needs a game of two roles; {game.name} has {len(game.roles)}")
    if matches_per_pair < 2 or matches_per_pair % 2:
        raise RedQueenError(f"the matches of a pair must be even, half for each seating, not {matches_per_pair}")
