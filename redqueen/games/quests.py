"""Quests: small text games written as JSON, of places, things and rules by which two things make a third.

    {"places": ["hall", "kitchen", "cellar"], "doors": [["hall", "kitchen"], ["hall", "cellar"]],
     "things": {"key": "kitchen", "chest": "cellar"}, "fixed": ["chest"],
     "rules": [{"use": "key", "with": "chest", "at": "cellar", "gives": "open chest"}],
     "start": "hall", "goal": "open chest", "limit": 6}

A move is to go through a door, to take a thing that is not fixed, or to use a thing that is carried with one that is
carried or lies here. Where a rule says so, that gives a new thing; elsewhere nothing happens, and the move is spent.
Nothing is used up, so a quest that can be won is never lost before its moves are. All that counts is told at each turn.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from random import Random
from typing import Any

from redqueen.chance import derive
from redqueen.games.talk import ask, titled, told
from redqueen.protocols import Play, Row, shaped
from redqueen.types import Damaged, Outcome, RedQueenError, Seat, Task

SEEKER = Seat("seeker")
MOST = {"places": 8, "things": 8, "rules": 6, "limit": 40}
MOST_QUESTS = 10_000  # of a game: each is drawn until it is another one
LONGEST_NAME = 24
TRIES = 200  # specifications that are drawn for each quest of a game

_RULE = {"use": str, "with": str, "at": str, "gives": str}
_QUEST = {
    "places": [str],
    "doors": [Row(str, str)],
    "things": {...: str},
    "fixed?": [str],
    "rules": [_RULE],
    "start": str,
    "goal": str,
    "limit": int,
}


@dataclass(frozen=True)
class Rule:
    """Whoever uses one thing with another at this place gets a new one."""

    use: str
    other: str
    at: str
    gives: str


@dataclass(frozen=True)
class Quest:
    """What `quest_of` reads."""

    places: tuple[str, ...]
    doors: tuple[tuple[str, str], ...]
    things: tuple[tuple[str, str], ...]  # name and place
    fixed: tuple[str, ...]  # things that nobody can take
    rules: tuple[Rule, ...]
    start: str
    goal: str
    limit: int  # moves


@dataclass(frozen=True)
class Standing:
    """Where the seat is, and what it carries."""

    place: str
    carried: frozenset[str] = frozenset()


def quest_of(said: Any) -> Quest:
    """The quest that a JSON object, or its text, describes. Raises RedQueenError with one line that says what is wrong:
    a part that is missing or of another kind, a name that is not there or is there twice, more than eight places."""
    if isinstance(said, str):
        try:
            said = json.loads(said)
        except (ValueError, RecursionError) as error:
            raise RedQueenError(f"a quest is written as one JSON object: {str(error)[:80]}") from None
    try:
        shaped(said, _QUEST, "the quest")
    except Damaged as error:
        raise RedQueenError(str(error)) from None
    rules = tuple(Rule(each["use"], each["with"], each["at"], each["gives"]) for each in said["rules"])
    found = Quest(
        tuple(said["places"]),
        tuple((one, other) for one, other in said["doors"]),
        tuple(said["things"].items()),
        tuple(said.get("fixed", ())),
        rules,
        said["start"],
        said["goal"],
        said["limit"],
    )
    if fault := _fault(found):
        raise RedQueenError(f"the quest {fault}")
    return found


def _fault(quest: Quest) -> str:
    """What is wrong with the names and numbers of a quest; "" if nothing is."""
    things, made = dict(quest.things), [rule.gives for rule in quest.rules]
    for name, count in (("places", len(quest.places)), ("things", len(things)), ("rules", len(made))):
        if not 1 <= count <= MOST[name]:
            return f"has {count} {name}: from 1 to {MOST[name]}"
    if not 1 <= quest.limit <= MOST["limit"]:
        return f"has a limit of {quest.limit} moves: from 1 to {MOST['limit']}"
    names = [*quest.places, *things, *made]
    if odd := [name for name in names if not name or len(name) > LONGEST_NAME or not name.replace(" ", "").isalpha()]:
        return f"has the name {odd[0]!r:.40}: names are letters and spaces, at most {LONGEST_NAME}"
    if twice := [name for name in names if names.count(name) > 1]:
        return f"has two of {twice[0]!r}: each place, thing and product has a name of its own"
    for what, used, known in (
        ("place", [quest.start, *things.values(), *(end for door in quest.doors for end in door)], quest.places),
        ("place", [rule.at for rule in quest.rules], quest.places),
        ("thing", [name for rule in quest.rules for name in (rule.use, rule.other)], (*things, *made)),
        ("fixed thing", quest.fixed, tuple(things)),
        ("product of a rule", [quest.goal], tuple(made)),
    ):
        if lost := [name for name in used if name not in known]:
            return f"names {lost[0]!r:.40}, which is no {what} of it: {', '.join(known)}"
    return ""


def to_json(quest: Quest) -> dict[str, Any]:
    """The JSON object that `quest_of` reads."""
    return {
        "places": list(quest.places),
        "doors": [list(door) for door in quest.doors],
        "things": dict(quest.things),
        "fixed": list(quest.fixed),
        "rules": [{"use": each.use, "with": each.other, "at": each.at, "gives": each.gives} for each in quest.rules],
        "start": quest.start,
        "goal": quest.goal,
        "limit": quest.limit,
    }


def moves(quest: Quest, standing: Standing) -> dict[str, Standing]:
    """What can be done, in words, and how one stands then."""
    place, carried = standing.place, standing.carried
    found = {}
    for one, other in quest.doors:
        if place in (one, other):
            beyond = other if place == one else one
            found[f"go to {beyond}"] = Standing(beyond, carried)
    here = [name for name, at in quest.things if at == place and name not in carried]
    for name in here:
        if name not in quest.fixed:
            found[f"take {name}"] = Standing(place, carried | {name})
    for rule in quest.rules:
        if rule.use in carried and (rule.other in carried or rule.other in here):
            then = found.setdefault(f"use {rule.use} with {rule.other}", standing)
            if rule.at == place:
                found[f"use {rule.use} with {rule.other}"] = Standing(place, then.carried | {rule.gives})
    return found


def shortest(quest: Quest) -> tuple[str, ...] | None:
    """The fewest moves to the goal, found breadth first over the quest's own moves; None where the limit does not
    allow it, or nothing does."""
    start = Standing(quest.start)
    seen, ahead = {start}, deque[tuple[Standing, tuple[str, ...]]]([(start, ())])
    while ahead:
        standing, done = ahead.popleft()
        if len(done) == quest.limit:
            return None
        for move, then in moves(quest, standing).items():
            if quest.goal in then.carried:
                return (*done, move)
            if then not in seen:
                seen.add(then)
                ahead.append((then, (*done, move)))
    return None


def form(quest: Quest) -> str:
    """A digest that is the same for quests that differ in their names alone. Names are told apart by what they do,
    refined as often as there are names, so that two quests of one form are as good as always one quest."""
    marks = dict.fromkeys([*quest.places, *dict(quest.things), *(rule.gives for rule in quest.rules)], "")
    things = dict(quest.things)
    for _ in range(len(marks)):
        told = {
            name: (
                mark,
                name == quest.start,
                name == quest.goal,
                name in quest.fixed,
                marks[things[name]] if name in things else "",
                sorted(marks[thing] for thing, at in quest.things if at == name),
                sorted(marks[other] for door in quest.doors if name in door for other in door if other != name),
                sorted(
                    [(name == each, marks[each]) for each in (rule.use, rule.other, rule.at, rule.gives)]
                    for rule in quest.rules
                    if name in (rule.use, rule.other, rule.at, rule.gives)
                ),
            )
            for name, mark in marks.items()
        }
        marks = {name: sha256(repr(each).encode()).hexdigest()[:16] for name, each in told.items()}
    return sha256(repr((sorted(marks.values()), quest.limit)).encode()).hexdigest()[:16]


PLACES = (
    "hall",
    "kitchen",
    "cellar",
    "attic",
    "garden",
    "stable",
    "library",
    "tower",
    "well",
    "chapel",
    "mill",
    "forge",
)
THINGS = ("key", "rope", "lamp", "knife", "cup", "stone", "bell", "coin", "nail", "plank", "bucket", "spade", "candle")
MADE = ("torch", "hook", "bridge", "potion", "mask", "flag", "wheel", "crown", "anchor", "kite", "drum", "bow")
CHAINED = 0.8  # of the drawn rules, which go on from what the rule before them gave


def drawn(rng: Random, steps: int) -> Quest:
    """A specification by filling in a template: `steps` rules, most of which need what the one before gave, in places
    that form a tree. Whether it can be won is not looked at. Raises RedQueenError for more rules than a quest has."""
    if not 1 <= steps <= MOST["rules"]:
        raise RedQueenError(f"a quest has 1 to {MOST['rules']} steps, not {steps}")
    places = rng.sample(PLACES, rng.randint(2, min(steps + 2, MOST["places"])))
    doors = [(places[rng.randrange(number)], places[number]) for number in range(1, len(places))]
    things, made = rng.sample(THINGS, min(steps + 2, MOST["things"])), rng.sample(MADE, steps)
    rules = []
    for number, gives in enumerate(made):
        use, other = rng.sample([*things, *(name for name in made if name != gives)], 2)
        if number and rng.random() < CHAINED:
            use, other = made[number - 1], rng.choice(things)
        rules.append(Rule(use, other, rng.choice(places), gives))
    return Quest(
        tuple(places),
        tuple(doors),
        tuple((name, rng.choice(places)) for name in things),
        (rng.choice(things),),
        tuple(rules),
        rng.choice(places),
        made[-1],
        rng.randint(2, 4 * steps + 4),
    )


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Quest:
    return quest_of(text)


def task_of(quest: Quest, name: str = "") -> Task:
    """The quest as a task; its id is its form where it has no `name`."""
    text = json.dumps(to_json(quest), sort_keys=True)
    return Task(name or f"quest {form(quest)}", "quest", facts={"quest": text})


def quest_in(task: Task) -> Quest:
    """The quest of a task."""
    return _parsed(task.facts["quest"])


@dataclass(frozen=True)
class Quests:
    """`count` quests of `steps` rules, and `held` others that are held out: no two are the same up to their names.
    Each can be won, in `fewest` moves or more, and may take `spare` more moves than the shortest way has. Who has the
    goal scores 1, else 0."""

    count: int = 64
    held: int = 32
    steps: int = 1
    fewest: int = 2
    spare: int = 2
    seed: int = 0
    retries: int = 0  # second chances after an illegal reply, before it is a forfeit
    roles: tuple[str, ...] = field(default=("seeker",), init=False)
    perfect_information: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        moves = MOST["limit"]
        if not (1 <= self.count <= MOST_QUESTS and 1 <= self.held <= MOST_QUESTS):
            raise RedQueenError(f"quests are 1 to {MOST_QUESTS:,}, and as many held out, not {self.count}, {self.held}")
        if not 0 <= self.spare < moves or not 1 <= self.fewest <= moves:
            raise RedQueenError(
                f"a quest takes 1 to {moves} moves, with 0 to {moves - 1} to spare, not {self.fewest}, {self.spare}"
            )

    @property
    def name(self) -> str:
        return titled("quests", self)

    def tasks(self) -> list[Task]:
        return list(_dealt(self)[: self.count])

    def held_out(self) -> list[Task]:
        return list(_dealt(self)[self.count :])

    def expert(self, task: Task) -> tuple[str, ...]:
        """The shortest way."""
        way = shortest(quest_in(task))
        if way is None:
            raise RedQueenError(f"{task.id} cannot be won")
        return way

    def play(self, task: Task, rng: Random) -> Play:
        quest = quest_in(task)
        standing = Standing(quest.start)
        for done in range(quest.limit):
            legal = moves(quest, standing)
            text = yield from ask(SEEKER, told(shown(quest, standing, quest.limit - done)), tuple(legal), self.retries)
            if text not in legal:
                return Outcome({SEEKER: 0.0}, {"forfeit": str(SEEKER), "reason": "illegal" if text else "malformed"})
            standing = legal[text]
            if quest.goal in standing.carried:
                return Outcome({SEEKER: 1.0}, {"moves": done + 1})
        return Outcome({SEEKER: 0.0}, {"moves": quest.limit})


@lru_cache(maxsize=32)
def _dealt(game: Quests) -> tuple[Task, ...]:
    """The quests of a game and those held out. Raises RedQueenError where there are not so many different ones."""
    rng, found = Random(derive(game.seed, "quests")), dict[str, Task]()
    for _ in range(TRIES * (game.count + game.held)):
        quest = limited(drawn(rng, game.steps), MOST["limit"] - game.spare)
        way, name = shortest(quest), form(limited(quest, 0))
        if way is not None and len(way) >= game.fewest and name not in found:
            found[name] = task_of(limited(quest, len(way) + game.spare), f"quest {name}")
        if len(found) == game.count + game.held:
            return tuple(found.values())
    raise RedQueenError(
        f"{len(found)} different quests of {game.steps} steps are all that were found, not "
        f"{game.count + game.held}: a smaller count, or more steps"
    )


def limited(quest: Quest, limit: int) -> Quest:
    """The quest with another limit of moves."""
    return replace(quest, limit=limit)


def shown(quest: Quest, standing: Standing, left: int) -> str:
    """What the seat is told."""
    doors = "; ".join(f"{one} - {other}" for one, other in quest.doors)
    rules = " ".join(f"{rule.use} with {rule.other} in {rule.at}: {rule.gives}." for rule in quest.rules)
    lie = "; ".join(f"{name} in {at}" for name, at in quest.things if name not in standing.carried)
    held = ", ".join(sorted(standing.carried)) or "nothing"
    return (
        f"Get: {quest.goal}. Doors: {doors}. Rules: {rules} Things: {lie or 'none'}. You are in {standing.place} with "
        f"{held}. Moves left: {left}."
    )
