"""Labels where nobody knows the answer: what most attempts at a task say, and how the oracle finds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from redqueen.checks.numeric import Exact
from redqueen.checks.votes import Vote
from redqueen.play.groups import episodes_of, with_facts
from redqueen.protocols import Domain, Verifier
from redqueen.questions.asking import answered
from redqueen.types import Group, Metrics, Task


def labelled(tasks: Sequence[Task], votes: Sequence[Vote], band: tuple[float, float]) -> list[Task]:
    """The tasks on which attempts agree neither too little nor too much, the majority's answer as theirs."""
    lowest, highest = band
    return [
        replace(task, answer=vote.answer)
        for task, vote in zip(tasks, votes, strict=True)
        if vote.answer and lowest <= vote.share <= highest
    ]


def held_to_label(groups: Sequence[Group], same: Verifier = Exact()) -> list[Group]:
    """The groups with a verdict on each attempt, the fact `right`, by the label of their task, which may be wrong: what
    `graded` is where a domain knows the answer, and nobody does here. An attempt that was cut off agrees with none."""
    pairs = zip(episodes_of(groups), answered(groups), strict=True)
    return with_facts(groups, [{"right": same(episode.task, answer)} for episode, answer in pairs])


def labels_right(domain: Domain, tasks: Sequence[Task], votes: Sequence[Vote]) -> list[bool | None]:
    """Whether the domain's oracle finds what most said right; None where nobody said anything."""
    found = domain.right(tasks, [vote.answer for vote in votes])
    return [right if vote.answer else None for right, vote in zip(found, votes, strict=True)]


def label_accuracy(domain: Domain, tasks: Sequence[Task], kept: Sequence[Task]) -> Metrics:
    """How many of the labels the domain's oracle finds right; nothing where there are none."""
    known = {task.id: task for task in tasks}
    right = domain.right([known[task.id] for task in kept], [task.answer for task in kept])
    return {"label_accuracy": float(np.mean(right)), "labels": float(len(kept))} if kept else {"labels": 0.0}
