"""Hints: tasks that nobody solved are attempted again with help, which is in no held-out task.

groups = with_hints(groups, helped, 3, attempt)     # helped(tasks, level) -> the tasks with a hint of that level
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isnan

from redqueen.credit.outcomes import result
from redqueen.types import Group, Message, RedQueenError, Task

LEVELS = 3  # of hints, the first of which gives away least (SAGE, arXiv:2602.03143)
GOES_ON = "..."  # behind the opening of an answer
Helped = Callable[[Sequence[Task], int], Sequence[Task | None]]  # None where there is no hint of that level
Attempt = Callable[[list[Task]], list[Group]]


def asked(task: Task) -> str:
    """The last that a task's player is told: its prompt, or the last message of its conversation."""
    return task.messages[-1].text if task.messages else task.prompt


def hinted(task: Task, hint: str, level: int = 1) -> Task:
    """The task with a hint behind its prompt, or behind the last message of its conversation, and the fact `hinted`,
    the level. Raises RedQueenError for a hint that is longer than what is asked."""
    if len(hint) > len(asked(task)):
        raise RedQueenError(
            f"the hint to task {task.id!r} has {len(hint)} characters, more than the {len(asked(task))} of its prompt: "
            "a hint is shorter than what is asked"
        )
    facts, text = {**task.facts, "hinted": level}, f"{asked(task)}\n\nHint: {hint}"
    if not task.messages:
        return replace(task, prompt=text, facts=facts)
    return replace(task, messages=(*task.messages[:-1], Message(task.messages[-1].speaker, text)), facts=facts)


def opening(answer: str, level: int, levels: int = LEVELS) -> str:
    """The first `level` of `levels` + 1 equal parts of an answer, so that no level gives away all of it; "" for what is
    too short."""
    return answer[: len(answer) * level // (levels + 1)]


def by_opening(tasks: Sequence[Task], level: int) -> list[Task | None]:
    """The tasks with the opening of their answer as a hint, no more of it than the prompt is long; None for one whose
    answer is not known or too short."""
    shown = [opening(task.answer, level)[: len(asked(task)) - len(GOES_ON)] for task in tasks]
    return [hinted(task, text + GOES_ON, level) if text else None for task, text in zip(tasks, shown, strict=True)]


def unsolved(group: Group) -> bool:
    """Whether no attempt of the group earned more than 0, of those with a verdict; there must be one."""
    results = [result(each, seat) for each in group.attempts for seat in each.seats]
    known = [value for value in results if not isnan(value)]
    return bool(known) and max(known) <= 0.0


def with_hints(groups: Sequence[Group], helped: Helped, levels: int, attempt: Attempt) -> list[Group]:
    """The groups, where one that is unsolved is replaced whole by attempts at its task with a hint, of the next of
    `levels` levels until somebody solves it (SAGE, arXiv:2602.03143)."""
    found, plain = list(groups), [group.task for group in groups]
    for level in range(1, levels + 1):
        places = [place for place, group in enumerate(found) if unsolved(group)]
        tasks = helped([plain[place] for place in places], level) if places else []
        kept = [(place, task) for place, task in zip(places, tasks, strict=True) if task is not None]
        if kept:
            again = attempt([task for _, task in kept])
            for (place, _), group in zip(kept, again, strict=True):
                found[place] = group
    return found


def share_hinted(groups: Sequence[Group]) -> float:
    """The share of the groups whose task had a hint."""
    return sum("hinted" in group.task.facts for group in groups) / max(len(groups), 1)
