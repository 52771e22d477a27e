"""How a judge is asked, and any domain with demonstrations of judging beside its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from redqueen.domains.catalogue import demonstrator, find_domain
from redqueen.protocols import Domain
from redqueen.types import Demonstration, Refusal, Task


def about_question(task: Task, number: int = 0) -> Task:
    """What a judge of a proposed question is shown; the rubric is MAE's (2510.23595), shortened."""
    prompt = f"Score the question from 1 (no sense) to 10 (clear and solvable) as <score>5</score>.\n{task.prompt}"
    return Task(f"quality {number} of {task.id}", "question", prompt)


def about_answer(task: Task, answer: str, number: int = 0) -> Task:
    """What a judge of an answer is shown: the question and the answer, and nothing that knows better."""
    prompt = f"Score the answer from 1 (wrong) to 10 (right) as <score>5</score>.\n{task.prompt} {answer}"
    return Task(f"answer {number} to {task.id}", "answer", prompt)


def judged(inner: str = "sums", skill: float = 0.9) -> Judged:
    """The domain `inner` with a judge whose demonstrations are right that often."""
    return Judged(find_domain(inner), skill)


@dataclass(frozen=True)
class Judged:
    """Another domain, and demonstrations of judging it: one for every two of its own. `skill` is for these only: how
    often the judge is right about an answer; every readable question is called a good one."""

    inner: Domain
    skill: float
    name: str = field(default="judged", repr=False)

    @property
    def kinds(self) -> tuple[str, ...]:
        return self.inner.kinds

    @property
    def levels(self) -> tuple[str, ...]:
        return self.inner.levels

    def seeds(self) -> list[Task]:
        return self.inner.seeds()

    def sources(self, kind: str) -> tuple[str, ...]:
        return self.inner.sources(kind)

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        return self.inner.invite(kind, references, number)

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        return self.inner.read(invitations, replies)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return self.inner.right(tasks, answers)

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return self.inner.problems(level, count, rng)

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        shown = demonstrator(self.inner).demonstrations(count, rng)
        solved = [one for one in shown if one.role == "solver"]
        right = self.inner.right([one.task for one in solved], [one.text for one in solved])
        judgements = [
            self._on_question(one.task, rng) if rng.random() < 0.25 else self._on_answer(one, each, rng)
            for one, each in zip(solved, right, strict=True)
        ]
        kept = count - count // 3
        return shown[:kept] + judgements[: count - kept]

    def _on_question(self, task: Task, rng: Random) -> Demonstration:
        return Demonstration("judge", about_question(task), f"<score>{rng.choice((8, 9, 10))}</score>")

    def _on_answer(self, one: Demonstration, right: bool, rng: Random) -> Demonstration:
        high = right == (rng.random() < self.skill)
        score = rng.choice((8, 9, 10) if high else (1, 2, 3))
        return Demonstration("judge", about_answer(one.task, one.text), f"<score>{score}</score>")
