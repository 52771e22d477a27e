"""Who sits where: matches in which the learner takes every role in turn, and matches of one seat."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from redqueen.chance import derive
from redqueen.protocols import Game, Opponents, Player
from redqueen.types import Match, RedQueenError, Task


def dealt(game: Game, seed: int) -> Task:
    """The task of a seed, drawn by the weights of the game's tasks."""
    tasks = game.tasks()
    return Random(derive(seed, "task")).choices(tasks, [task.weight for task in tasks])[0]


def mirror(game: Game, tasks: Sequence[Task], learner: Player, times: int = 1) -> list[Match]:
    """`times` matches for each task, one after the other, with the learner in every role."""
    return [Match(game, task, dict.fromkeys(game.roles, learner)) for task in tasks for _ in range(times)]


def alone(game: Game, tasks: Sequence[Task], player: Player, times: int = 1) -> list[Match]:
    """`times` matches for each task, one after the other, in a game for one seat."""
    (role,) = game.roles
    return [Match(game, task, {role: player}) for task in tasks for _ in range(times)]


def rotate(
    game: Game, tasks: Sequence[Task], learner: Player, opponents: Opponents, rng: Random, start: int = 0
) -> list[Match]:
    """One match per task: the learner takes the roles in turn, from role number `start` on, and an
    opponent drawn for each match takes all others. `start=step * count` continues from the step before, so
    that an odd count favours no role. Raises RedQueenError for a game of one role."""
    roles = _rivals(game)
    return [
        seat_learner(game, task, learner, opponents.draw(rng), roles[(start + number) % len(roles)])
        for number, task in enumerate(tasks)
    ]


def both_seatings(
    game: Game, tasks: Sequence[Task], learner: Player, opponent: Player, seed: int | None = None
) -> list[Match]:
    """One match for each task and role: the learner in that role, the opponent in all others. With a
    `seed`, the matches of a task share their randomness, so that they can be compared in pairs."""
    return [
        seat_learner(game, task, learner, opponent, role, None if seed is None else derive(seed, number))
        for number, task in enumerate(tasks)
        for role in _rivals(game)
    ]


def seat_learner(
    game: Game, task: Task, learner: Player, opponent: Player, role: str, seed: int | None = None
) -> Match:
    """A match with the learner in one role and the opponent in all others."""
    if role not in game.roles:
        raise RedQueenError(f"{game.name} has no role {role!r}: its roles are {', '.join(game.roles)}")
    return Match(game, task, {other: learner if other == role else opponent for other in game.roles}, seed)


def shared_out(count: int, kinds: int, rng: Random) -> list[int]:
    """How many of `count` matches are of each of the kinds, one of which is drawn for each match; of one kind all are,
    and nothing is drawn."""
    drawn = rng.choices(range(kinds), k=count) if kinds > 1 else [0] * count
    return [drawn.count(kind) for kind in range(kinds)]


def _rivals(game: Game) -> tuple[str, ...]:
    if len(game.roles) < 2:
        raise RedQueenError(f"{game.name} has one role, {game.roles[0]!r}: there is no seat for an opponent")
    return game.roles
