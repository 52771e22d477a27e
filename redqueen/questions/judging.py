"""Another question set with demonstrations of judging added, and the tasks of a judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from redqueen.questions.catalogue import find_questions
from redqueen.questions.fenced import about_score, asked, between_fences
from redqueen.questions.taught import Taught, TaughtProposable, taught
from redqueen.types import Demonstration, Task


def about_question(task: Task, number: int = 0) -> Task:
    """The task of a judge of a proposed question; the rubric is MAE's (2510.23595), shortened."""
    end = "Score it from 1 (no sense) to 10 (clear and solvable) as <score>5</score>."
    prompt = between_fences("How good is a question?", {"Question": asked(task)}, end)
    return Task(f"quality {number} of {task.id}", "question", prompt)


def about_answer(task: Task, answer: str, number: int = 0) -> Task:
    """The task of a judge of an answer: the question and the answer, without the right answer."""
    end = "Score the answer from 1 (wrong) to 10 (right) as <score>5</score>."
    prompt = between_fences("Is an answer right?", {"Question": asked(task), "Answer": answer}, end)
    return Task(f"answer {number} to {task.id}", "answer", prompt)


def judged(inner: str = "sums", skill: float = 0.9) -> Taught | TaughtProposable:
    """The question set `inner` with demonstrations of judging added, one for every two of its own. `skill` is how
    often these are right about an answer; every readable question is called a good one."""
    return taught(find_questions(inner), Judging(skill), "judged")


@dataclass(frozen=True)
class Judging:
    """Makes demonstrations of judging solutions, and sometimes their questions."""

    skill: float

    def __call__(
        self, solved: Sequence[Demonstration], right: Sequence[bool], count: int, rng: Random
    ) -> list[Demonstration]:
        return [
            self._on_question(one.task, rng) if rng.random() < 0.25 else self._on_answer(one, each, rng)
            for one, each in zip(solved, right, strict=True)
        ][:count]

    def _on_question(self, task: Task, rng: Random) -> Demonstration:
        return Demonstration("judge", about_question(task), f"<score>{rng.choice((8, 9, 10))}</score>")

    def _on_answer(self, one: Demonstration, right: bool, rng: Random) -> Demonstration:
        high = right == (rng.random() < self.skill)
        score = rng.choice((8, 9, 10) if high else (1, 2, 3))
        return Demonstration("judge", about_answer(one.task, one.text), f"<score>{score}</score>")


LOWEST, HIGHEST = 0, 9  # of a digit


def scored(inner: str = "sums", skill: float = 0.9) -> Taught | TaughtProposable:
    """The question set `inner` with demonstrations of scoring its answers by one digit, one for every two of its own.
    `skill` is how often these are right about an answer."""
    return taught(find_questions(inner), Scoring(skill), "scored")


@dataclass(frozen=True)
class Scoring:
    """Makes demonstrations of scoring solutions from 0 to 9, as `JudgedScores` asks: 7 to 9 for one that is held to be
    right, 0 to 2 for one that is held to be wrong."""

    skill: float

    def __call__(
        self, solved: Sequence[Demonstration], right: Sequence[bool], count: int, rng: Random
    ) -> list[Demonstration]:
        return [self._on_answer(one, each, rng) for one, each in zip(solved, right, strict=True)][:count]

    def _on_answer(self, one: Demonstration, right: bool, rng: Random) -> Demonstration:
        high = right == (rng.random() < self.skill)
        shown = about_score(one.task, one.text, rng, LOWEST, HIGHEST)
        return Demonstration("judge", shown, str(rng.choice((7, 8, 9) if high else (0, 1, 2))))
