"""Demonstrations without held-out problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from redqueen.curricula.held_out import Apart, apart_from, as_compared
from redqueen.protocols import Proposable, Questions, has
from redqueen.types import Demonstration, RedQueenError, Task

Shown = TypeVar("Shown")


def shows(questions: Questions, apart: Apart) -> Callable[[Demonstration], bool]:
    """A test of a demonstration: whether it shows a held-out problem as its task, within its task or its text (which a
    judge reads), or as a proposal."""
    prompts = {f" {as_compared(task.prompt)} " for group in apart.values() for task in group}
    prompts = prompts if len(prompts) > 1 else set()  # one prompt that all share, as in a game, tells no tasks apart

    def held(shown: Demonstration) -> bool:
        if not apart:
            return False
        tasks = [shown.task]
        if shown.role == "proposer" and has(questions, Proposable):
            tasks += [each for each in questions.read([shown.task], [shown.text]) if isinstance(each, Task)]
        if len(apart_from(apart, tasks)) < len(tasks):
            return True
        words = f" {as_compared(shown.task.prompt)}  {as_compared(shown.text)} "
        return any(prompt in words for prompt in prompts)

    return held


def drawn_apart(draw: Callable[[int], Sequence[Shown]], count: int, held: Callable[[Shown], bool]) -> list[Shown]:
    """`count` demonstrations from `draw`, none of them `held` out. Raises RedQueenError if nearly all are."""
    found: list[Shown] = []
    for _ in range(100):
        found += [each for each in draw(count) if not held(each)]
        if len(found) >= count:
            return found[:count]
    raise RedQueenError("nearly all demonstrations show problems that are held out: hold out fewer (--problems)")
