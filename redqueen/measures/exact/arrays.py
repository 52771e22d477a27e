"""Thousands of matches at once, as arrays: for games whose histories can be listed, between tables.

    game = ArrayGame(KuhnPoker())                                   # its histories are found once
    for step in range(steps):
        matches = game.play(learner, curriculum.draw(100_000, rng), rng)
        advantages = matches.scores - matches.scores.mean(axis=0)   # [M, seats]
        learner.update(matches.pack(advantages, ConstantMean(1)), Reinforce())

A match is a walk down the tree of the game's histories (`histories.py`), in which every decision of all matches at one
depth is drawn in one operation (after JaxMARL, arXiv:2311.10090, whose games are functions of arrays). No game needs
code of its own for it. Seeds and draws are those of `lockstep.play`, bit for bit: the same matches, the same batch.
`Matches.episodes` plays some of them again as episodes, to look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

import numpy as np
import torch

from redqueen.chance import derive, named
from redqueen.measures.exact.histories import MAX_NODES, explore
from redqueen.objectives.batch import Weigh, token_mean
from redqueen.play.table import Table
from redqueen.protocols import Game
from redqueen.types import Ask, Batch, Constraint, Episode, Match, RedQueenError, Reply, Seat, Task


class Tabular(Protocol):
    """A player that is a table."""

    name: str
    version: int

    def read(self, asks: Sequence[Ask]) -> tuple[np.ndarray, np.ndarray]:
        """[S] the number of each ask's state in the table, and [S, K] the log-probabilities of its choices, -inf beyond
        them."""
        ...

    def reply(self, asks: Sequence[Ask]) -> list[Reply]: ...


class ArrayGame:
    """A game with all its histories. Raises RedQueenError as `GameTree` does: for games that draw chance while they
    play, ask for free text or have more than `max_nodes` histories."""

    def __init__(self, game: Game, max_nodes: int = MAX_NODES) -> None:
        self.game = game
        self._tree = explore(game, max_nodes)
        self.asks = self._tree.asks  # [S] its information states
        self._roots = {task.id: number for number, task in enumerate(game.tasks())}
        if len(self._roots) < len(self._tree.starts):
            raise RedQueenError(f"two tasks of {game.name} have one id: which of them is played cannot be told")
        asks, seats = self._tree.asks, self._tree.seats
        self._seat_of = np.array([seats.index(ask.seat) for ask in asks], dtype=np.int64)  # [S]
        self.counts = np.array([len(ask.choices) for ask in asks], dtype=np.int64)  # [S] of choices
        legal = [tuple((k,) for k in range(count)) for count in self.counts.tolist()]
        self.held = [(Constraint(1, replies),) for replies in legal]  # of each state

    @property
    def seats(self) -> tuple[Seat, ...]:
        return self._tree.seats

    def play(self, learner: Tabular, tasks: Sequence[Task], rng: Random) -> Matches:
        """One match for each task, with the table in every seat, seeded from `rng` as by `lockstep.play`. Raises
        RedQueenError for a task that is none of the game's."""
        base = rng.getrandbits(64)
        try:
            nodes = np.array([self._roots[task.id] for task in tasks], dtype=np.int64)
        except KeyError as error:
            raise RedQueenError(f"{self.game.name} has no task {error.args[0]!r}: pass some of its tasks()") from None
        seeds = _below(_mix(np.array([base], dtype=np.uint64)), _mixed(np.arange(len(tasks))))  # [M]
        rows, logprobs = learner.read(self.asks)  # [S], [S, K]
        chances = np.exp(logprobs)
        sums = np.cumsum(chances, axis=1)  # one by one, as `pick` adds
        ends = np.where(chances > 0.0, np.arange(chances.shape[1]), 0).max(axis=1)  # [S] the last possible choice
        begun = _mix(seeds)
        of_seat = [_below(_below(begun, _named(seat.role)), _mixed(np.array([seat.number]))) for seat in self.seats]
        spoken = np.zeros((len(self.seats), len(tasks)), dtype=np.int64)  # turns so far
        decisions: list[_Decisions] = []
        playing = np.flatnonzero(self._tree.states[nodes] >= 0)
        while len(playing):
            states = self._tree.states[nodes[playing]]
            seats = self._seat_of[states]
            turns = spoken[seats, playing]
            own = np.choose(seats, [each[playing] for each in of_seat])
            draws = _uniform(_below(own, _mixed(turns)))
            found = (draws[:, None] < sums[states]) & (chances[states] > 0.0)
            choices = np.where(found.any(axis=1), found.argmax(axis=1), ends[states])
            decisions.append(_Decisions(playing, seats, states, choices))
            spoken[seats, playing] += 1
            nodes[playing] = self._tree.children[nodes[playing]] + choices
            playing = playing[self._tree.states[nodes[playing]] >= 0]
        return Matches(
            self, list(tasks), base, learner.name, learner.version, self._tree.scores[nodes], decisions, rows, logprobs
        )


