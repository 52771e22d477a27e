"""Matches that stay in flight over several updates, so that slow players and long games do not hold up the learner.

    flow = Flow([game], learner, count=128, staleness=2, known=lambda: opponents.players)
    for step in run.steps(steps, [learner], [opponents, flow], measures):
        matches = rotate(game, curriculum.draw(flow.room, run.rng), learner, opponents, run.rng)
        episodes = flow.play(matches, run.rng)  # 128 of them

With staleness s a call returns the `count` oldest matches and leaves s * `count` in flight, which is AReaL's
admission rule (Fu et al., 2025, arXiv:2505.24298). With s = 2, matches in lots of `count`:

    call 0   puts in 0 1 2   returns lot 0   begun in this call
    call 1   puts in 3       returns lot 1   begun one call ago
    call 2   puts in 4       returns lot 2   begun two calls ago
    call 3   puts in 5       returns lot 3   begun two calls ago: none is ever older

Which matches are returned does not depend on their speed, so short games do not crowd out long ones. In every call all
matches in flight advance by a round, and those that are due are played to their end. The learner speaks each turn with
its current weights, so the turns of one episode may be of several versions; `Reply.version` says which, and `pack`
copies it to every token.

A player with `asked_in_threads = True` (a `Server`) is asked in threads, several calls of its `reply` at once: only
its own matches wait for it, and it continues while the learner updates. It must share no mutable state with
other players. Its timing is not reproducible, so a run with such a player and a staleness above 0 cannot be repeated;
all other runs can, and resume bit for bit after a kill.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import cast

import numpy as np

from redqueen.chance import derive
from redqueen.opponents.pools import rebuilt, saved
from redqueen.play.lockstep import answers, gather
from redqueen.play.table import Table
from redqueen.play.threads import Question, Threads, tell
from redqueen.protocols import COUNT, AskedInThreads, Game, Player, Policy, Row, State, has, shaped
from redqueen.records import REPLY, TASK, reply_from_json, reply_to_json, task_from_json, task_to_json
from redqueen.types import Episode, Match, Metrics, RedQueenError, Reply


class Flow:
    """Plays matches of `games` for one learner, `count` episodes a call. With staleness 0 its episodes are
    those of `lockstep`. At most `at_once` calls of slow players are in progress at a time.

    A match in flight is saved with the indices of its players among the learner and `known()`, which must be
    restored first; past selves that are no longer among these are saved whole.
    """

    def __init__(
        self,
        games: Sequence[Game],
        learner: Policy,
        count: int,
        staleness: int = 0,
        known: Callable[[], Sequence[Player]] = tuple,
        at_once: int = 8,
    ) -> None:
        if count < 1 or staleness < 0 or at_once < 1:
            raise RedQueenError(
                "a flow returns 1 match or more, with a staleness of 0 or more, and makes 1 call or more at once; not "
                f"{count}, {staleness} and {at_once}"
            )
        self._games = {game.name: game for game in games}
        self._learner = learner
        self._count = count
        self._staleness = staleness
        self._known = known
        self._slow = Threads(at_once)
        self._flying: list[_Flying] = []  # oldest first
        self._calls = 0
        self._metrics: Metrics = {}

    @property
    def room(self) -> int:
        """The number of matches that the next call of `play` takes."""
        return self._count * (1 + self._staleness) - len(self._flying)

    def play(self, matches: Sequence[Match], rng: Random) -> list[Episode]:
        """The oldest `count` episodes, in the order in which their matches were passed in. A match without a seed gets
        one from `rng`. An error of a player ends the call and every thread."""
        if len(matches) != self.room:
            raise RedQueenError(f"there is room for {self.room} matches in flight, not for {len(matches)}")
        if self._staleness:
            self._places(matches)  # refuses players that a resumed run could not find again
        began, waited = time.perf_counter(), 0.0
        base = rng.getrandbits(64)
        for number, match in enumerate(matches):
            seed = derive(base, number) if match.seed is None else match.seed
            self._flying.append(_Flying(Table(match, seed), self._calls))
        due = self._flying[: self._count]
        try:
            heard = self._round()
            while any(flying.table.outcome is None for flying in due):
                waited += 0.0 if heard else self._slow.wait()
                heard = self._round()
        except BaseException:
            self.close()
            raise
        del self._flying[: self._count]
        episodes = [flying.table.episode() for flying in due]
        self._measure(due, episodes, waited / (time.perf_counter() - began))
        self._calls += 1
        return episodes

    def metrics(self) -> Metrics:
        """Figures of the last call: `queue/depth`, matches left in flight, and `queue/ready`, those of them that are
        over; `queue/age` and `queue/oldest`, mean and maximum age of the returned matches in calls; `queue/idle`, the
        share of the call spent waiting for slow players; `queue/lag`, mean age of the learner's turns in updates, and
        `stale_share`, the share of turns of an older version. Empty if no player is slow and no match stays in
        flight."""
        return dict(self._metrics)

    def close(self) -> None:
        """Waits for the running calls of slow players, drops the waiting ones, and ends the threads."""
        self._slow.close()
        for flying in self._flying:
            flying.replies = []

    def state(self) -> State:
        places, gone = self._places([flying.table.match for flying in self._flying])
        return {
            "calls": self._calls,
            "gone": saved(gone),
            "matches": [flying.state(places) for flying in self._flying],
        }

    def restore(self, state: State) -> None:
        shaped(state, {"calls": COUNT, "gone": list, "matches": [_MATCH]}, "the matches in flight: ")
        self.close()
        players = [self._learner, *self._known(), *rebuilt(self._learner, state["gone"])]
        self._calls = state["calls"]
        self._flying = [_restored(record, self._games, players) for record in state["matches"]]

    def _round(self) -> bool:
        """Asks all open questions, of slow players in threads, and takes the replies that have arrived; returns whether
        any table got a reply."""
        questions: dict[int, list[Question]] = {}
        gather([flying.table for flying in self._flying if not flying.replies])
        for flying in self._flying:
            if not flying.replies:
                flying.table.turn_away()
            for question in flying.questions():
                questions.setdefault(id(question.player), []).append(question)
        for asked in questions.values():
            if _is_slow(asked[0].player):
                self._slow.put(asked)
        for asked in questions.values():
            if not _is_slow(asked[0].player):
                tell(asked, answers(asked[0].player, [question.ask for question in asked]))
        self._slow.take()
        heard = [flying.hear() for flying in self._flying]
        return any(heard)

    def _measure(self, due: Sequence[_Flying], episodes: Sequence[Episode], idle: float) -> None:
        if not self._staleness and not self._slow.used:
            return  # as in lockstep: nothing to report
        ages = [self._calls - flying.begun for flying in due]
        turns = [turn for episode in episodes for turn in episode.turns if turn.reply.player == self._learner.name]
        lags = [self._learner.version - turn.reply.version for turn in turns]
        self._metrics = {
            "queue/depth": float(len(self._flying)),
            "queue/ready": float(sum(flying.table.outcome is not None for flying in self._flying)),
            "queue/age": float(np.mean(ages)),
            "queue/oldest": float(max(ages)),
            "queue/idle": idle,
            "queue/lag": float(np.mean(lags)) if lags else 0.0,
            "stale_share": float(np.mean([lag > 0 for lag in lags])) if lags else 0.0,
        }

    def _places(self, matches: Sequence[Match]) -> tuple[dict[int, int], list[Policy]]:
        """The index of each player of `matches`, by its `id`, among the learner, the known players and the past selves
        that are not known; and the list of these past selves. Raises RedQueenError for any other player."""
        known, gone = [self._learner, *self._known()], list[Policy]()
        places = {id(player): place for place, player in enumerate(known)}
        for player in (player for match in matches for player in match.cast.values()):
            if id(player) in places:
                continue
            if not player.name.startswith(f"{self._learner.name}@"):
                raise RedQueenError(f"{player.name!r} may be in flight for long: it must be among the known players")
            places[id(player)] = len(known) + len(gone)
            gone.append(cast(Policy, player))
        return places, gone


class _Flying:
    """A match in flight, and the replies so far to its open asks; empty while these have not been asked."""

    def __init__(self, table: Table, begun: int) -> None:
        self.table = table
        self.begun = begun  # number of the call
        self.replies: list[Reply | None] = []

    def questions(self) -> list[Question]:
        """The questions to ask now; they are marked as asked."""
        if self.replies:
            return []
        self.replies = [None] * len(self.table.asks)
        cast_ = self.table.match.cast
        return [
            Question(cast_[ask.seat.role], ask, partial(self.replies.__setitem__, place))
            for place, ask in enumerate(self.table.asks)
        ]

    def hear(self) -> bool:
        """Continues the match if all replies have arrived; returns whether it did, or its game waits."""
        if self.table.outcome is None and not self.table.asks:
            return True
        replies = [reply for reply in self.replies if reply is not None]
        if not replies or len(replies) < len(self.replies):
            return False
        self.replies = []
        self.table.hear(replies)
        return True

    def state(self, places: Mapping[int, int]) -> State:
        """The match as plain data, with players by their indices."""
        match = self.table.match
        return {
            "game": match.game.name,
            "task": task_to_json(match.task),
            "seed": self.table.seed,
            "begun": self.begun,
            "cast": {role: [places[id(player)], player.name] for role, player in match.cast.items()},
            "replies": [reply_to_json(turn.reply) for turn in self.table.turns],
        }


def _is_slow(player: Player) -> bool:
    return has(player, AskedInThreads) and player.asked_in_threads


_MATCH = {
    "game": str,
    "task": TASK,
    "seed": int,
    "begun": COUNT,
    "cast": {...: Row(COUNT, str)},
    "replies": [REPLY],
}


def _restored(record: State, games: Mapping[str, Game], players: Sequence[Player]) -> _Flying:
    """A match in flight from its record, whose replies are fed to the game again."""
    seats = {}
    for role, (place, name) in record["cast"].items():
        if place >= len(players) or players[place].name != name:
            raise RedQueenError(f"player {name!r} sits in a match in flight, but is not among the known players now")
        seats[role] = players[place]
    if record["game"] not in games:
        raise RedQueenError(f"a match of {record['game']!r} is in flight, which is not played now")
    match = Match(games[record["game"]], task_from_json(record["task"]), seats, record["seed"])
    table = Table(match, record["seed"])
    while len(table.turns) < len(record["replies"]):
        heard = record["replies"][len(table.turns) : len(table.turns) + len(table.asks)]
        table.hear([reply_from_json(reply) for reply in heard])
    return _Flying(table, record["begun"])
