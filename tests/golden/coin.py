"""Questions with arbitrary answers, which an untrained model gets right half of the time, so that rewards differ."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from redqueen.types import Assessment, Demonstration, Observation, Task


def coin(*texts: str) -> bool:
    """The same for the same texts, and as good as chance."""
    return bool(zlib.crc32("|".join(texts).encode()) >> 3 & 1)


class Coin:
    """Whatever a proposer writes is a question; an answer is right if the checksum of both is odd."""

    name = "coin"
    kinds = ("coin",)
    levels = ("one",)

    def seeds(self) -> list[Task]:
        return [Task("seed", "coin", "heads?", "h"), Task("seed2", "coin", "tails?", "t")]

    def sources(self, kind: str) -> tuple[str, ...]:
        return self.kinds

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        return Task(f"invite-{kind}-{number}", kind, " ".join(["Ask:", *(task.prompt for task in references)])[:40])

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task]:
        return [Task(f"q-{reply[:8]}", "coin", reply[:8] or "?", reply[:1]) for reply in replies]

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [coin(task.prompt, answer) for task, answer in zip(tasks, answers, strict=True)]

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        numbers = [rng.randrange(10**6) for _ in range(count)]
        return [Task(f"p-{n}", "coin", f"{n}?", str(n % 10), {"level": level}) for n in numbers]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        problems = [replace(task, answer=str(rng.randrange(10))) for task in self.problems("one", count, rng)]
        return [Demonstration("solver", task, task.answer) for task in problems]


class CoinOfList(Coin):
    """The same, whose proposer chooses among listed questions, and whose solver among three answers."""

    name = "coin of a list"

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        listed = tuple(f"{number}{letter}?" for letter in "abcdefgh")
        return replace(super().invite(kind, references, number), choices=listed)

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return [replace(task, choices=("0", "1", "2")) for task in super().problems(level, count, rng)]


class Purse:
    """A world in which an untrained model's answer is right half of the time."""

    name = "purse"
    repeatable = True

    def tasks(self) -> list[Task]:
        return [Task(f"p{number}", prompt=f"Say {number}.") for number in range(6)]

    def held_out(self) -> list[Task]:
        return [Task(f"h{number}", prompt=f"Say {number} again.") for number in range(2)]

    def open(self, task: Task, seed: int) -> Opened:
        return Opened(task)


class Opened:
    """A visit to it."""

    tools = ()

    def __init__(self, task: Task) -> None:
        self.task = task

    def look(self) -> Observation:
        return Observation("A purse.")

    def act(self, said: str) -> Observation:
        return Observation("No.")

    def state(self) -> dict[str, str]:
        return {}

    def assess(self, answer: str = "") -> Assessment:
        return Assessment(float(coin(self.task.prompt, answer)))

    def close(self) -> None:
        return None
