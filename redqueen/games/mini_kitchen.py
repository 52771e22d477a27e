"""Mini kitchen: two cooks make onion soup together, each choosing its next skill when it is done with the last.

A kitchen of 4 by 5 cells, of which the middle 2 by 3 are the floor; pot, onions, dishes and hatch stand along the
walls. Three onions in the pot are soup after `cooking` steps; soup in a dish is served at the hatch. A skill takes as
many steps as the way to its place and one more; a cook who stands in the way is walked around, or waited for. One that
finds no way for 3 steps gives its skill up and makes room. Both seats score the soups served in `horizon` steps.

A skill whose precondition is not met is refused with the reason, and the cook is asked again, `retries` times; then it
waits for a step. A seat that names no skill for so long ends the match, and both score 0. A cook sees what its partner
holds and what it has done, not what it is about to do. Without `remember` it is shown the last thing that each did.

After Overcooked's cramped room as ProAgent plays it (arXiv:2308.11339).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType

from redqueen.games.talk import GAME, ask_together, not_among_choices, offence, titled
from redqueen.protocols import Play
from redqueen.types import Ask, Message, Outcome, RedQueenError, Seat, Task

SEATS = FIRST, SECOND = Seat("first"), Seat("second")
SKILLS = ONION, POT, DISH, SOUP, SERVE, DISCARD, WAIT = "onion", "pot", "dish", "soup", "serve", "discard", "wait"
NOTHING = "nothing"
FULL = 3  # onions of a soup
FLOOR = tuple((row, column) for row in (1, 2) for column in (1, 2, 3))
PLACES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {POT: (1, 1), SOUP: (1, 1), ONION: (1, 3), SERVE: (2, 1), DISH: (2, 3)}
)
"""Where a cook stands to use a skill; to wait and to discard it stands anywhere."""
BEGIN = ((2, 2), (1, 2))
PATIENCE = 3  # steps without a way before a cook gives a skill up


@dataclass
class Kitchen:
    """A kitchen in use."""

    cooking: int
    cells: list[tuple[int, int]] = field(default_factory=lambda: list(BEGIN))
    holds: list[str] = field(default_factory=lambda: [NOTHING, NOTHING])
    onions: int = 0
    left: int = 0  # steps until the soup is done; 0 where it is, or none is cooking
    served: int = 0

    @property
    def ready(self) -> bool:
        return self.onions == FULL and not self.left

    def unmet(self, cook: int, skill: str) -> str:
        """Why a cook cannot use a skill now; "" where it can."""
        holds = self.holds[cook]
        if skill in (ONION, DISH) and holds != NOTHING:
            return f"you hold {holds}, and need empty hands"
        if skill == POT and holds != "an onion":
            return f"you hold {holds}, and need an onion"
        if skill == POT and self.onions == FULL:
            return "the pot is full"
        if skill == SOUP and holds != "a dish":
            return f"you hold {holds}, and need a dish"
        if skill == SOUP and not self.ready:
            return "no soup is ready"
        if skill == SERVE and holds != "soup":
            return f"you hold {holds}, and need soup"
        if skill == DISCARD and holds == NOTHING:
            return "you hold nothing"
        return ""

    def use(self, cook: int, skill: str) -> None:
        """Does what a skill does at its place."""
        if skill == WAIT:
            return
        if skill == POT:
            self.onions += 1
            self.left = self.cooking if self.onions == FULL else 0
        if skill == SOUP:
            self.onions = 0
        self.served += skill == SERVE
        now = {ONION: "an onion", DISH: "a dish", SOUP: "soup", POT: NOTHING, SERVE: NOTHING, DISCARD: NOTHING}
        self.holds[cook] = now[skill]

    def step(self, cook: int, place: tuple[int, int]) -> bool:
        """Takes a step of the shortest way around the other cook; False where there is none."""
        other = self.cells[1 - cook]
        way = _way(self.cells[cook], place, other)
        if way:
            self.cells[cook] = way[0]
        return bool(way)

    def make_room(self, cook: int) -> None:
        """Steps to a free cell beside the own one, where there is one."""
        row, column = self.cells[cook]
        beside = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        free = [each for each in beside if each in FLOOR and each != self.cells[1 - cook]]
        self.cells[cook] = free[0] if free else (row, column)

    def pot(self) -> str:
        """How the pot is said to be."""
        if self.ready:
            return "soup, ready"
        return f"soup, ready in {self.left}" if self.onions == FULL else f"{self.onions} of {FULL} onions"


def _way(start: tuple[int, int], place: tuple[int, int], other: tuple[int, int]) -> list[tuple[int, int]]:
    """The cells of the shortest way to a place, without the start; none where the other cook stands in it."""
    before: dict[tuple[int, int], tuple[int, int]] = {start: start}
    queue = deque([start])
    while queue:
        row, column = cell = queue.popleft()
        for each in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            if each in FLOOR and each != other and each not in before:
                before[each] = cell
                queue.append(each)
    if place not in before:
        return []
    way = [place]
    while before[way[0]] != start:
        way.insert(0, before[way[0]])
    return way if place != start else []


@dataclass(frozen=True)
class MiniKitchen:
    horizon: int = 120
    cooking: int = 3
    remember: bool = True
    retries: int = 3  # second chances after a skill that cannot be used, before the cook waits
    roles: tuple[str, ...] = field(default=("first", "second"), init=False)
    zero_sum: bool = field(default=False, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.horizon <= 1000 or self.cooking < 1:
            raise RedQueenError(
                f"mini_kitchen has 1 to 1000 steps and soup that cooks for at least 1, not {self.horizon} and "
                f"{self.cooking}"
            )

    @property
    def name(self) -> str:
        return titled("mini_kitchen", self)

    def tasks(self) -> list[Task]:
        return [Task("kitchen", "kitchen")]

    def play(self, task: Task, rng: Random) -> Play:
        kitchen = Kitchen(self.cooking)
        doing: list[str | None] = [None, None]
        did: list[list[str]] = [[], []]  # what each has done
        own: list[list[str]] = [[], []]  # with what was refused and given up
        stuck, refused = [0, 0], [0, 0]

        def objection(question: Ask, text: str) -> str:
            unmet = not_among_choices(question, text) or kitchen.unmet(SEATS.index(question.seat), text)
            return f"{text!r} is not possible: {unmet}. What do you do?" if unmet and text in SKILLS else unmet

        for time in range(self.horizon):
            free = [cook for cook in (0, 1) if doing[cook] is None]
            asked = [
                Ask(SEATS[cook], (Message(GAME, self.told(kitchen, cook, own[cook], did[1 - cook], time)),), SKILLS)
                for cook in free
            ]
            answers = (yield from ask_together(asked, self.retries, objection)) if asked else []
            for cook, answer in zip(free, answers, strict=True):
                if answer.text not in SKILLS:
                    facts = self._facts(did, kitchen, refused)
                    return Outcome(dict.fromkeys(SEATS, 0.0), {**offence(SEATS[cook], answer.text), **facts})
                doing[cook], stuck[cook] = answer.text if answer.legal else WAIT, 0
                tried = [each.text for each in answer.messages if each.speaker == str(SEATS[cook])]
                own[cook] += [
                    f"not {text if text in SKILLS else 'that'}" for text in tried[: len(tried) - answer.legal]
                ]
                refused[cook] += answer.attempts - answer.legal
            kitchen.left = max(kitchen.left - 1, 0)
            for cook in (0, 1):
                skill = doing[cook]
                if skill is None:
                    continue
                there = kitchen.cells[cook] == PLACES.get(skill, kitchen.cells[cook])
                if there and not kitchen.unmet(cook, skill):
                    kitchen.use(cook, skill)
                    did[cook].append(skill)
                    own[cook].append(skill)
                    doing[cook] = None
                elif there or not kitchen.step(cook, PLACES[skill]):
                    stuck[cook] += 1
                    if there or stuck[cook] == PATIENCE:
                        kitchen.make_room(cook)
                        own[cook].append(f"gave up {skill}")
                        doing[cook] = None
        return Outcome(dict.fromkeys(SEATS, float(kitchen.served)), self._facts(did, kitchen, refused))

    def _facts(self, did: list[list[str]], kitchen: Kitchen, refused: list[int]) -> dict[str, object]:
        return {"history": tuple(map(tuple, did)), "served": kitchen.served, "refused": tuple(refused)}

    def told(self, kitchen: Kitchen, cook: int, own: list[str], other: list[str], time: int) -> str:
        """What a cook is shown, of its `own` doings and of those of the `other`."""
        mine, theirs = (", ".join(each if self.remember else each[-1:]) or NOTHING for each in (own, other))
        when = f"Step {time + 1} of {self.horizon}, {kitchen.served} served. " if self.remember else ""
        return (
            f"{when}The pot: {kitchen.pot()}. You hold {kitchen.holds[cook]}. Your partner holds "
            f"{kitchen.holds[1 - cook]}. You did: {mine}. Your partner did: {theirs}. What do you do?"
        )
