"""What of a question set is for training and what for tests: a data set has a part for each; of other sets, the
problems that are held out are kept from training one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random

from redqueen.protocols import Questions
from redqueen.texts import Wording, tokens
from redqueen.types import Group, RedQueenError, Task

Apart = Mapping[str, Sequence[Task]]  # the problems held out, by level

TRAIN, HELD_OUT = "train", "held_out"
_WORDING = Wording()


def training_levels(questions: Questions) -> tuple[str, ...]:
    """All levels, but for those that are held out for good."""
    return tuple(level for level in questions.levels if level != HELD_OUT)


def held_out_levels(questions: Questions) -> tuple[str, ...]:
    """The part that is held out where there is one, and else all levels: there tests and training are drawn apart."""
    return (HELD_OUT,) if HELD_OUT in questions.levels else tuple(questions.levels)


def apart_from(apart: Apart, tasks: Sequence[Task]) -> list[Task]:
    """The tasks without those that are held out: of the same id, or of the same prompt, whatever its case and spacing
    (`as_compared`) and whatever answer. One prompt that all of them share, as in a game, tells no tasks apart."""
    held = [task for group in apart.values() for task in group]
    ids, prompts = {task.id for task in held}, {as_compared(task.prompt) for task in held}
    prompts = prompts if len(prompts) > 1 else set()
    return [task for task in tasks if task.id not in ids and as_compared(task.prompt) not in prompts]


def groups_apart(apart: Apart, groups: Sequence[Group]) -> list[Group]:
    """The groups without those at tasks that are held out."""
    kept = {id(task) for task in apart_from(apart, [group.task for group in groups])}
    return [group for group in groups if id(group.task) in kept]


@lru_cache(maxsize=1 << 16)
def as_compared(prompt: str) -> str:
    """The words, numbers and marks of a prompt in lower case, whatever space is between them: 12+7 is 12 + 7, and
    [1,2] is [1, 2]."""
    return " ".join(tokens(_WORDING(prompt).replace(",", " , ")))  # else 1,2 is one number


def problems_apart(apart: Apart, questions: Questions, level: str, count: int, rng: Random) -> list[Task]:
    """So many problems of a level, others in place of those that are held out. Raises RedQueenError where there are
    hardly any others."""
    found = apart_from(apart, questions.problems(level, count, rng))
    for _ in range(100):
        if len(found) == count:
            return found
        found += apart_from(apart, questions.problems(level, count - len(found), rng))
    raise RedQueenError(
        f"nearly all problems of the level {level!r} of {questions.name} are held out: hold out fewer (--problems)"
    )


def labelled(
    questions: Questions, levels: Sequence[str], count: int, apart: Mapping[str, Sequence[Task]], seed: int
) -> list[Task]:
    """Up to so many different problems of each level, none of them among those that are held out. A level that is
    named twice is drawn from twice, and so dealt up to twice as often; without a level named, all but the one that is
    held out for good."""
    levels = levels or training_levels(questions)
    unknown = [level for level in levels if level not in questions.levels]
    if unknown:
        raise RedQueenError(
            f"{questions.name} has no level {unknown[0]!r}: its levels are {', '.join(questions.levels)}"
        )
    rng = Random(seed)
    drawn = [task for level in levels for task in questions.problems(level, count, rng)]
    kept = {task.id: task for task in apart_from(apart, drawn)}
    if not kept:
        raise RedQueenError(
            f"all problems of {questions.name} that were drawn are held out: ask for more labelled ones"
        )
    return list(kept.values())
