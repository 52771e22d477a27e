"""All histories of a game, found by playing it with every legal reply, as arrays.

A game of two decisions, of two choices each:

    depth 0            0                 nodes are numbered depth by depth, and the children of one side by side
    depth 1        1       2
    depth 2      3   4   5   6
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from random import Random

import numpy as np

from redqueen.play.table import Table
from redqueen.protocols import Game, StatesInformation, has
from redqueen.types import Ask, Match, RedQueenError, Reply, Seat, Task

MAX_NODES = 2_000_000
MAX_DEPTH = 200  # decisions of one history
FIRST = 200  # nodes that are listed before their number is estimated
DRAWN, LARGE = 64, 16  # lines that an estimate draws, and how many of them must speak for too many
_Past = tuple[int, str]  # a state, and the choice made there


class Forgets(RedQueenError):
    """A seat is shown the same after histories in which it saw or chose something else before."""


@dataclass(frozen=True)
class Histories:
    """The N nodes of a game's tree: decisions, and ends."""

    asks: list[Ask]  # [S] the information states, in the order found
    ranks: np.ndarray  # [S] int, higher than those of the states in which its seat may have spoken before
    seats: tuple[Seat, ...]
    states: np.ndarray  # [N] int, the information state, -1 at an end
    parents: np.ndarray  # [N] int, -1 at a root
    places: np.ndarray  # [N] int, which of the parent's choices leads here, 0 at a root
    children: np.ndarray  # [N] int, the first child of a decision, -1 at an end
    scores: np.ndarray  # [N, seats] at ends, else zero
    starts: np.ndarray  # [roots] the probabilities of the tasks, whose roots are the first nodes
    levels: tuple[slice, ...]  # the nodes of each depth


def explore(game: Game, max_nodes: int) -> Histories:
    """The histories of a game. For errors see `GameTree`."""
    explorer = _Explorer(game, max_nodes)
    tasks = game.tasks()
    for task in tasks:
        explorer.explore(task)
    if not explorer.asks:
        raise RedQueenError(f"{game.name} asks nobody anything: there is nothing to measure")
    weights = np.array([task.weight for task in tasks], dtype=np.float64)
    return explorer.histories(weights / weights.sum())


@dataclass(frozen=True)
class _Line:
    """Replies that were not tried yet, at the end of others that were."""

    said: tuple[str, ...]
    parent: int
    place: int
    last: Mapping[Seat, _Past]  # in which state each seat spoke last, and what it said


