"""The history of one task: its origin and its results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import Any

from redqueen.protocols import COUNT, FINITE, Maybe, State
from redqueen.records import TASK, plain, task_from_json, task_to_json
from redqueen.types import RedQueenError, Task, tuples


@dataclass(frozen=True)
class TaskHistory:
    """A task, its provenance, and its results. Steps are those of the run, versions count updates."""

    task: Task
    origin: str = "given"  # its author: "given", "seed", the name of a proposer, a file
    parents: tuple[str, ...] = ()  # ids of the tasks from which it was made
    gates: tuple[str, ...] = ()  # the checks it passed before it was added
    added: int = 0  # the step
    author_version: int = 0  # version of its author at that time
    depth: int = 0  # one more than its deepest parent; a parent no longer held counts as 0
    tries: int = 0  # ever
    solved: int = 0  # ever
    total: float = 0.0  # of all results
    results: tuple[float, ...] = ()  # the latest, oldest first
    solved_of_results: int = 0  # how many of these count as solved
    unmoved: int = 0  # consecutive rounds without a changed result
    last_seen: int | None = None  # the step of its latest result
    solver_version: int | None = None  # version of the solver at its latest result
    credit: float | None = None  # the latest mean |advantage|

    @property
    def solve_rate(self) -> float | None:
        """The share of the latest results that are solved; None if there are none."""
        return self.solved_of_results / len(self.results) if self.results else None


def after(
    history: TaskHistory, results: Sequence[float], step: int, version: int | None, above: float, window: int
) -> TaskHistory:
    """The history with the results of one round, of which those over `above` count as solved; `window` are kept."""
    latest = (*history.results, *results)[-window:]
    seen = {*results, *history.results[-1:]}
    return replace(
        history,
        tries=history.tries + len(results),
        solved=history.solved + sum(result > above for result in results),
        total=history.total + sum(results),
        results=latest,
        solved_of_results=sum(result > above for result in latest),
        unmoved=history.unmoved + 1 if len(seen) == 1 else 0,
        last_seen=step,
        solver_version=history.solver_version if version is None else version,
    )


def storable(task: Task) -> Task:
    """The task as it reads back from a checkpoint: its lists, and lists and arrays among its facts, become tuples.

    Raises RedQueenError where a weight is not a finite number of at least 0, or a fact cannot be written as JSON."""
    if not (isfinite(task.weight) and task.weight >= 0.0):
        raise RedQueenError(f"the weight of task {task.id!r} must be a finite number of at least 0, not {task.weight}")
    facts = plain(task.facts)
    try:
        json.dumps(facts)
    except TypeError as error:
        raise RedQueenError(
            f"the facts of task {task.id!r} must be numbers, strings, lists and mappings: {error}"
        ) from None
    if not _named_throughout(task.facts):
        raise RedQueenError(f"the facts of task {task.id!r} have a mapping whose keys are not all strings")
    return replace(task, facts=tuples(facts), choices=tuple(task.choices), messages=tuple(task.messages))


def _named_throughout(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _named_throughout(item) for key, item in value.items())
    return not isinstance(value, list | tuple) or all(_named_throughout(item) for item in value)


HISTORY = {
    "task": TASK,
    "origin": str,
    "parents": [str],
    "gates": [str],
    "added": COUNT,
    "author_version": COUNT,
    "depth": COUNT,
    "tries": COUNT,
    "solved": COUNT,
    "total": FINITE,
    "results": [FINITE],
    "solved_of_results": COUNT,
    "unmoved": COUNT,
    "last_seen": Maybe(COUNT),
    "solver_version": Maybe(COUNT),
    "credit": Maybe((int, float)),
}


def history_to_state(history: TaskHistory) -> dict[str, Any]:
    """The history as JSON types, for a checkpoint."""
    others = {field.name: getattr(history, field.name) for field in fields(history) if field.name != "task"}
    return {"task": task_to_json(history.task), **plain(others)}


def history_from_state(state: State) -> TaskHistory:
    return TaskHistory(**{**tuples(dict(state)), "task": task_from_json(dict(state["task"]))})
