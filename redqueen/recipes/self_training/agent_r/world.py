"""A world in which one may say that one went wrong; and a small grid, or with walls a maze, where every step can be
undone."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

from redqueen.chance import derive
from redqueen.games.acting import Acting
from redqueen.games.talk import titled
from redqueen.protocols import State, Tool, Visit, World
from redqueen.types import Assessment, Observation, RedQueenError, Task

REVISE = "I took a wrong turn and go another way"  # one of the ten sentences of the released code, in our words
HEARD = "ok."


def revising(game: Any) -> Acting:
    """The game with the act `REVISE` in its world. Raises RedQueenError for a game without a world in which one acts,
    and for a world whose acts cannot be repeated."""
    if not isinstance(game, Acting):
        raise RedQueenError(
            f"paths are spliced in a world in which one acts, such as acting:site, not in {getattr(game, 'name', game)}"
        )
    if not game.world.repeatable:
        raise RedQueenError(
            f"paths are spliced by repeating their acts, and the world {game.world.name} does not show the same twice"
        )
    return replace(game, world=Revising(game.world))


@dataclass(frozen=True)
class Revising:
    """The world with one more act, `REVISE`, which is heard and changes nothing."""

    world: World

    @property
    def name(self) -> str:
        return self.world.name

    @property
    def repeatable(self) -> bool:
        return self.world.repeatable

    def tasks(self) -> Sequence[Task]:
        return self.world.tasks()

    def held_out(self) -> Sequence[Task]:
        return self.world.held_out()

    def open(self, task: Task, seed: int) -> RevisingVisit:
        return RevisingVisit(self.world.open(task, seed))


class RevisingVisit:
    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._choices = visit.look().choices

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self._visit.tools

    def look(self) -> Observation:
        return _with_revision(self._visit.look())

    def act(self, said: str) -> Observation:
        if said.strip() == REVISE:
            return _with_revision(Observation(HEARD, self._choices))
        found = self._visit.act(said)
        self._choices = found.choices
        return _with_revision(found)

    def state(self) -> State:
        return self._visit.state()

    def assess(self, answer: str = "") -> Assessment:
        return self._visit.assess(answer)

    def close(self) -> None:
        self._visit.close()


def _with_revision(view: Observation) -> Observation:
    """The view with the further act, where acts are listed."""
    return replace(view, choices=(*view.choices, REVISE)) if view.choices and not view.over else view


# --- the grid ----------------------------------------------------------------------------------

STEPS = {"east": (1, 0), "west": (-1, 0), "north": (0, 1), "south": (0, -1)}
Field = tuple[int, int]
Wall = tuple[Field, Field]  # between two fields, the smaller first


@dataclass(frozen=True)
class Grid:
    """A square of `side` fields; a task names where it begins and its goal, and is done on the goal, where it ends. A
    step off the grid, or through a wall, is not listed. `count` tasks to train on; the next `tests` are held out. Of
    `walls` between neighbours, drawn with `seed`, as many are left as keep each field within reach: the maze of all
    tasks, which no prompt shows."""

    side: int = 4
    count: int = 8
    tests: int = 8
    walls: int = 0
    seed: int = 0
    repeatable = True

    def __post_init__(self) -> None:
        if not 0 <= self.walls <= (self.side - 1) ** 2:  # the most that a maze without circles has
            raise RedQueenError(
                f"a grid of side {self.side} has at most {(self.side - 1) ** 2} walls that leave a way everywhere, not "
                f"{self.walls}"
            )
        most = self.side**2 * (self.side**2 - 1)
        if self.count < 1 or self.tests < 1 or self.count + self.tests > most:
            raise RedQueenError(
                f"a grid of side {self.side} has {most} tasks, at least one to train on and one held out, not "
                f"{self.count} and {self.tests}"
            )

    @property
    def name(self) -> str:
        return titled("splicing_grid", self)

    def tasks(self) -> Sequence[Task]:
        return self._dealt[: self.count]

    def held_out(self) -> Sequence[Task]:
        return self._dealt[self.count : self.count + self.tests]

    @cached_property
    def _dealt(self) -> tuple[Task, ...]:
        fields = [(x, y) for x in range(self.side) for y in range(self.side)]
        pairs = [(begin, goal) for begin in fields for goal in fields if begin != goal]
        Random(0).shuffle(pairs)
        return tuple(walk(begin, goal) for begin, goal in pairs)

    @cached_property
    def maze(self) -> frozenset[Wall]:
        """The walls: exactly as many as were asked for."""
        between = [
            ((x, y), (x + dx, y + dy))
            for x in range(self.side)
            for y in range(self.side)
            for dx, dy in ((1, 0), (0, 1))
            if x + dx < self.side and y + dy < self.side
        ]
        Random(derive(self.seed, "maze")).shuffle(between)
        found: set[Wall] = set()
        for wall in between:
            if len(found) < self.walls and len(ways_from((0, 0), self.side, found | {wall})) == self.side**2:
                found.add(wall)
        return frozenset(found)

    def expert(self, task: Task) -> tuple[str, ...]:
        """The shortest acts to the goal."""
        begin, goal = ((x, y) for x, y in (task.facts["before"], task.facts["after"]))
        return ways_from(begin, self.side, self.maze)[goal]

    def open(self, task: Task, seed: int) -> Walk:
        return Walk(self.side, task.facts["before"], task.facts["after"], self.maze)


def ways_from(begin: Field, side: int, walls: AbstractSet[Wall]) -> dict[Field, tuple[str, ...]]:
    """The shortest acts to each field within reach."""
    found, ahead = {begin: tuple[str, ...]()}, deque([begin])
    while ahead:
        here = ahead.popleft()
        for name, there in open_from(here, side, walls).items():
            if there not in found:
                found[there] = (*found[here], name)
                ahead.append(there)
    return found


def open_from(here: Field, side: int, walls: AbstractSet[Wall]) -> dict[str, Field]:
    """The fields next to one that no wall parts from it, by the step that leads there."""
    fields = {name: (here[0] + dx, here[1] + dy) for name, (dx, dy) in STEPS.items()}
    return {
        name: there
        for name, there in fields.items()
        if all(0 <= each < side for each in there) and (min(here, there), max(here, there)) not in walls
    }


def walk(begin: Field, goal: Field) -> Task:
    """The task to get from one field to another."""
    prompt = f"Go to {goal[0]},{goal[1]}."
    return Task(f"{begin} {goal}", "walk", prompt, facts={"before": list(begin), "after": list(goal)})


class Walk:
    """Where in the grid somebody is."""

    tools: tuple[Tool, ...] = ()

    def __init__(self, side: int, begin: Sequence[int], goal: Sequence[int], walls: AbstractSet[Wall]) -> None:
        self._side, self._at, self._goal = side, (begin[0], begin[1]), (goal[0], goal[1])
        self._walls = walls

    def look(self) -> Observation:
        x, y = self._at
        listed = tuple(open_from(self._at, self._side, self._walls))
        return Observation(f"At {x},{y}.", listed, over=self._at == self._goal)

    def act(self, said: str) -> Observation:
        self._at = open_from(self._at, self._side, self._walls).get(said, self._at)
        return self.look()

    def state(self) -> State:
        return {"at": list(self._at)}

    def assess(self, answer: str = "") -> Assessment:
        return Assessment(float(self._at == self._goal))

    def close(self) -> None:
        return None
