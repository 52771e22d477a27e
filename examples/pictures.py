"""A world with a tool: a picture of digits, of which a tool shows a part, a few times.

redqueen check examples/pictures.py:Pictures
redqueen train cold_start --game working:examples/pictures.py:Pictures --steps 100 --max-completion-length 16
redqueen train verltool --game working:examples/pictures.py:Pictures --model FOLDER --lora-rank 0
"""

from __future__ import annotations

from random import Random

from redqueen.games.tools import ToolError
from redqueen.types import Assessment, Observation, Task

SIDE, LOOKS = 8, 3  # digits of a side, and how often a part may be looked at


def picture(seed: int) -> list[list[int]]:
    rng = Random(seed)
    return [[rng.randint(0, 9) for _ in range(SIDE)] for _ in range(SIDE)]


def posed(seed: int) -> Task:
    row, column = Random(-1 - seed).choices(range(1, SIDE + 1), k=2)
    digit = picture(seed)[row - 1][column - 1]
    facts = {"picture": seed, "row": row, "column": column, "digit": digit, "hidden": (f"answer: {digit}",)}
    return Task(str(seed), prompt=f"Which digit is in row {row} , column {column} ?", facts=facts)


class Pictures:
    """Digits in a picture that is too large to be shown."""

    name = "pictures"
    repeatable = True

    def tasks(self) -> list[Task]:
        return [posed(seed) for seed in range(40, 240)]

    def held_out(self) -> list[Task]:
        return [posed(seed) for seed in range(40)]

    def expert(self, task: Task) -> tuple[str, ...]:
        """Replies: a call, and the answer."""
        return (f"<crop>{task.facts['row']} {task.facts['column']}</crop>", str(task.facts["digit"]))

    def open(self, task: Task, seed: int) -> Looking:
        return Looking(task)


class Looking:
    """A visit, and its tool: an object with a name, a line of usage and a call, which changes the visit."""

    def __init__(self, task: Task) -> None:
        self.task, self.looked = task, list[str]()
        self.tools = (Crop(self),)

    def look(self) -> Observation:
        return Observation(f"A picture of {SIDE} x {SIDE} digits.")

    def act(self, said: str) -> Observation:  # for `acting:`; with tools alone nothing else is to be done
        return Observation("Call the tool, or answer.")

    def state(self) -> dict[str, list[str]]:
        return {"looked": list(self.looked)}

    def assess(self, answer: str = "") -> Assessment:
        return Assessment(float(answer.strip() == str(self.task.facts["digit"])), facts={"looks": len(self.looked)})

    def close(self) -> None:
        pass


class Crop:
    name = "crop"
    usage = "<crop>row column</crop> shows the digit there and those around it."

    def __init__(self, visit: Looking) -> None:
        self.visit = visit

    def __call__(self, text: str) -> str:
        """What is shown. A ToolError is shown too; any other exception ends the run."""
        words = text.split()
        if len(words) != 2 or not all(word.isdecimal() and 1 <= int(word) <= SIDE for word in words):
            raise ToolError(f"a place is two numbers from 1 to {SIDE}")
        if len(self.visit.looked) == LOOKS:
            raise ToolError(f"you have looked {LOOKS} times")
        self.visit.looked.append(text)
        row, column = (int(word) - 1 for word in words)
        digits = picture(self.visit.task.facts["picture"])
        shown = [digits[at][max(0, column - 1) : column + 2] for at in range(max(0, row - 1), min(SIDE, row + 2))]
        return f"{digits[row][column]} , and around it " + " / ".join(" ".join(map(str, each)) for each in shown)
