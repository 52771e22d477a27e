"""Proposers with answers of their own (PasoDoble, arXiv:2511.11881): who is asked what, and what an oracle says."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from redqueen.credit.outcomes import rate
from redqueen.curricula.history import TaskHistory
from redqueen.questions.small.facts import Informed
from redqueen.types import Group, Metrics, Refusal, Task


def after_passages(questions: Informed, count: int, rng: Random) -> list[Task]:
    """An invitation for each of so many different passages of the corpus, drawn at random."""
    passages = questions.passages()
    drawn = rng.sample(passages, min(count, len(passages)))
    return [questions.invite_after(passage, number) for number, passage in enumerate(drawn)]


def between(groups: Sequence[Group], above: float, below: float = 1.0) -> list[Group]:
    """The groups whose pass rate lies strictly between the two; an unknown one does not."""
    return [group for group in groups if above < rate(group).mean < below]


def oracle_figures(questions: Informed, written: Sequence[Task | Refusal], kept: Sequence[Task]) -> Metrics:
    """`valid_share`: the proposals that are a problem with its true answer, of all; `label_accuracy`: the true answers
    among the problems that were kept. No figure without proposals, or without problems. For looking at: nothing that
    trains may rest on it."""
    right = [isinstance(each, Task) and questions.true_answer(each) == each.answer for each in written]
    labels = [questions.true_answer(task) == task.answer for task in kept]
    named = {"valid_share": right, "label_accuracy": labels}
    return {name: float(np.mean(values)) for name, values in named.items() if values}


def exhausted(history: TaskHistory, patience: int = 3) -> bool:
    """Whether the last round was solved by every attempt, or none of the last `patience` rounds was better than the
    best before them (PasoDoble's question buffer, arXiv:2511.11881). The results are pass
    rates, one of each round."""
    results = history.results
    if not results:
        return False
    earlier, late = results[:-patience], results[-patience:]
    return results[-1] >= 1.0 or (bool(earlier) and max(late) <= max(earlier))