@dataclass(frozen=True)
class _Decisions:
    """Those of one depth."""

    matches: np.ndarray  # [n] int
    seats: np.ndarray  # [n] int
    states: np.ndarray  # [n] int
    choices: np.ndarray  # [n] int


@dataclass(frozen=True)
class Matches:
    """M matches that are over."""

    game: ArrayGame
    tasks: list[Task]  # [M]
    base: int  # of their seeds
    name: str  # of the player
    version: int
    scores: np.ndarray  # [M, seats], in the order of `game.seats`
    decisions: list[_Decisions]  # depth by depth
    rows: np.ndarray  # [S] the table's numbers of the states
    logprobs: np.ndarray  # [S, K] of each choice when it was drawn

    def pack(self, advantages: np.ndarray, weigh: Weigh = token_mean) -> Batch:
        """The batch that `objectives.batch.pack` makes of the trajectories of all seats, match by match, seats in the
        order of `game.seats`, with the advantage [M, seats] of each for all its turns."""
        seats = len(self.game.seats)
        if advantages.shape != self.scores.shape:
            raise RedQueenError(
                f"advantages are one number for each of {len(self.tasks)} matches and {seats} seats, not of the shape "
                f"{advantages.shape}"
            )
        together = [
            np.concatenate(each) for each in zip(*(vars(part).values() for part in self.decisions), strict=True)
        ]
        matches, who, states, choices = together or [np.zeros(0, dtype=np.int64)] * 4
        order = np.argsort(matches * seats + who, kind="stable")  # and by depth where these are equal
        matches, who, states, choices = (each[order] for each in (matches, who, states, choices))
        _, owners = np.unique(matches * seats + who, return_inverse=True)
        free = self.game.counts[states] > 1  # a forced choice has no row
        matches, who, states, choices, owners = (each[free] for each in (matches, who, states, choices, owners))
        count = len(states)
        two = np.zeros((count, 2))
        own, sampled, given = two.astype(bool), two.copy(), two.copy()
        own[:, 1] = True
        sampled[:, 1] = self.logprobs[states, choices]
        given[:, 1] = advantages[matches, who]
        versions = np.zeros((count, 2), dtype=np.int64)
        versions[:, 1] = self.version
        return Batch(
            tokens=torch.from_numpy(np.stack([self.rows[states], choices], axis=1)),
            loss_weights=torch.from_numpy(np.asarray(weigh(own), dtype=np.float64)),
            sampled_logprobs=torch.from_numpy(sampled),
            advantages=torch.from_numpy(given),
            versions=torch.from_numpy(versions),
            recited=torch.zeros(count, 2, dtype=torch.bool),
            trajectory=torch.from_numpy(owners.astype(np.int64)),
            lengths=torch.full((count,), 2, dtype=torch.int64),
            constraints=tuple(self.game.held[state] for state in states.tolist()),
        )

    def episodes(self, numbers: Sequence[int]) -> list[Episode]:
        """The numbered matches as `lockstep.play` would have returned them."""
        found = []
        for number in numbers:
            said = [
                (int(part.states[at]), int(part.choices[at]))
                for part in self.decisions
                for at in np.flatnonzero(part.matches == number).tolist()
            ]
            game, task = self.game.game, self.tasks[number]
            table = Table(Match(game, task, dict.fromkeys(game.roles, _Named(self.name))), derive(self.base, number))
            heard = iter(said)
            while table.outcome is None:
                table.hear([self._reply(ask, *next(heard)) for ask in table.asks])
            found.append(table.record())
        return found

    def _reply(self, ask: Ask, state: int, choice: int) -> Reply:
        return Reply(
            text=ask.choices[choice],
            player=self.name,
            version=self.version,
            prompt_tokens=self.rows[state : state + 1],
            tokens=np.array([choice]),
            logprobs=self.logprobs[state, choice : choice + 1],
            legal_tokens=self.game.held[state][0].replies,
        )


@dataclass(frozen=True)
class _Named:
    """Who has played already."""

    name: str

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        raise AssertionError("the replies to these asks are known")


# `chance.py` over arrays of uint64, in which sums and products wrap


def _mix(values: np.ndarray) -> np.ndarray:
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))


def _mixed(numbers: np.ndarray) -> np.ndarray:
    return _mix(numbers.astype(np.uint64))


def _named(part: str) -> np.ndarray:
    return np.array([named(part)], dtype=np.uint64)


def _below(values: np.ndarray, parts: np.ndarray) -> np.ndarray:
    return _mix(_mix(values) + parts)


def _uniform(seeds: np.ndarray) -> np.ndarray:
    """The first draw of each seed, in [0, 1)."""
    return (_below(_mix(seeds), _mixed(np.array([0]))) >> np.uint64(11)).astype(np.float64) * 2.0**-53
