"""Splits a question set into training and held-out problems: a data set has a part for each; in other sets
each held-out problem is kept from training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random

from redqueen.chance import derive
from redqueen.protocols import Questions
from redqueen.texts import Wording, tokens
from redqueen.types import Group, RedQueenError, Task

Apart = Mapping[str, Sequence[Task]]  # the problems held out, by level

TRAIN, HELD_OUT = "train", "held_out"
_WORDING = Wording()


def training_levels(questions: Questions) -> tuple[str, ...]:
    """All levels for training, without the held-out part of a data set."""
    return tuple(level for level in questions.levels if level != HELD_OUT)


def held_out_levels(questions: Questions) -> tuple[str, ...]:
    """The held-out part of a question set if it has one, else all levels, whose held-out problems are drawn apart."""
    return (HELD_OUT,) if HELD_OUT in questions.levels else tuple(questions.levels)


def held_out(questions: Questions, count: int, besides: Sequence[Task] = (), seed: int = 0) -> dict[str, list[Task]]:
    """`count` problems of each level, the same for one `seed`; from the test part of a set that has one, each of it
    once, which may be fewer: a problem that is asked again says nothing new. Tasks in `besides`, such as the seeds that
    are learned from, are left out where a level has others."""
    found = {}
    for level in held_out_levels(questions):
        rng = Random(derive(seed, level))
        drawn = questions.problems(level, count, rng)
        drawn = list({task.id: task for task in drawn}.values()) if level == HELD_OUT else drawn
        kept = apart_from({"": besides}, drawn)
        others = questions.problems(level, len(drawn) - len(kept), rng) if len(kept) < len(drawn) else []
        found[level] = [*kept, *apart_from({"": [*besides, *kept]}, others)] or drawn
    return found


def dealt(tasks: Sequence[Task], count: int, seed: int) -> list[Task]:
    """At most `count` of the tasks that a game holds out, in its order, the same for one `seed`."""
    places = Random(derive(seed, "held out")).sample(range(len(tasks)), min(count, len(tasks)))
    return [tasks[place] for place in sorted(places)]


def apart_from(apart: Apart, tasks: Sequence[Task]) -> list[Task]:
    """The tasks that are not held out: without those of the same id or the same prompt as a held-out one, up to case
    and spacing (`as_compared`), whatever the answer. A prompt that all held-out tasks share, as in a game, is not
    compared."""
    held = [task for group in apart.values() for task in group]
    ids, prompts = {task.id for task in held}, {as_compared(task.prompt) for task in held}
    prompts = prompts if len(prompts) > 1 else set()
    return [task for task in tasks if task.id not in ids and as_compared(task.prompt) not in prompts]


def groups_apart(apart: Apart, groups: Sequence[Group]) -> list[Group]:
    """The groups whose tasks are not held out."""
    kept = {id(task) for task in apart_from(apart, [group.task for group in groups])}
    return [group for group in groups if id(group.task) in kept]


@lru_cache(maxsize=1 << 16)
def as_compared(prompt: str) -> str:
    """The words, numbers and signs of a prompt in lower case, whatever the space between them: 12+7 equals 12 + 7, and
    [1,2] equals [1, 2]."""
    return " ".join(tokens(_WORDING(prompt).replace(",", " , ")))  # else 1,2 is one number


def problems_apart(apart: Apart, questions: Questions, level: str, count: int, rng: Random) -> list[Task]:
    """`count` problems of a level, none held out. Raises RedQueenError if nearly all problems are held out."""
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
    """Up to `count` different problems of each level (default: all for training), none held out. A level that is named
    twice is drawn from twice. Raises RedQueenError for an unknown level, and if all problems drawn are held out."""
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
