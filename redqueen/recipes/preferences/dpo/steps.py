"""The data of a run: pairs, or for KTO replies that are called good or bad one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

import numpy as np

from redqueen.credit.pairs import against
from redqueen.curricula.held_out import TRAIN, apart_from, held_out
from redqueen.measures.divergence import Divergence
from redqueen.measures.wins import pairs_told_apart, watched
from redqueen.objectives.batch import pack_pairs, pack_samples
from redqueen.objectives.references import Reference
from redqueen.protocols import Policy
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.dataset import (
    LabelledReply,
    Labelling,
    Preference,
    Preferring,
    recitations,
    said_by,
    training_pairs,
)
from redqueen.recipes.preferences.dpo.measures import HeldOutLabels
from redqueen.recipes.preferences.dpo.objective import KTO, Loss
from redqueen.types import Batch, Match, RedQueenError, Task, Trajectory

Tests = Mapping[str, Sequence[Task]]
MARGINS: Loss = "step-apo"  # reads the column margin


@dataclass(frozen=True)
class Packed:
    """A part of the data as a batch, and the credit of its replies; `equal` pairs of equal texts were left out."""

    batch: Batch
    replies: list[Trajectory]
    advantages: list[np.ndarray]
    equal: int = 0


class Data(Protocol):
    """Rows of a question set that are learned from. A row has one reply or two, each on a side of its own."""

    def measures(
        self, learner: Policy, reference: Reference, problems: int, seed: int
    ) -> tuple[dict[str, list[Task]], Divergence]:
        """Up to `problems` held-out tasks, and what is measured on them."""
        ...

    def drawn(self, tests: Tests, rng: Random) -> Sequence[Any]:
        """Rows for training, none of a held-out task. Raises RedQueenError where none is left."""
        ...

    def recited(self, rows: Sequence[Any], learner: Policy) -> Sequence[list[Match]]:
        """The matches of each side, in which the learner recites the replies."""
        ...

    def pack(self, rows: Sequence[Any], sides: Sequence[list[Trajectory]]) -> Packed:
        """The rows as a batch, of what was recited on each side."""
        ...


@dataclass(frozen=True)
class InPairs:
    """Up to `count` pairs; with `margins` each has one of its own."""

    questions: Preferring
    count: int
    margins: bool

    def measures(
        self, learner: Policy, reference: Reference, problems: int, seed: int
    ) -> tuple[dict[str, list[Task]], Divergence]:
        return pairs_told_apart(self.questions, learner, reference, problems, seed)

    def drawn(self, tests: Tests, rng: Random) -> Sequence[Preference]:
        return training_pairs(self.questions, self.count, tests, rng)

    def recited(self, rows: Sequence[Preference], learner: Policy) -> Sequence[list[Match]]:
        return recitations(rows, learner)

    def pack(self, rows: Sequence[Preference], sides: Sequence[list[Trajectory]]) -> Packed:
        kept, replies = against(*sides), [*sides[0], *sides[1]]
        batch = pack_pairs(kept.chosen, kept.rejected, kept.stated if self.margins else None)
        return Packed(batch, replies, kept.advantages(replies), kept.equal)


@dataclass(frozen=True)
class OneByOne:
    """Up to `count` replies that are called good or bad, of prompts that need not have both."""

    questions: Labelling
    count: int

    def measures(
        self, learner: Policy, reference: Reference, problems: int, seed: int
    ) -> tuple[dict[str, list[Task]], Divergence]:
        tests = held_out(self.questions, problems, seed=seed)
        told = HeldOutLabels(self.questions, learner, reference, problems, seed)
        return tests, watched(self.questions, learner, tests, seed, told)

    def drawn(self, tests: Tests, rng: Random) -> Sequence[LabelledReply]:
        found = self.questions.labelled_replies(TRAIN, self.count, rng)
        kept = {task.id for task in apart_from(tests, [each.task for each in found])}
        rows = [each for each in found if each.task.id in kept]
        if len({each.good for each in rows}) < 2:
            which = "none is left: all are of tasks that are held out" if not rows else "all have one label"
            raise RedQueenError(
                f"kto needs good and bad replies, and of {len(found)} that were drawn {which}; give more, hold out "
                "fewer (--problems), or imitate good ones (cold_start)"
            )
        return rows

    def recited(self, rows: Sequence[LabelledReply], learner: Policy) -> Sequence[list[Match]]:
        return [said_by(learner, [(each.task, each.text) for each in rows])]

    def pack(self, rows: Sequence[LabelledReply], sides: Sequence[list[Trajectory]]) -> Packed:
        values = [1.0 if each.good else -1.0 for each in rows]
        advantages = [np.full(len(each.turns), value) for each, value in zip(sides[0], values, strict=True)]
        return Packed(pack_samples(sides[0], values), sides[0], advantages)


def data_for(loss: Loss, questions: str, count: int) -> Data:
    """What a loss learns from, of the question set that `questions` names. Raises RedQueenError for a set without
    it."""
    if loss == KTO:
        return OneByOne(find_questions_with(questions, Labelling), count)
    return InPairs(find_questions_with(questions, Preferring), count, loss == MARGINS)
