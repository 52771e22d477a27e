"""A world as a player: it sits in the seat `world` of `worlds.hosted` and says what comes of each act."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from redqueen.games.acting import AGENT
from redqueen.players.scripted import Scripted
from redqueen.protocols import Visit, World
from redqueen.records import task_from_json
from redqueen.types import Ask, Episode, Observation, RedQueenError, Reply
from redqueen.worlds.hosted import ASSESS, LOOK, WORLD, assessment_as_json, observation_as_json

MOST_VISITS = 256  # kept open; one that was closed is opened again and its acts are repeated


@dataclass
class _Open:
    visit: Visit
    acts: tuple[str, ...]
    view: Observation


@dataclass(frozen=True)
class Embodied:
    """A reply depends on the task, the seed of the seat's first ask and the acts so far alone, so that company, order
    and a killed run change nothing. Visits are kept open between the asks of a match, at most `most` of them."""

    world: World
    most: int = MOST_VISITS
    asked_in_threads = True
    _visits: OrderedDict[tuple[str, int], _Open] = field(default_factory=OrderedDict, repr=False, compare=False)
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.world.name

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._said(ask), self.name) for ask in asks]

    def _said(self, ask: Ask) -> str:
        first, last = ask.messages[0].text, ask.messages[-1]
        key = (first, ask.past[0].ask.seed if ask.past else ask.seed)
        acts = tuple(message.text for message in ask.messages if message.speaker == AGENT)
        found = self._taken(key, acts)
        if last.speaker == AGENT or len(ask.messages) == 1:
            with self._lock:
                self._visits[key] = found
                closed = [self._visits.popitem(last=False)[1] for _ in range(len(self._visits) - self.most)]
            for each in closed:
                each.visit.close()
            return observation_as_json(found.view)
        try:
            return assessment_as_json(found.visit.assess(json.loads(last.text)[ASSESS]))
        finally:
            found.visit.close()

    def _taken(self, key: tuple[str, int], acts: tuple[str, ...]) -> _Open:
        """The visit after these acts, taken out of those kept, so that no other thread has it."""
        with self._lock:
            found = self._visits.pop(key, None)
        if found is not None and found.acts != acts[: len(found.acts)]:  # its match was given up and began again
            found.visit.close()
            found = None
        if found is None:
            visit = self.world.open(task_from_json(json.loads(key[0])[LOOK]), key[1])
            found = _Open(visit, (), visit.look())
        for act in acts[len(found.acts) :]:
            found = _Open(found.visit, (*found.acts, act), found.visit.act(act))
        return found

    def close(self) -> None:
        """Closes all visits that are open."""
        with self._lock:
            left = list(self._visits.values())
            self._visits.clear()
        for each in left:
            each.visit.close()


def played_back(episode: Episode) -> Scripted:
    """A player for the seat `world` that says what the world of a recorded episode said. Raises RedQueenError for an
    episode without that seat."""
    said = tuple(turn.reply.text for turn in episode.turns if turn.ask.seat.role == WORLD)
    if not said:
        raise RedQueenError(f"nobody sat in the seat {WORLD} of an episode of {episode.game!r}")
    return Scripted(said, "recorded_world")
