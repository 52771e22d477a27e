"""Perfect play of small board games, and how far a player is from it.

A game with perfect information is solved backwards over its positions, each met once however many
histories lead to it. The regret of a player at a position is what it gives away there: the value of
the best move less the expected value of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from redqueen.measures.exact.histories import NoChance
from redqueen.play.table import Table
from redqueen.players.scripted import FirstChoice, Strategic
from redqueen.protocols import Game, OpenPlayer, StatesInformation, has
from redqueen.types import Ask, Match, Metrics, Outcome, RedQueenError, Reply, Seat, Strategy, Task

MAX_POSITIONS = 50_000  # some 700 are explored in a second: a minute or so
_TIE = 1e-9  # values closer than this are equal


@dataclass(frozen=True)
class Solution:
    """A solved game. A position is the ask of the seat that must move; M positions in all.

    Positions are held so that each comes after all those it can lead to.
    """

    game: str
    seats: tuple[Seat, Seat]
    starts: Sequence[tuple[Ask, float]]  # the first positions and their probabilities
    values: Mapping[Ask, float]  # [M] to the seat that moves, between perfect players
    choice_values: Mapping[Ask, np.ndarray]  # [M] -> [K] of each legal reply to the seat that moves
    children: Mapping[Ask, Sequence[Ask | Outcome]]  # [M] -> [K] where each legal reply leads

    @property
    def states(self) -> list[Ask]:
        """[M] the positions, each after all those it can lead to."""
        return list(self.values)

    def reply_values(self, strategy: Strategy) -> Strategy:
        """[K] for each position: what the seat to move expects of each of its replies when both follow the strategy
        afterwards."""
        found: dict[Ask, np.ndarray] = {}
        expected: dict[Ask, float] = {}
        for ask, children in self.children.items():
            found[ask] = np.array([_worth(ask.seat, child, expected) for child in children])
            expected[ask] = float(np.asarray(strategy[ask]) @ found[ask])
        return found

    def strategy(self) -> Strategic:
        """The perfect player: any of the best moves, all equally likely."""
        best = {ask: values >= values.max() - _TIE for ask, values in self.choice_values.items()}
        return Strategic({ask: row / row.sum() for ask, row in best.items()}, "minimax")

    def value(self, seat: Seat) -> float:
        """What the seat scores between perfect players."""
        return sum(chance * _seen_by(seat, ask, self.values[ask]) for ask, chance in self.starts)


def solve(game: Game, max_positions: int = MAX_POSITIONS) -> Solution:
    """Solves a two-player zero-sum game of perfect information whose asks show the position alone.

    Raises RedQueenError where the game does not promise that by `perfect_information = True`, does
    not keep the promise, draws chance while it plays, asks for free text, or has more positions than `max_positions`.
    """
    if not (has(game, StatesInformation) and game.perfect_information):
        raise RedQueenError(f"{game.name} cannot be solved by minimax: it does not state perfect_information = True")
    tasks = game.tasks()
    total = sum(task.weight for task in tasks)
    children: dict[Ask, list[Ask | Outcome]] = {}
    starts = [(_explore(game, task, children, max_positions), task.weight / total) for task in tasks]
    values, choice_values = _solve_backwards(game, [ask for ask, _ in starts], children)
    seats = _seats(children)
    ordered = {ask: children[ask] for ask in values}
    return Solution(game.name, seats, starts, values, choice_values, ordered)


def minimax_regret(solution: Solution, player: OpenPlayer) -> Metrics:
    """How much the player's moves lose against perfect play, from its probabilities at every position, read in one
    request.

    `minimax_regret_mean` and `_max` are over all positions, `minimax_regret_reached` is the mean over those that the
    player reaches against a uniform opponent, weighted by how often, both seats alike. `minimax_mistakes` is the mean
    probability of a move that is not best.
    """
    asks = list(solution.values)
    chances = _chances(player, asks)
    regrets = np.zeros(len(asks))
    mistakes = np.zeros(len(asks))
    for number, (ask, row) in enumerate(zip(asks, chances, strict=True)):
        worth = solution.choice_values[ask]
        regrets[number] = worth.max() - row @ worth
        mistakes[number] = row[worth < worth.max() - _TIE].sum()
    regrets = np.maximum(regrets, 0.0)  # rounding
    reach = _reach(solution, asks, chances)
    return {
        "minimax_regret_mean": float(regrets.mean()),
        "minimax_regret_max": float(regrets.max()),
        "minimax_regret_reached": float(regrets @ reach / reach.sum()),
        "minimax_mistakes": float(mistakes.mean()),
    }


def worst_case(solution: Solution, player: OpenPlayer) -> Metrics:
    """The player's greedy policy (its likeliest move, ties to the first) against every possible reply.

    For each seat: `worst_score_SEAT`, what it scores against the opponent that answers this policy best, and
    `lost_lines_SEAT`, the share it loses of all lines in which the opponent tries every move.
    """
    asks = list(solution.values)
    moves = {ask: int(np.argmax(row)) for ask, row in zip(asks, _chances(player, asks), strict=True)}
    metrics: Metrics = {}
    for seat in solution.seats:
        score, lines, lost = 0.0, 0, 0
        found = _all_lines(solution, moves, seat)
        for ask, chance in solution.starts:
            worst, count, losses = found[ask]
            score += chance * worst
            lines += count
            lost += losses
        metrics[f"worst_score_{seat}"] = score
        metrics[f"lost_lines_{seat}"] = lost / lines
    return metrics


def _explore(game: Game, task: Task, children: dict[Ask, list[Ask | Outcome]], max_positions: int) -> Ask:
    """Adds every position that a task can lead to; returns its first. Each line is played to a
    position already known, and every move not yet tried on the way begins a line of its own."""
    cast = {role: FirstChoice() for role in game.roles}
    first: Ask | None = None
    lines: deque[tuple[str, ...]] = deque([()])  # short ones first, which are the quickest to play again
    while lines:
        moves = lines.popleft()
        table = Table(Match(game, task, cast), 0, rng=NoChance())
        parent: Ask | None = None
        for move in moves:
            parent = table.asks[0]
            table.hear([Reply(move)])
        while table.outcome is None:
            ask = _position(game, table)
            first = first or ask
            if parent is not None:
                children[parent][parent.choices.index(moves[-1])] = ask
            if ask in children:
                break
            if len(children) >= max_positions:
                raise RedQueenError(f"{game.name} has more than {max_positions:,} positions: too many to solve")
            children[ask] = [_UNTRIED] * len(ask.choices)
            lines += [(*moves, choice) for choice in ask.choices[1:]]
            parent, moves = ask, (*moves, ask.choices[0])
            table.hear([Reply(moves[-1])])
        else:
            if parent is None:
                raise RedQueenError(f"{game.name} ended before anyone moved: there is nothing to solve")
            children[parent][parent.choices.index(moves[-1])] = _checked(game, table.outcome)
    assert first is not None, "a task leads to at least one position"
    return first


_UNTRIED = Outcome({})


def _position(game: Game, table: Table) -> Ask:
    """The ask as the game made it, without this line's past."""
    if len(table.asks) != 1:
        raise RedQueenError(f"{game.name} cannot be solved by minimax: its seats move at the same time")
    ask = table.asks[0]
    if not ask.choices:
        raise RedQueenError(f"{game.name} cannot be solved by minimax: {ask.seat} is asked for free text")
    return Ask(ask.seat, ask.messages, ask.choices)


