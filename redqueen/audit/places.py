"""What an environment shows and pays when the same is said to it: what an audit compares.

place = environment("site")
heard(place, task=3, seed=7, say=drawn(0))                   acts drawn by a seed from those that are listed
heard(place, task=3, seed=7, say=("open cup", "add"))        these, in order
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import Any

from redqueen.catalogue import Catalogue
from redqueen.chance import derive, uniform
from redqueen.curricula.held_out import apart_from, held_out, training_levels
from redqueen.games.acting import Acting, Working
from redqueen.games.catalogue import ADAPTERS, GAMES, find_game
from redqueen.games.talk import ask, posed
from redqueen.play.table import Table, waits
from redqueen.protocols import Game, HoldsOut, Play, Questions, ShowsHow, Visit, World, has
from redqueen.questions.catalogue import QUESTIONS, find_questions, is_data
from redqueen.types import SOLVER, Ask, Match, Outcome, RedQueenError, Reply, Seat, Task, place_of
from redqueen.worlds.catalogue import ADAPTERS as OF_OTHERS
from redqueen.worlds.catalogue import WORLDS, find_world

Say = Sequence[str] | Callable[[Ask, int], str]  # what is said, in order; or the reply to an ask, the n-th of a match
PHRASES = ("yes", "no", "4", "[0]", "[1]", "hello")  # where replies are not listed
UNENDING = 1_000_000  # acts of a visit, so that nothing but its world ends it
PROBLEMS = 24  # of each level of a question set
_OWN = Catalogue("environment", {}, "redqueen.parts")


@dataclass(frozen=True)
class Heard:
    """One match or visit: what was asked, what was said, the states of a world between the acts, and the scores, none
    where it was not brought to its end. Equal where all but the facts are."""

    asks: tuple[Ask, ...]
    said: tuple[str, ...]
    states: tuple[str, ...]
    scores: Mapping[str, float]
    over: bool
    facts: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True)
class Place:
    """An environment that is audited, as a game whatever it is: a question set is one reply, a world one agent."""

    spec: str
    game: Game
    watched: Watched | None = None  # the world, where it is one

    @cached_property
    def trained(self) -> tuple[Task, ...]:
        return tuple(self.game.tasks())

    @cached_property
    def held_out(self) -> tuple[Task, ...]:
        return tuple(self.game.held_out()) if has(self.game, HoldsOut) else ()

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Those to train on, then those held out: `heard` takes their numbers."""
        return self.trained + self.held_out

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """The names of a world's tools."""
        if self.watched is None:
            return ()
        with closing(self.watched.open(self.tasks[0], 0)) as visit:
            return tuple(tool.name for tool in visit.tools)

    @property
    def phrases(self) -> tuple[str, ...]:
        """What is said where no replies are listed: calls of a world's tools among them."""
        return (*PHRASES, *(f"<{name}>{text}</{name}>" for name in self.tools for text in ("", "1", '{"text": "x"}')))

    def expert(self, task: int) -> tuple[str, ...]:
        """What does a task, where that is known; else nothing."""
        if not has(self.game, ShowsHow):
            return ()
        try:
            return self.game.expert(self.tasks[task])
        except RedQueenError:
            return ()

    def within(self, acts: int) -> Place:
        """The same, where it is a world, with at most so many acts."""
        return replace(self, game=replace(self.game, acts=acts)) if isinstance(self.game, Acting) else self


class Watched:
    """A world that remembers the visit that was opened last."""

    def __init__(self, world: World) -> None:
        self.world, self.name, self.repeatable = world, world.name, world.repeatable
        self.last: Visit | None = None

    def tasks(self) -> Sequence[Task]:
        return self.world.tasks()

    def held_out(self) -> Sequence[Task]:
        return self.world.held_out()

    def expert(self, task: Task) -> tuple[str, ...]:
        found: Any = getattr(self.world, "expert", None)
        if found is None:
            raise RedQueenError(f"{self.name} shows nobody how its tasks are done")
        return tuple(found(task))

    def open(self, task: Task, seed: int) -> Visit:
        self.last = self.world.open(task, seed)
        return self.last


@dataclass(frozen=True)
class Asked:
    """A question set as a game: one question, one reply, 1 where it is right."""

    questions: Questions = field(repr=False)

    @property
    def name(self) -> str:
        return self.questions.name

    @property
    def roles(self) -> tuple[str, ...]:
        return (SOLVER,)

    def tasks(self) -> Sequence[Task]:
        levels, apart = training_levels(self.questions), held_out(self.questions, PROBLEMS)
        return apart_from(
            apart, [each for level in levels for each in self.questions.problems(level, PROBLEMS, Random(1))]
        )

    def held_out(self) -> Sequence[Task]:
        return [each for tasks in held_out(self.questions, PROBLEMS).values() for each in tasks]

    def play(self, task: Task, rng: Random) -> Play:
        seat = Seat(SOLVER)
        said = yield from ask(seat, posed(task, seat), task.choices)
        return Outcome({seat: float(bool(self.questions.right([task], [said])[0]))})


