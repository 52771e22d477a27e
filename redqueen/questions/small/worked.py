"""Problems that are worked out in steps, a step a line, where each step goes on from the value before it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from redqueen.questions.small.step_traces import HALF, Trace
from redqueen.types import SOLVER, Demonstration, Task

_VALUE = re.compile(r"\d+")


@dataclass(frozen=True)
class Worked:
    """Numbers to which up to nine is added or from which it is taken, or that are halved, in `steps` steps."""

    steps: int = 4
    name: str = field(default="worked", repr=False)

    @property
    def levels(self) -> tuple[str, ...]:
        return (f"{self.steps}_steps",)

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return [self._task(self._trace(rng)) for _ in range(count)]

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [_VALUE.findall(text)[-1:] == [task.answer] for task, text in zip(tasks, answers, strict=True)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        traces = [self._trace(rng) for _ in range(count)]
        return [Demonstration(SOLVER, self._task(each), "\n".join(each.steps())) for each in traces]

    def _trace(self, rng: Random) -> Trace:
        start, found = rng.randrange(20, 60), list[str]()
        value = start
        for _ in range(self.steps):
            halved = value % 2 == 0 and value > 20 and rng.random() < 0.3
            found.append(HALF if halved else f"{rng.choice('+-')}{rng.randrange(1, 10)}")
            value = Trace(start, tuple(found)).values[-1]
        return Trace(start, tuple(found))

    def _task(self, trace: Trace) -> Task:
        return Task(f"worked {trace.problem}", self.levels[0], trace.problem, str(trace.values[-1]))
