"""What the attempts at a task come to: a label where nobody knows the answer, a pass rate for each round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from redqueen.checks.numeric import Exact
from redqueen.checks.votes import Majority, Vote
from redqueen.credit.rewards import marked
from redqueen.protocols import Domain, Verifier
from redqueen.questions.asking import answered
from redqueen.types import Episode, Metrics, Task


def majorities(attempts: Sequence[Episode], times: int, count_missing: bool = True) -> list[Vote]:
    """The vote on the answers to each task, of attempts that lie task by task. One that was cut off gave no answer."""
    answers = answered(attempts)
    count = Majority(count_missing).label
    return [count(answers[start : start + times]) for start in range(0, len(answers), times)]


def labelled(tasks: Sequence[Task], votes: Sequence[Vote], band: tuple[float, float]) -> list[Task]:
    """The tasks on which attempts agree neither too little nor too much, the majority's answer as theirs."""
    lowest, highest = band
    return [
        replace(task, answer=vote.answer)
        for task, vote in zip(tasks, votes, strict=True)
        if vote.answer and lowest <= vote.share <= highest
    ]


def agreed(attempts: Sequence[Episode], same: Verifier = Exact()) -> list[bool]:
    """Which attempts give the answer of their task, which here is a label and may be wrong. One that was cut off gave
    none."""
    return [same(episode.task, reply) for episode, reply in zip(attempts, answered(attempts), strict=True)]


def held_to_label(attempts: Sequence[Episode]) -> list[Episode]:
    """The attempts with a score of 1 where they agree with the label of their task, and of 0 where they do not: what
    `graded` is where a domain knows the answer, and nobody does here."""
    return marked(attempts, [float(same) for same in agreed(attempts)])


def labels_right(domain: Domain, tasks: Sequence[Task], votes: Sequence[Vote]) -> list[bool | None]:
    """Whether the domain's oracle finds what most said right; None where nobody said anything."""
    found = domain.right(tasks, [vote.answer for vote in votes])
    return [right if vote.answer else None for right, vote in zip(found, votes, strict=True)]


def label_accuracy(domain: Domain, tasks: Sequence[Task], kept: Sequence[Task]) -> Metrics:
    """How many of the labels the domain's oracle finds right; nothing where there are none."""
    known = {task.id: task for task in tasks}
    right = domain.right([known[task.id] for task in kept], [task.answer for task in kept])
    return {"label_accuracy": float(np.mean(right)), "labels": float(len(kept))} if kept else {"labels": 0.0}


def rounds(attempts: Sequence[Episode], rates: np.ndarray) -> list[Episode]:
    """One episode for each task with its pass rate as the score, for `TaskStore.observe`: the first of the K attempts
    at it. `attempts` lie task by task, `rates` are [tasks]; a task whose rate is NaN is left out."""
    times = len(attempts) // len(rates) if len(rates) else 1
    return marked(attempts[::times], rates.tolist())
