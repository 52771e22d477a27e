"""Two players on the same tasks with the same chance: where they part, and what that was worth.

Each match is played twice, once with each player in the seats that are compared; everything else is equal. So both
matches are the same up to the first turn at which the two say different things.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from random import Random

import numpy as np

from redqueen.chance import derive
from redqueen.credit.outcomes import result
from redqueen.measures.intervals import Interval, exact_binomial_interval, paired_difference, student_interval
from redqueen.play.groups import episodes_of, grouped
from redqueen.play.lockstep import play
from redqueen.play.seating import both_seatings
from redqueen.protocols import Game, OpenPlayer, Player
from redqueen.types import Ask, Episode, Group, Match, RedQueenError, Reply, Task


@dataclass(frozen=True)
class Fork:
    """The turn at which two players part: both are asked the same and say different things."""

    turn: int
    ask: Ask
    replies: tuple[Reply, Reply]


@dataclass(frozen=True)
class Pair:
    """One match, as it went with each of the two. `role` is what they play in it; "" where they take all seats."""

    episodes: tuple[Episode, Episode]
    role: str
    fork: Fork | None  # None where both said the same to the end


@dataclass(frozen=True)
class Crossing:
    """An ask at which players part in `count` of the matches, and the probability that each gives each of its
    choices, [K]; None for a player whose mind cannot be read, or where replies are not listed."""

    fork: Fork  # of the first of these matches
    count: int
    probabilities: tuple[np.ndarray | None, np.ndarray | None]


@dataclass(frozen=True)
class RoleScores:
    """The mean scores of the two in one role, and by how much the second is better; NaN without a verdict."""

    role: str
    first: float
    second: float
    difference: Interval


@dataclass(frozen=True)
class SideBySide:
    """All matches of two players, who meet `against` in the other seats; "" where each plays all seats itself."""

    game: str
    names: tuple[str, str]
    against: str
    pairs: tuple[Pair, ...]
    crossings: tuple[Crossing, ...]  # the most frequent first
    scores: tuple[RoleScores, ...]

    @property
    def parted(self) -> int:
        """In how many of the matches they part."""
        return sum(pair.fork is not None for pair in self.pairs)


def side_by_side(
    game: Game,
    tasks: Sequence[Task],
    players: tuple[Player, Player],
    minds: tuple[OpenPlayer | None, OpenPlayer | None],
    seed: int,
    against: Player | None = None,
    grade: Callable[[Sequence[Group]], list[Group]] = list,
) -> SideBySide:
    """Plays a match for each task with each player in all seats; or `against` another one, a match in each role.
    `minds` are where the players' probabilities are read; `grade` gives verdicts on answers, which no
    game scores. Raises RedQueenError for two players of one name, and for an opponent in a game of one role."""
    if players[0].name == players[1].name:
        raise RedQueenError(f"two different players are compared, not {players[0].name!r} with itself")
    roles = ("",) if against is None else game.roles
    first, second = (
        episodes_of(
            grade(grouped(play(_matches(game, tasks, player, against, derive(seed, "matches")), Random(seed)), 1))
        )
        for player in players
    )
    pairs = tuple(
        Pair((one, other), roles[number % len(roles)], fork_of(one, other))
        for number, (one, other) in enumerate(zip(first, second, strict=True))
    )
    held = [seat.role for episode in first for seat in episode.seats]
    return SideBySide(
        game.name,
        (players[0].name, players[1].name),
        "" if against is None else against.name,
        pairs,
        _crossings(pairs, minds),
        tuple(_scores(role, pairs) for role in dict.fromkeys(held)),
    )


def fork_of(first: Episode, second: Episode) -> Fork | None:
    """Where two matches of one task and seed part; None where all that is said is the same."""
    for number, (one, other) in enumerate(zip(first.turns, second.turns, strict=False)):
        if one.ask != other.ask:
            raise RedQueenError(f"{first.game}, task {first.task.id}: the rules asked differently after equal replies")
        if one.reply.text != other.reply.text:
            return Fork(number, one.ask, (one.reply, other.reply))
    return None


def _matches(game: Game, tasks: Sequence[Task], player: Player, against: Player | None, seed: int) -> list[Match]:
    if against is not None:
        return both_seatings(game, tasks, player, against, seed)
    return [
        Match(game, task, dict.fromkeys(game.roles, player), derive(seed, number)) for number, task in enumerate(tasks)
    ]


def _crossings(pairs: Sequence[Pair], minds: tuple[OpenPlayer | None, OpenPlayer | None]) -> tuple[Crossing, ...]:
    forks = [pair.fork for pair in pairs if pair.fork is not None]
    first = {fork.ask: fork for fork in reversed(forks)}
    found = Counter(fork.ask for fork in forks).most_common()
    asks = [first[ask].ask for ask, _ in found]
    one, other = (_probabilities(asks, mind) for mind in minds)
    return tuple(Crossing(first[ask], count, (one[number], other[number])) for number, (ask, count) in enumerate(found))


def _probabilities(asks: Sequence[Ask], mind: OpenPlayer | None) -> list[np.ndarray | None]:
    listed = [ask for ask in asks if ask.choices]
    read = iter(mind.probabilities(listed) if mind is not None and listed else [])
    return [next(read, None) if ask.choices else None for ask in asks]


def _scores(role: str, pairs: Sequence[Pair]) -> RoleScores:
    played = [pair for pair in pairs if pair.role in ("", role)]
    first, second = (
        np.array([_mean([result(each, seat) for seat in each.seats if seat.role == role]) for each in side])
        for side in zip(*(pair.episodes for pair in played), strict=True)
    )
    known = ~(np.isnan(first) | np.isnan(second))
    if not known.any():
        return RoleScores(role, nan, nan, Interval(nan, nan, nan))
    first, second = first[known], second[known]
    verdicts = all("right" in each.outcome.facts for pair in played for each in pair.episodes)
    better = _of_verdicts(second - first) if verdicts else paired_difference(second, first)
    return RoleScores(role, float(first.mean()), float(second.mean()), better)


def _of_verdicts(gaps: np.ndarray) -> Interval:
    """The mean of differences [n] of verdicts (1, 0 or -1, or between where several are averaged) and its interval:
    Student's t; where all are the same, which has no variance, what the exact binomial bound on the share of others
    leaves."""
    if np.ptp(gaps):
        return student_interval(gaps)
    mean, others = float(gaps[0]), exact_binomial_interval(0, len(gaps)).high
    return Interval(mean, mean - others * (mean + 1.0), mean + others * (1.0 - mean))


def _mean(scores: Sequence[float]) -> float:
    return sum(scores) / len(scores)
