"""The pairs of another question set as questions: which of two answers is better, A or B; or how good each is.

`redqueen train grpo --questions paired:inner=pairs.jsonl --model JUDGE` pays a judge of two answers for verdicts that
are right, as the evaluator of EvolvR is after it has imitated reasons (Wang et al. 2025, arXiv:2508.06046). A reply
reasons, and ends with its verdict; with `letters` the verdict is listed, and is all that is said. With `scores` a
verdict is the scores of both answers from 1 to 5, which the pairs state, and what is paid is how near the score of the
first one is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import exp
from random import Random
from sys import maxsize

from redqueen.chance import derive
from redqueen.checks.judge import Label, TwoScores
from redqueen.curricula.held_out import HELD_OUT
from redqueen.protocols import Questions
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.dataset import Preference, Preferring
from redqueen.questions.fenced import FIRST, SECOND, about_pair, about_scores
from redqueen.texts import of_length
from redqueen.types import SOLVER, Demonstration, RedQueenError, Task

WORST, BEST = 1, 5  # of a score
_VERDICT = Label((FIRST, SECOND))
_SCORES = TwoScores(WORST, BEST)


def paired(inner: str = "preferences", letters: bool = False, scores: bool = False) -> Paired | PairedScores:
    """The pairs of the question set or file `inner`, in its columns chosen and rejected, as questions. Raises
    RedQueenError for a set without a held-out part: of a pair one order would be learned, and the other measured."""
    if letters and scores:
        raise RedQueenError("letters is of the better answer, scores of both: set one of them")
    found = find_questions_with(inner, Preferring)
    if HELD_OUT not in found.levels:
        raise RedQueenError(f"{inner} holds no pairs out to measure by: dataset:path=FILE,held_out=0.1")
    return PairedScores(found) if scores else Paired(found, letters)


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
        return _drawn(self.inner, level, count, rng, self._shown)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [_VERDICT.read(answer) == task.answer for task, answer in zip(tasks, answers, strict=True)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """The right verdicts on `count` questions, without reasons."""
        return [Demonstration(SOLVER, task, task.answer) for task in self.problems(_training(self), count, rng)]

    def _shown(self, pair: Preference, first: bool, rng: Random) -> Task:
        verdict = FIRST if first else SECOND
        task = about_pair(pair.task, *_ordered(pair, first), rng)
        return replace(task, id=f"{task.id}, {verdict}", answer=verdict, choices=task.choices if self.letters else ())


@dataclass(frozen=True)
class PairedScores:
    """Each pair in both orders, whose scores from 1 to 5 (the fact `scores` of its task) are to be said. Both exact is
    right; what is paid is `evaluator_reward`."""

    inner: Preferring
    name: str = field(default="paired", repr=False)

    @property
    def levels(self) -> tuple[str, ...]:
        return self.inner.levels

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        """`count` questions of a level, in random order; none twice before all were drawn. Raises RedQueenError for
        pairs without scores."""
        return _drawn(self.inner, level, count, rng, self._shown)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        given = [_SCORES.read(answer) for answer in answers]
        return [each is not None and _written(each) == task.answer for task, each in zip(tasks, given, strict=True)]

    def paid(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[float]:
        """What each answer is paid, from 0 to 1."""
        return [evaluator_reward(task.answer, answer) for task, answer in zip(tasks, answers, strict=True)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """The true scores in `count` questions, without reasons."""
        return [Demonstration(SOLVER, task, task.answer) for task in self.problems(_training(self), count, rng)]

    def _shown(self, pair: Preference, first: bool, rng: Random) -> Task:
        scores = pair.task.facts.get("scores", ())
        if len(scores) != 2 or any(each not in range(WORST, BEST + 1) for each in scores):
            raise RedQueenError(
                f"scores=true takes pairs with two scores from {WORST} to {BEST} (columns chosen_score and "
                f"rejected_score), and {pair.task.id!r} has {', '.join(map(str, scores)) or 'none'}"
            )
        answer = _written(scores if first else scores[::-1])
        task = about_scores(pair.task, *_ordered(pair, first), rng, WORST, BEST)
        return replace(task, id=f"{task.id}, {FIRST if first else SECOND}", answer=answer)


def evaluator_reward(true: str, answer: str) -> float:
    """What EvolvR's released code (2508.06046) pays for a reply with two scores: .7 e^(-|s' - s| / 2) for the first
    score s' where s is the true one, .3 for a length of 500 to 2,000 characters, and .1 if s' is exact; 1 at most.
    Whatever the second score is; 0 for what cannot be read."""
    given = _SCORES.read(answer)
    if given is None:
        return 0.0
    gap = abs(given[0] - int(true.split()[0]))
    return min(1.0, 0.7 * exp(-gap / 2.0) + 0.3 * of_length(len(answer), 500, 2000) + 0.1 * (gap == 0))


def _written(scores: Sequence[float]) -> str:
    return " ".join(str(int(each)) for each in scores)


def _ordered(pair: Preference, first: bool) -> tuple[str, str]:
    return (pair.chosen, pair.rejected) if first else (pair.rejected, pair.chosen)


def _training(questions: Questions) -> str:
    return next((each for each in questions.levels if each != HELD_OUT), questions.levels[0])


def _drawn(
    inner: Preferring, level: str, count: int, rng: Random, shown: Callable[[Preference, bool, Random], Task]
) -> list[Task]:
    """`count` of the pairs of a level in both orders, which always stand in the same order and between the same
    fences."""
    pairs = sorted(inner.preferences(level, maxsize, Random(0)), key=lambda each: each.task.id)
    orders = [shown(pair, first, Random(derive(0, "fence", pair.task.id))) for pair in pairs for first in (True, False)]
    if not orders:
        raise RedQueenError(f"{inner.name} has no pairs of the level {level!r}")
    found: list[Task] = []
    while len(found) < count:
        found += rng.sample(orders, min(len(orders), count - len(found)))
    return found