def environment(spec: str) -> Place:
    """The game, world or question set that `spec` names. Raises RedQueenError for anything else."""
    first = place_of(spec)
    if first in {**WORLDS, **OF_OTHERS}:
        return _of(find_world(spec), spec)
    if first in GAMES or first in ADAPTERS:
        return _of(find_game(spec), spec)
    if first in QUESTIONS or is_data(spec):
        return _of(find_questions(spec), spec)
    if ":" not in spec:
        known = "a game, a world or a question set (`redqueen list`), or FILE.py:NAME"
        raise RedQueenError(f"there is no environment {spec!r}: name {known}")
    return _of(_OWN.find(spec), spec)


def _of(thing: Any, spec: str) -> Place:
    if isinstance(thing, Acting | Working):
        thing = thing.world
    if has(thing, World):
        watched = Watched(thing)
        with closing(watched.open(watched.tasks()[0], 0)) as visit:
            tools = visit.tools
        return Place(spec, Working(watched) if tools else Acting(watched, UNENDING), watched)
    if has(thing, Game):
        if waits(thing):
            raise RedQueenError(f"{spec} runs a program that asks when it likes: audit what it acts in")
        return Place(spec, thing)
    if has(thing, Questions):
        return Place(spec, Asked(thing))
    raise RedQueenError(f"{spec} is no game, no world and no question set: {type(thing).__name__} is none of them")


def drawn(seed: int, phrases: Sequence[str] = PHRASES) -> Callable[[Ask, int], str]:
    """Replies drawn by a seed from those that are listed, or else from the phrases."""

    def say(asked: Ask, number: int) -> str:
        texts = asked.choices or phrases
        return texts[int(uniform(derive(seed, number)) * len(texts))]

    return say


def always(text: str) -> Callable[[Ask, int], str]:
    """The same reply whatever is asked; where that is not among those listed, the first of them."""
    return lambda asked, number: asked.choices[0] if asked.choices and text not in asked.choices else text


class Talk:
    """A match or a visit in progress."""

    def __init__(self, place: Place, task: int, seed: int, say: Say, turns: int, thought: str = "") -> None:
        game = place.game
        self._place, self._say, self._turns, self._thought = place, say, turns, thought
        self._table = Table(
            Match(game, place.tasks[task], dict.fromkeys(game.roles, _NOBODY)), seed, max_turns=UNENDING
        )
        self._visit = place.watched.last if place.watched is not None else None
        self._said, self._states = list[str](), list[str]()
        self._look()

    def goes_on(self) -> bool:
        """Says what comes next; whether anything could be said."""
        table, replies = self._table, list[str]()
        if table.outcome is not None or len(self._said) >= self._turns:
            return False
        for asked in table.asks:
            number = len(self._said) + len(replies)
            if not callable(self._say) and number >= len(self._say):
                return False
            replies.append(self._say(asked, number) if callable(self._say) else self._say[number])
        table.hear([Reply(text, thought=self._thought) for text in replies])
        self._said += replies
        self._look()
        return True

    def _look(self) -> None:
        if self._visit is not None and self._table.outcome is None:
            self._states.append(json.dumps(self._visit.state(), default=str))

    def heard(self) -> Heard:
        """What has been heard so far."""
        asks, outcome = (*(turn.ask for turn in self._table.turns), *self._table.asks), self._table.outcome
        scores = {str(seat): float(score) for seat, score in outcome.scores.items()} if outcome is not None else {}
        facts = outcome.facts if outcome is not None else {}
        return Heard(asks, tuple(self._said), tuple(self._states), scores, outcome is not None, facts)


def heard(
    place: Place,
    task: int,
    seed: int,
    say: Say,
    turns: int = 30,
    between: Callable[[], object] = lambda: None,
    thought: str = "",
) -> Heard:
    """What comes of a task, by its number, where this is said, at most `turns` times. `between` is called before each
    reply."""
    talk = Talk(place, task, seed, say, turns, thought)
    between()
    while talk.goes_on():
        between()
    return talk.heard()


def heard_together(place: Place, *scripts: tuple[int, int, Say], turns: int = 30) -> list[Heard]:
    """The same of several (task, seed, say) at once, which take turns."""
    talks = [Talk(place, task, seed, say, turns) for task, seed, say in scripts]
    going = talks
    while going:
        going = [talk for talk in going if talk.goes_on()]
    return [talk.heard() for talk in talks]


def heard_elsewhere(spec: str, scripts: Sequence[tuple[int, int, Sequence[str]]], salt: int) -> list[str]:
    """What is heard of each (task, seed, said), as text, in a new process whose hashes are salted with `salt`. Raises
    RedQueenError where it fails there."""
    program = (
        "from redqueen.audit.places import environment, heard\n"
        f"place = environment({spec!r})\n"
        f"for script in {[(task, seed, tuple(said)) for task, seed, said in scripts]!r}:\n"
        "    print(ascii(heard(place, *script)))"
    )
    command, salted = [sys.executable, "-c", program], {**os.environ, "PYTHONHASHSEED": str(salt)}
    done = subprocess.run(command, env=salted, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise RedQueenError(f"{spec} fails in a process of its own: {' '.join(done.stderr.split())[-200:]}")
    return done.stdout.splitlines()


class _Nobody:
    name = "nobody"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        raise AssertionError("the replies to these asks are fed in")


_NOBODY = _Nobody()