@dataclass
class _Explorer:
    """Each line is played once to its end, where it takes the first choice of every decision that is new, and the other
    choices begin lines of their own. Nodes are numbered in the order found, a node before all below it."""

    game: Game
    max_nodes: int
    asks: list[Ask] = field(default_factory=list)
    seats: tuple[Seat, ...] = ()
    _states: list[int] = field(default_factory=list)  # of each node
    _parents: list[int] = field(default_factory=list)
    _places: list[int] = field(default_factory=list)
    _depths: list[int] = field(default_factory=list)
    _ends: dict[int, tuple[float, ...]] = field(default_factory=dict)  # node -> the seats' scores
    _numbers: dict[Ask, int] = field(default_factory=dict)
    _before: dict[int, set[int]] = field(default_factory=dict)  # state -> those in which its seat spoke last before
    _own: dict[int, tuple[_Past | None, tuple[str, ...]]] = field(default_factory=dict)  # and how a state was found

    def __post_init__(self) -> None:
        self._forgives = has(self.game, StatesInformation) and self.game.perfect_information

    def explore(self, task: Task) -> None:
        """Adds all nodes of a task."""
        lines = [_Line((), -1, 0, {})]
        while lines:
            self._play(task, lines.pop(), lines)

    def _play(self, task: Task, line: _Line, lines: list[_Line]) -> None:
        """Plays a line to an end and adds the nodes from its last reply on; the lines that leave it join `lines`.
        Asks yielded together are one decision after another, none of which sees the others."""
        table = self._table(task)
        said, parent, place, last = line.said, line.parent, line.place, line.last
        heard = 0
        while True:
            while table.outcome is None and len(said) - heard >= len(table.asks):
                now = said[heard : heard + len(table.asks)]
                heard += len(now)
                table.hear([Reply(text) for text in now])
            if len(said) > MAX_DEPTH:
                raise RedQueenError(
                    f"{self.game.name} has histories of more than {MAX_DEPTH} decisions: too long to list"
                )
            number = self._add(parent, place, len(said))
            if table.outcome is not None:
                self._end(number, table.outcome.scores)
                return
            ask = table.asks[len(said) - heard]
            if not ask.choices:
                raise RedQueenError(f"{self.game.name} asks for free text: exact measures need listed replies")
            state = self._states[number] = self._state(ask, said, last.get(ask.seat))
            leaves = [
                _Line((*said, choice), number, other, {**last, ask.seat: (state, choice)})
                for other, choice in enumerate(ask.choices)
            ]
            lines.extend(reversed(leaves[1:]))
            said, parent, place, last = leaves[0].said, number, 0, leaves[0].last

    def _table(self, task: Task) -> Table:
        return Table(Match(self.game, task, dict.fromkeys(self.game.roles, _NOBODY)), 0, rng=NoChance())

    def _add(self, parent: int, place: int, depth: int) -> int:
        number = len(self._states)
        if number >= self.max_nodes or (number == FIRST and self._surely_too_many()):
            raise RedQueenError(f"{self.game.name} has more than {self.max_nodes:,} histories: too many to list")
        self._states.append(-1)
        self._parents.append(parent)
        self._places.append(place)
        self._depths.append(depth)
        return number

    def _surely_too_many(self) -> bool:
        """Whether random lines show that there are more histories than may be listed, long before these are found.

        The product of the numbers of choices along a line that is drawn uniformly is on average the number of ends
        (Knuth, 1975, Estimating the efficiency of backtrack programs), so at most one line in a hundred has a product
        of a hundred times that number, and 16 of 64 such lines are drawn with probability below 1e-17."""
        rng, tasks = Random(0), self.game.tasks()
        products = [self._drawn_line(rng.choice(tasks), rng) * len(tasks) for _ in range(DRAWN)]
        return sum(product >= 100 * self.max_nodes for product in products) >= LARGE

    def _drawn_line(self, task: Task, rng: Random) -> float:
        """The product of the numbers of choices along one line; up to its first ask for free text, if it has one."""
        table = self._table(task)
        product, depth = 1.0, 0
        while table.outcome is None and depth <= MAX_DEPTH and all(ask.choices for ask in table.asks):
            product *= math.prod(len(ask.choices) for ask in table.asks)
            depth += len(table.asks)
            table.hear([Reply(rng.choice(ask.choices)) for ask in table.asks])
        return product

    def _end(self, number: int, scores: Mapping[Seat, float]) -> None:
        roles = self.game.roles
        self.seats = self.seats or tuple(sorted(scores, key=lambda seat: (roles.index(seat.role), seat.number)))
        if set(scores) != set(self.seats):
            raise RedQueenError(
                f"{self.game.name} has {', '.join(map(str, self.seats))} in one task and "
                f"{', '.join(map(str, scores))} in another: exact measures need the same seats in all"
            )
        self._ends[number] = tuple(float(scores[seat]) for seat in self.seats)

    def _state(self, ask: Ask, said: tuple[str, ...], past: _Past | None) -> int:
        """The number of the information state of an ask, whose seat spoke last in `past`."""
        state = self._numbers.setdefault(ask, len(self.asks))
        if state == len(self.asks):
            self.asks.append(ask)
        self._before.setdefault(state, set()).update({past[0]} if past else ())
        known, history = self._own.setdefault(state, (past, said))
        if known != past and not self._forgives:
            raise Forgets(
                f"{self.game.name} shows the {ask.seat} the same after {_told(history)} as after {_told(said)}, "
                f"between which it saw or chose something else ({_shown(ask)}): exact measures need perfect recall, so "
                "show a seat its own moves"
            )
        return state

    def histories(self, starts: np.ndarray) -> Histories:
        """What was found. In the order of depth, and within a depth in the order found, children stand together."""
        order = np.argsort(self._depths, kind="stable")
        numbers = np.argsort(order, kind="stable")  # in the order found -> by depth
        parents = np.array(self._parents, dtype=np.int64)[order]
        parents[len(starts) :] = numbers[parents[len(starts) :]]
        children = np.full(len(order), -1, dtype=np.int64)
        children[parents[: len(starts) - 1 : -1]] = np.arange(len(order))[: len(starts) - 1 : -1]  # the first is last
        scores = np.zeros((len(order), len(self.seats)))
        scores[numbers[list(self._ends)]] = list(self._ends.values())
        ends = np.cumsum(np.bincount(self._depths)).tolist()
        return Histories(
            asks=self.asks,
            ranks=self._ranks(),
            seats=self.seats,
            states=np.array(self._states, dtype=np.int64)[order],
            parents=parents,
            places=np.array(self._places, dtype=np.int64)[order],
            children=children,
            scores=scores,
            starts=starts,
            levels=tuple(slice(start, end) for start, end in zip([0, *ends], ends, strict=False)),
        )

    def _ranks(self) -> np.ndarray:
        """A best response is found from the end on, so no state may come both before and after another."""
        ranks = np.zeros(len(self.asks), dtype=np.int64)
        try:
            for state in TopologicalSorter(self._before).static_order():
                ranks[state] = max((int(ranks[before]) + 1 for before in self._before[state]), default=0)
        except CycleError:
            raise RedQueenError(
                f"the seats of {self.game.name} forget what they saw, so that the same can come again: exact measures "
                "need perfect recall"
            ) from None
        return ranks


def _told(history: Sequence[str]) -> str:
    return " ".join(repr(said) for said in history) or "nothing"


def _shown(ask: Ask) -> str:
    text = " / ".join(message.text for message in ask.messages)
    return repr(text if len(text) <= 120 else f"{text[:117]}...")


class NoChance(Random):
    """Refuses to draw: a tree holds only the chance that its tasks list."""

    def random(self) -> float:
        raise RedQueenError("this game draws chance while it plays: exact measures need it in the tasks")

    def getrandbits(self, k: int, /) -> int:
        raise RedQueenError("this game draws chance while it plays: exact measures need it in the tasks")


class _Nobody:
    name = "nobody"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        raise AssertionError("a tree asks nobody")


_NOBODY = _Nobody()
