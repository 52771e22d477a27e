"""Tables that begin with known chances on questions with listed answers, and what they know exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np

from redqueen.games.single_reply import SingleReply
from redqueen.players.tabular import TabularPolicy
from redqueen.questions.asking import SOLVE
from redqueen.types import Ask, Task


def asked(task: Task, game: SingleReply = SOLVE) -> Ask:
    """What a solver of the task is asked, or another role in its game."""
    (ask,) = next(game.play(task, Random(0)))
    return ask


def beginning(
    tasks: Sequence[Task], chances: Sequence[Mapping[str, float]], name: str, rate: float, game: SingleReply = SOLVE
) -> TabularPolicy:
    """A table that answers each task with these probabilities; the rest is shared equally by the other answers."""
    policy = TabularPolicy(rate, name)
    policy.probabilities([asked(task, game) for task in tasks])
    state, rows = dict(policy.state()), []
    for task, known in zip(tasks, chances, strict=True):
        rest = (1.0 - sum(known.values())) / (len(task.choices) - len(known))
        rows.append(np.log([known.get(choice, rest) for choice in task.choices]))
    state["logits"] = [row.tolist() for row in rows]
    policy.restore(state)
    return policy


def exact_accuracy(policy: TabularPolicy, tasks: Sequence[Task]) -> float:
    """The chance that a table answers a task rightly, over all tasks."""
    rows = policy.probabilities([asked(task) for task in tasks])
    return float(np.mean([row[task.choices.index(task.answer)] for row, task in zip(rows, tasks, strict=True)]))
