"""Another question set with demonstrations of verifying added, and the tasks of a verifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from redqueen.checks.judge import Label
from redqueen.questions.catalogue import find_questions
from redqueen.questions.taught import Taught, TaughtProposable, taught
from redqueen.types import Demonstration, Task

RIGHT, WRONG = "right", "wrong"
VERIFICATION = "verification"
_VERDICT = Label((RIGHT, WRONG))


def about_solution(task: Task, answer: str, right: bool) -> Task:
    """The task of a verifier: the question and an answer, without the right answer. The task's own answer is the
    right verdict."""
    prompt = f"{task.prompt} {answer}\nIs it right or wrong?"
    return Task(f"{answer!r:.60} to {task.id}", VERIFICATION, prompt, RIGHT if right else WRONG)


def verdict(text: str) -> str | None:
    """RIGHT or WRONG, if the last line of the text is that word and no other, or the text says so in prose ("Verdict:
    wrong", "The answer is **right**."); None for anything else."""
    last = text.strip().rpartition("\n")[2].strip(" \t.!*\"'").lower()
    return last if last in (RIGHT, WRONG) else _VERDICT.read(text)


def verified(inner: str = "sums", skill: float = 0.6) -> Taught | TaughtProposable:
    """The question set `inner` with demonstrations of verifying its solutions added, one for every two of its own, half
    of them of right solutions. `skill` is how often a verdict is right."""
    return taught(find_questions(inner), Verifying(skill), "verified")


@dataclass(frozen=True)
class Verifying:
    """Verdicts on solutions, right and wrong ones in turn."""

    skill: float = 0.6

    def __call__(
        self, solved: Sequence[Demonstration], right: Sequence[bool], count: int, rng: Random
    ) -> list[Demonstration]:
        sides = [[one for one, each in zip(solved, right, strict=True) if each == side] for side in (True, False)]
        return [
            self._on_solution(rng.choice(sides[number % 2]), number % 2 == 0, rng)
            for number in range(count)
            if sides[number % 2]
        ]

    def _on_solution(self, one: Demonstration, right: bool, rng: Random) -> Demonstration:
        said = right == (rng.random() < self.skill)
        return Demonstration("verifier", about_solution(one.task, one.text, right), RIGHT if said else WRONG)
