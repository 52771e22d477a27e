"""BabyAI's grids in words (Chevalier-Boisvert et al. 2019, arXiv:1810.08272), from the package minigrid.

    go to the red key
    facing a wall 4 ahead. red key 3 ahead 2 right, blue ball 1 ahead 1 left

An agent sees seven cells ahead and three to each side; its seven acts are listed. A mission is done or not: the score
is 1 or 0, however many acts it took. `expert` is the package's own bot, for missions that are set in hindsight too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any

from redqueen.adapters.gymnasium import EnvironmentVisit, made, seeded
from redqueen.games.talk import titled
from redqueen.protocols import State
from redqueen.types import Assessment, RedQueenError, Task

ACTS = ("left", "right", "forward", "pick up", "drop", "toggle", "wait")
WIDTH, AHEAD = 3, 6  # cells that are seen to each side, and ahead
THINGS = ("key", "ball", "box", "door")
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

    def with_goal(self, task: Task, after: State, prompt: str) -> Task:
        """The task that begins as `task` does with another mission: to hold what is held in the end, or to go to what
        is in front. What is asked for stands in its views; `prompt` is shown before them."""
        goal = self._goal(task, after)
        if goal == ("", ""):
            raise RedQueenError(f"nothing was reached that may be the goal of a task that begins as {task.id}")
        mission = in_mission(goal)
        facts = {"seed": task.facts["seed"], "goal": list(goal)}
        return Task(f"{task.id.partition(' ')[0]} {mission}", prompt="" if prompt == mission else prompt, facts=facts)

    def worded(self, task: Task, after: State) -> str:
        """ "" where nothing is held or reached that was not at the start, and for what is held out."""
        return in_mission(self._goal(task, after))

    def _goal(self, task: Task, after: State) -> tuple[str, str]:
        """What has to be done ("hold" or "reach") and the thing; ("", "") for nothing."""
        if task.facts["seed"] < self.tests:
            return "", ""
        with closing(self.open(replace(task, facts={"seed": task.facts["seed"]}), 0)) as visit:
            before = visit.state()
        found = next(((what, after[what]) for what in ("hold", "reach") if after[what]), ("", ""))
        return ("", "") if found[1] and before[found[0]] == found[1] else found

    def open(self, task: Task, seed: int) -> GridVisit:
        goal = task.facts.get("goal", ("", ""))
        return GridVisit(made(f"BabyAI-{self.level}-v0"), int(task.facts["seed"]), (goal[0], goal[1]))

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
    """One grid, with the mission of its level or a `goal` in its place. Acts gain nothing: the mission alone counts."""

    def __init__(self, env: Any, seed: int, goal: tuple[str, str] = ("", "")) -> None:
        super().__init__(env, seed, ACTS, in_words)
        if goal[0]:
            from minigrid.envs.babyai.core import verifier

            told_by: Any = verifier  # it has no types
            grid, (colour, kind) = env.unwrapped, goal[1].split()
            instruction = told_by.PickupInstr if goal[0] == "hold" else told_by.GoToInstr
            grid.instrs = instruction(told_by.ObjDesc(kind, colour))
            grid.mission = in_mission(goal)
            grid.instrs.reset_verifier(grid)
            self._first = self._shown = in_words(env, grid.gen_obs())

    def state(self) -> Mapping[str, Any]:
        """With the thing that the agent may `hold`, and the one in front of it that it may `reach`."""
        grid = self.env.unwrapped
        ahead = grid.grid.get(*grid.front_pos)
        things = [("hold", grid.carrying), ("reach", ahead if ahead is not None and ahead.type in THINGS else None)]
        return {**super().state(), **{what: f"{of.color} {of.type}" if of else "" for what, of in things}}

    def gained(self, reward: float) -> float:
        return 0.0

    def assess(self, answer: str = "") -> Assessment:
        return Assessment(float(self.total > 0.0))


def in_mission(goal: tuple[str, str]) -> str:
    """A goal as BabyAI words it; "" for none."""
    verb = {"hold": "pick up", "reach": "go to"}.get(goal[0], "")
    return f"{verb} the {goal[1]}" if verb else ""


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
