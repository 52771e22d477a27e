"""Proposers with answers of their own (PasoDoble, arXiv:2511.11881): who is asked what, and what an oracle says."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from redqueen.credit.learnability import solve_rate
from redqueen.curricula.history import TaskHistory
from redqueen.questions.small.facts import Informed
from redqueen.types import Episode, Metrics, Refusal, Task


def after_passages(domain: Informed, count: int, rng: Random) -> list[Task]:
    """An invitation for each of so many different passages of the corpus, drawn at random."""
    passages = domain.passages()
    drawn = rng.sample(passages, min(count, len(passages)))
    return [domain.invite_after(passage, number) for number, passage in enumerate(drawn)]


def rates_of(scores: np.ndarray) -> np.ndarray:
    """[tasks] the pass rates from [tasks, K] scores; NaN where fewer than two attempts were finished."""
    return np.array([solve_rate(each).mean for each in scores], dtype=np.float64)


def between(tasks: Sequence[Task], rates: np.ndarray, above: float, below: float = 1.0) -> list[Task]:
    """The tasks whose pass rate lies strictly between the two; an unknown one does not."""
    return [task for task, rate in zip(tasks, rates.tolist(), strict=True) if above < rate < below]


def attempts_at(tasks: Sequence[Task], attempts: Sequence[Episode]) -> list[Episode]:
    """Those of the attempts that were made at one of the tasks."""
    ids = {task.id for task in tasks}
    return [episode for episode in attempts if episode.task.id in ids]


def oracle_figures(domain: Informed, written: Sequence[Task | Refusal], kept: Sequence[Task]) -> Metrics:
    """`valid_share`: the proposals that are a problem with its true answer, of all; `label_accuracy`: the true answers
    among the problems that were kept. No figure without proposals, or without problems. For looking at: nothing that
    trains may rest on it."""
    right = [isinstance(each, Task) and domain.true_answer(each) == each.answer for each in written]
    labels = [domain.true_answer(task) == task.answer for task in kept]
    named = {"valid_share": right, "label_accuracy": labels}
    return {name: float(np.mean(values)) for name, values in named.items() if values}


def exhausted(history: TaskHistory, patience: int = 3) -> bool:
    """Whether the last round was solved by every attempt, or none of the last `patience` rounds was better than the
    best before them (PasoDoble's question buffer, arXiv:2511.11881). The results are those of `labels.rounds`."""
    results = history.results
    if not results:
        return False
    earlier, late = results[:-patience], results[-patience:]
    return results[-1] >= 1.0 or (bool(earlier) and max(late) <= max(earlier))
