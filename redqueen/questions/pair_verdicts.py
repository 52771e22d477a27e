"""The pairs of another question set as questions: which of two answers is better, A or B.

`redqueen train grpo --questions paired:inner=pairs.jsonl --model JUDGE` pays a judge of two answers for verdicts that
are right, as the evaluator of EvolvR is after it has imitated reasons (Wang et al. 2025, arXiv:2508.06046). A reply
reasons, and ends with its verdict; with `letters` the verdict is listed, and is all that is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from sys import maxsize

from redqueen.chance import derive
from redqueen.checks.judge import Label
from redqueen.curricula.held_out import HELD_OUT
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.dataset import Preference, Preferring
from redqueen.questions.fenced import FIRST, SECOND, about_pair
from redqueen.types import SOLVER, Demonstration, RedQueenError, Task

_VERDICT = Label((FIRST, SECOND))


def paired(inner: str = "preferences", letters: bool = False) -> Paired:
    """The pairs of the question set or file `inner`, in its columns chosen and rejected, as questions. Raises
    RedQueenError for a set without a held-out part: of a pair one order would be learned, and the other measured."""
    found = find_questions_with(inner, Preferring)
    if HELD_OUT not in found.levels:
        raise RedQueenError(f"{inner} holds no pairs out to measure by: dataset:path=FILE,held_out=0.1")
    return Paired(found, letters)


@dataclass(frozen=True)
class Paired:
    """Each pair in both orders, A and B; the better answer is the right one. What names none or both is wrong."""

    inner: Preferring
    letters: bool = False
    name: str = field(default="paired", repr=False)

    @property
    def levels(self) -> tuple[str, ...]:
        return self.inner.levels

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        """`count` questions of a level, in random order; none twice before all were drawn."""
        orders = self._orders(level)
        if not orders:
            raise RedQueenError(f"{self.inner.name} has no pairs of the level {level!r}")
        found: list[Task] = []
        while len(found) < count:
            found += rng.sample(orders, min(len(orders), count - len(found)))
        return found

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [_VERDICT.read(answer) == task.answer for task, answer in zip(tasks, answers, strict=True)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """The right verdicts on `count` questions, without reasons."""
        level = next((each for each in self.levels if each != HELD_OUT), self.levels[0])
        return [Demonstration(SOLVER, task, task.answer) for task in self.problems(level, count, rng)]

    def _orders(self, level: str) -> list[Task]:
        """All pairs of a level in both orders, always in the same order and between the same fences."""
        pairs = sorted(self.inner.preferences(level, maxsize, Random(0)), key=lambda each: each.task.id)
        return [self._shown(pair, first) for pair in pairs for first in (True, False)]

    def _shown(self, pair: Preference, first: bool) -> Task:
        one, other = (pair.chosen, pair.rejected) if first else (pair.rejected, pair.chosen)
        verdict = FIRST if first else SECOND
        task = about_pair(pair.task, one, other, Random(derive(0, "fence", pair.task.id)))
        return replace(task, id=f"{task.id}, {verdict}", answer=verdict, choices=task.choices if self.letters else ())