def _checked(game: Game, outcome: Outcome) -> Outcome:
    if len(outcome.scores) != 2 or abs(sum(outcome.scores.values())) > _TIE:
        raise RedQueenError(f"{game.name} cannot be solved by minimax: it is not a zero-sum game of two seats")
    return outcome


def _solve_backwards(
    game: Game, starts: Sequence[Ask], children: Mapping[Ask, Sequence[Ask | Outcome]]
) -> tuple[dict[Ask, float], dict[Ask, np.ndarray]]:
    """The value of every position and of every move, positions after those they lead to."""
    values: dict[Ask, float] = {}
    choice_values: dict[Ask, np.ndarray] = {}
    open_positions: set[Ask] = set()  # begun and not finished: those that lead here
    stack = list(starts)
    while stack:
        ask = stack[-1]
        waiting = [child for child in children[ask] if isinstance(child, Ask) and child not in values]
        if ask in values or not waiting:
            stack.pop()
            open_positions.discard(ask)
            if ask not in values:
                worth = np.array([_worth(ask.seat, child, values) for child in children[ask]])
                choice_values[ask], values[ask] = worth, float(worth.max())
            continue
        open_positions.add(ask)
        if any(child in open_positions for child in waiting):
            raise RedQueenError(f"{game.name} cannot be solved by minimax: a position can come about again")
        stack.extend(waiting)
    return values, choice_values


def _worth(seat: Seat, child: Ask | Outcome, values: Mapping[Ask, float]) -> float:
    """What a position or an end is worth to a seat."""
    return child.scores[seat] if isinstance(child, Outcome) else _seen_by(seat, child, values[child])


def _seen_by(seat: Seat, ask: Ask, value: float) -> float:
    """A value to the seat that moves, as a value to `seat`."""
    return value if ask.seat == seat else -value


def _seats(children: Mapping[Ask, Sequence[Ask | Outcome]]) -> tuple[Seat, Seat]:
    ends = (child for row in children.values() for child in row if isinstance(child, Outcome))
    first, second = next(ends).scores
    return first, second


def _chances(player: OpenPlayer, asks: Sequence[Ask]) -> list[np.ndarray]:
    rows = [np.asarray(row, dtype=np.float64) for row in player.probabilities(asks)]
    return [row / row.sum() for row in rows]


def _reach(solution: Solution, asks: Sequence[Ask], chances: Sequence[np.ndarray]) -> np.ndarray:
    """[M] how often the player must move in each position against a uniform opponent, both seats added."""
    total = np.zeros(len(asks))
    number = {ask: index for index, ask in enumerate(asks)}
    for seat in solution.seats:
        reach = np.zeros(len(asks))
        for ask, chance in solution.starts:
            reach[number[ask]] += chance
        for index in range(len(asks) - 1, -1, -1):  # a position before those it leads to
            ask = asks[index]
            mine = ask.seat == seat
            row = chances[index] if mine else np.full(len(ask.choices), 1.0 / len(ask.choices))
            for child, chance in zip(solution.children[ask], row, strict=True):
                if isinstance(child, Ask):
                    reach[number[child]] += reach[index] * chance
            total[index] += reach[index] if mine else 0.0
    return total


def _all_lines(solution: Solution, moves: Mapping[Ask, int], seat: Seat) -> dict[Ask, tuple[float, int, int]]:
    """From every position on: the worst score of the seat that plays `moves`, the lines the opponent
    can choose among, and how many of them the seat loses."""
    found: dict[Ask, tuple[float, int, int]] = {}
    for ask, children in solution.children.items():
        tried = [children[moves[ask]]] if ask.seat == seat else children
        below = [
            found[child] if isinstance(child, Ask) else (child.scores[seat], 1, int(child.scores[seat] < 0.0))
            for child in tried
        ]
        worst, counts, losses = zip(*below, strict=True)
        found[ask] = min(worst), sum(counts), sum(losses)
    return found
