"""Majority labels for tasks without a known answer, and their accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redqueen.checks.votes import Vote, is_label
from redqueen.credit.outcomes import cut_off, vote
from redqueen.play.groups import episodes_of, with_facts
from redqueen.protocols import Questions, Verifier
from redqueen.questions.asking import answered
from redqueen.questions.verdicts import Truncated, share_right, with_truncated
from redqueen.types import Episode, Group, Metrics, Task


def labelled(groups: Sequence[Group], band: tuple[float, float], truncated: Truncated = "wrong") -> list[Task]:
    """The tasks of the groups whose majority has a share of the answers given within `band`, with its answer as theirs
    and its share as the fact `share`. Attempts without an answer do not count, as in the released code of R-Zero and
    Agent0; `truncated` says whether one that was cut off gave one (`vote`)."""
    lowest, highest = band
    votes = [vote(group, count_missing=False, truncated=truncated) for group in groups]
    return [
        replace(group.task, answer=found.answer, facts={**group.task.facts, "share": found.share})
        for group, found in zip(groups, votes, strict=True)
        if found.answer and lowest <= found.share <= highest
    ]


def held_to_label(groups: Sequence[Group], truncated: Truncated = "wrong", same: Verifier = is_label) -> list[Group]:
    """The groups with a verdict on each attempt, the fact `right`, by the label of their task, which may be wrong: as
    `graded`, without a known answer. `truncated` says what an attempt that was cut off gets."""
    episodes = episodes_of(groups)
    right = [same(each.task, answer) for each, answer in zip(episodes, answered(groups, "graded"), strict=True)]
    return with_facts(groups, [{"right": each} for each in _as_truncated(right, episodes, truncated)])


def held_to_majority(groups: Sequence[Group], truncated: Truncated = "wrong", same: Verifier = is_label) -> list[Group]:
    """The groups with a verdict on each attempt, the fact `right`, by the commonest answer of its own group, which may
    be wrong; None (unknown) in a group in which nobody answered, or with several commonest ones. `truncated` says what
    an attempt that was cut off gets, and whether it votes (`vote`)."""
    return [
        held
        for group in groups
        for held in held_to([group], vote(group, truncated=truncated, undecided=True).answer, truncated, same)
    ]


def held_to(
    groups: Sequence[Group], label: str, truncated: Truncated = "wrong", same: Verifier = is_label
) -> list[Group]:
    """The groups with a verdict on each attempt, the fact `right`, by this label; None (unknown) without one, "".
    `truncated` says what an attempt that was cut off gets."""
    right: list[bool | None] = []
    for group in groups:
        task, said = replace(group.task, answer=label), answered(group.attempts, "graded")
        found = [same(task, answer) if label else None for answer in said]
        right += _as_truncated(found, group.attempts, truncated) if label else found
    return with_facts(groups, [{"right": each} for each in right])


def _as_truncated(right: Sequence[bool | None], episodes: Sequence[Episode], truncated: Truncated) -> list[bool | None]:
    """The verdicts, with those that `truncated` says on attempts that were cut off."""
    return [with_truncated(each, cut_off(one), truncated) for each, one in zip(right, episodes, strict=True)]


def labels_right(questions: Questions, tasks: Sequence[Task], votes: Sequence[Vote]) -> list[bool | None]:
    """For each vote whether its majority answer is right by the question set; None without an answer or a verdict."""
    found = questions.right(tasks, [vote.answer for vote in votes])
    return [right if vote.answer else None for right, vote in zip(found, votes, strict=True)]


def votes_right(
    questions: Questions, tasks: Sequence[Task], votes: Sequence[Vote], known: Sequence[bool]
) -> list[bool | None]:
    """As `labels_right`, but False for a vote without an answer where any verdict on its task is `known`."""
    right = labels_right(questions, tasks, votes)
    return [each if found.answer or not one else False for each, found, one in zip(right, votes, known, strict=True)]


def label_accuracy(questions: Questions, tasks: Sequence[Task], kept: Sequence[Task]) -> Metrics:
    """Metrics: `labels`, their number, and `label_accuracy`, the share that is right by the question set, of those it
    has a verdict on (see `share_right`)."""
    known = {task.id: task for task in tasks}
    right = questions.right([known[task.id] for task in kept], [task.answer for task in kept])
    return share_right("label_accuracy", right) | {"labels": float(len(kept))}
