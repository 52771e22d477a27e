"""How a model is asked whether an answer is right, and any domain with demonstrations of that beside its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from redqueen.domains.catalogue import demonstrator, find_domain
from redqueen.protocols import Domain
from redqueen.types import Demonstration, Refusal, Task

RIGHT, WRONG = "right", "wrong"
VERIFICATION = "verification"


def about_solution(task: Task, answer: str, right: bool) -> Task:
    """What a verifier is shown: the question, the answer, and nothing that knows better. The task's own answer is the
    verdict that is due."""
    prompt = f"{task.prompt} {answer}\nIs it right or wrong?"
    return Task(f"{answer!r:.60} to {task.id}", VERIFICATION, prompt, RIGHT if right else WRONG)


def verdict(text: str) -> str | None:
    """RIGHT or WRONG, if the last line of the text is that word and no other; None for anything else."""
    last = text.strip().rpartition("\n")[2].strip(" \t.!*\"'").lower()
    return last if last in (RIGHT, WRONG) else None


def verified(inner: str = "sums", skill: float = 0.6) -> Verified:
    """The domain `inner` with a verifier whose demonstrations are right that often."""
    return Verified(find_domain(inner), skill)


@dataclass(frozen=True)
class Verified:
    """Another domain, and demonstrations of verifying its solutions: one for every two of its own. `skill` is for
    these only: how often a verdict is right. As many solutions that are right are shown as wrong ones."""

    inner: Domain
    skill: float = 0.6
    name: str = field(default="verified", repr=False)

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
        sides = [[one for one, each in zip(solved, right, strict=True) if each == side] for side in (True, False)]
        wanted = count // 3
        verdicts = [
            self._on_solution(rng.choice(sides[number % 2]), number % 2 == 0, rng)
            for number in range(wanted)
            if sides[number % 2]
        ]
        return shown[: count - len(verdicts)] + verdicts

    def _on_solution(self, one: Demonstration, right: bool, rng: Random) -> Demonstration:
        said = right == (rng.random() < self.skill)
        return Demonstration("verifier", about_solution(one.task, one.text, right), RIGHT if said else WRONG)
