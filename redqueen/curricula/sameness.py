"""Keys of tasks: equal for tasks of one text, or of one behaviour."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from redqueen.records import plain, task_to_json
from redqueen.texts import Wording
from redqueen.types import RedQueenError, Task


def by_text(wording: Wording = Wording()) -> Callable[[Task], Hashable]:
    """A key function: kind and prompt under `wording`; if the prompt is empty, kind, facts, choices and messages.

    Tasks with one prompt and different facts have one key: if the facts are part of the question (a history of
    attempts, as in ExIt), use a key of your own."""

    def key(task: Task) -> Hashable:
        if task.prompt:
            return (task.kind, wording(task.prompt))
        shown = {name: value for name, value in task_to_json(task).items() if name in ("choices", "messages")}
        return (task.kind, canonical(plain({**task.facts, **shown})))

    return key


word_for_word = by_text(Wording(case=True, space=True))  # for programs: capitals and indents count


def by_text_and_answer(wording: Wording = Wording()) -> Callable[[Task], Hashable]:
    """A key function: that of `by_text` and the answer, for proposers who write answers of their own: one question with
    two answers is two tasks."""
    text = by_text(wording)
    return lambda task: (text(task), wording(task.answer))


def by_behaviour(
    run: Callable[[Task], tuple[Any, ...]], fallback: Callable[[Task], Hashable] | None = None
) -> Callable[[Task], Hashable]:
    """A key function: kind, and what the task's program returns on probe inputs, with types (1 is not True).

    `run(task)` returns a literal for each probe, None for one on which the program failed. A program that
    failed on all has the `fallback` key (default: its text). Exceptions of `run` are not caught.
    Programs that agree on the probes count as one: choose probes on which different programs differ."""
    by_words = fallback or word_for_word

    def key(task: Task) -> Hashable:
        seen = run(task)
        if all(value is None for value in seen):
            return by_words(task)
        return (task.kind, canonical(seen))

    return key


def canonical(value: Any) -> Hashable:
    """A hashable form of a literal, equal exactly if the literals are the same: types compared, NaN equal to NaN,
    -0.0 unlike 0.0, sets and mappings in any order. Raises RedQueenError for what is not a literal."""
    kind = type(value).__name__
    if isinstance(value, float):
        return (kind, value.hex())
    if value is None or isinstance(value, bool | int | str | bytes | complex):
        return (kind, repr(value))
    if isinstance(value, Mapping):
        return (kind, frozenset((canonical(key), canonical(item)) for key, item in value.items()))
    if isinstance(value, set | frozenset):
        return (kind, frozenset(canonical(item) for item in value))
    if isinstance(value, list | tuple):
        return (kind, tuple(canonical(item) for item in value))
    raise RedQueenError(f"a {kind} is not a literal: return numbers, strings, None, lists, tuples, sets or mappings")
