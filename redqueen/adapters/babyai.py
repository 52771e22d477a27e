"""BabyAI's grids in words (Chevalier-Boisvert et al. 2019, arXiv:1810.08272), from the package minigrid.

    go to the red key
    facing a wall 4 ahead. red key 3 ahead 2 right, blue ball 1 ahead 1 left

An agent sees seven cells ahead and three to each side; its seven acts are listed. A mission is done or not: the score
is 1 or 0, however many acts it took. `expert` is the package's own bot.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

from redqueen.adapters.gymnasium import EnvironmentVisit, made, seeded
from redqueen.games.talk import titled
from redqueen.types import Assessment, RedQueenError, Task

ACTS = ("left", "right", "forward", "pick up", "drop", "toggle", "wait")
WIDTH, AHEAD = 3, 6  # cells that are seen to each side, and ahead
PASSED = ("unseen", "empty", "floor", "wall")  # kinds of cells that are not named one by one


def levels() -> list[str]:
    """The names of BabyAI's levels among the environments of Gymnasium. Raises RedQueenError without the extra."""
    try:
        import gymnasium
        import minigrid  # noqa: F401
    except ImportError:
        raise RedQueenError("the grids of BabyAI need another library: pip install 'redqueen[worlds]'") from None
    return sorted(each for each in gymnasium.registry if each.startswith("BabyAI-"))


@dataclass(frozen=True)
class Grid:
    """A level of BabyAI: GoToLocal, PickupLoc, PutNextLocal, ... with the seeds 0 to `tests` held out and the next
    `count` to train on."""

    level: str = "GoToLocal"
    count: int = 400
    tests: int = 100
    repeatable = True

    def __post_init__(self) -> None:
        if self.count < 1 or self.tests < 1:
            raise RedQueenError(f"a world needs a task and a held-out one, not {self.count} and {self.tests}")
        if f"BabyAI-{self.level}-v0" not in (known := levels()):
            found = ", ".join(name.split("-")[1] for name in known)
            raise RedQueenError(f"BabyAI has no level {self.level!r}; its levels are {found}")

    @property
    def name(self) -> str:
        return titled("grid", self)

    def tasks(self) -> Sequence[Task]:
        return [seeded(seed) for seed in range(self.tests, self.tests + self.count)]

    def held_out(self) -> Sequence[Task]:
        return [seeded(seed) for seed in range(self.tests)]

    def open(self, task: Task, seed: int) -> GridVisit:
        return GridVisit(made(f"BabyAI-{self.level}-v0"), int(task.facts["seed"]), ACTS, in_words)

    def expert(self, task: Task) -> tuple[str, ...]:
        """The acts of the package's bot. Raises RedQueenError where it fails."""
        from minigrid.utils.baby_ai_bot import BabyAIBot

        with closing(self.open(task, 0)) as visit, redirect_stdout(StringIO()):
            made_by: Any = BabyAIBot  # it has no types
            bot = made_by(visit.env.unwrapped)
            acts = list[str]()
            while not visit.over:
                number = int(bot.replan(ACTS.index(acts[-1]) if acts else None))
                acts.append(ACTS[number])
                visit.act(acts[-1])
            if visit.assess().score == 1.0:
                return tuple(acts)
        raise RedQueenError(f"the bot of BabyAI does not do the task {task.id} of {self.level}")


class GridVisit(EnvironmentVisit):
    """One grid. Acts gain nothing: the mission alone counts."""

    def gained(self, reward: float) -> float:
        return 0.0

    def assess(self, answer: str = "") -> Assessment:
        return Assessment(float(self.total > 0.0))


def in_words(env: Any, observation: Any) -> str:
    """The mission, and what is seen from where the agent stands."""
    from minigrid.core.constants import IDX_TO_COLOR, IDX_TO_OBJECT, STATE_TO_IDX

    states = {number: word for word, number in STATE_TO_IDX.items()}
    cells, seen, held = observation["image"], list[tuple[int, str]](), ""
    for side in range(2 * WIDTH + 1):
        for row in range(AHEAD + 1):
            kind, colour, state = (int(number) for number in cells[side][row])
            if IDX_TO_OBJECT[kind] in PASSED:
                continue
            open_or_not = f"{states[state]} " if IDX_TO_OBJECT[kind] == "door" else ""
            thing = f"{open_or_not}{IDX_TO_COLOR[colour]} {IDX_TO_OBJECT[kind]}"
            ahead, right = AHEAD - row, side - WIDTH
            if ahead == right == 0:
                held = f" You hold a {thing}."
            else:
                seen.append((ahead + abs(right), f"{thing} {_place(ahead, right)}"))
    walls = [AHEAD - row for row in range(AHEAD) if IDX_TO_OBJECT[int(cells[WIDTH][row][0])] == "wall"]
    wall = f"Wall {min(walls)} ahead." if walls else "No wall ahead."
    things = ", ".join(words for _, words in sorted(seen)) or "nothing"
    return f"{observation['mission']}\n{wall}{held} You see: {things}"


def _place(ahead: int, right: int) -> str:
    parts = [f"{ahead} ahead"] if ahead else []
    if right:
        parts.append(f"{abs(right)} {'right' if right > 0 else 'left'}")
    return " ".join(parts)
