"""Majority labels for tasks without a known answer, and their accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redqueen.checks.votes import Vote, is_label
from redqueen.credit.outcomes import vote, vote_among
from redqueen.play.groups import episodes_of, with_facts
from redqueen.protocols import Questions, Verifier
from redqueen.questions.asking import answered
from redqueen.questions.verdicts import share_right
from redqueen.types import Group, Metrics, Task


def labelled(groups: Sequence[Group], band: tuple[float, float]) -> list[Task]:
    """The tasks of the groups whose majority has a share of the answers given within `band`, with its answer as theirs
    and its share as the fact `share`. Attempts without an answer do not count, as in the released code of R-Zero and
    Agent0."""
    lowest, highest = band
    votes = [vote(group, count_missing=False) for group in groups]
    return [
        replace(group.task, answer=found.answer, facts={**group.task.facts, "share": found.share})
        for group, found in zip(groups, votes, strict=True)
        if found.answer and lowest <= found.share <= highest
    ]


def held_to_label(groups: Sequence[Group], same: Verifier = is_label) -> list[Group]:
    """The groups with a verdict on each attempt, the fact `right`, by the label of their task, which may be wrong: as
    `graded`, without a known answer. An attempt that was cut off is wrong."""
    pairs = zip(episodes_of(groups), answered(groups), strict=True)
    return with_facts(groups, [{"right": same(episode.task, answer)} for episode, answer in pairs])


def held_to_majority(groups: Sequence[Group], same: Verifier = is_label) -> list[Group]:
    """The groups with a verdict on each attempt, the fact `right`, by the commonest answer of its own group, which may
    be wrong; None (unknown) in a group in which nobody answered. An attempt that was cut off is wrong."""
    facts = []
    for group in groups:
        said = answered(group.attempts)
        label = replace(group.task, answer=vote_among(said).answer)
        facts += [{"right": same(label, answer) if label.answer else None} for answer in said]
    return with_facts(groups, facts)


def labels_right(questions: Questions, tasks: Sequence[Task], votes: Sequence[Vote]) -> list[bool | None]:
    """For each vote whether its majority answer is right by the question set; None without an answer or a verdict."""
    found = questions.right(tasks, [vote.answer for vote in votes])
    return [right if vote.answer else None for right, vote in zip(found, votes, strict=True)]


def label_accuracy(questions: Questions, tasks: Sequence[Task], kept: Sequence[Task]) -> Metrics:
    """Metrics: `labels`, their number, and `label_accuracy`, the share that is right by the question set, of those it
    has a verdict on (see `share_right`)."""
    known = {task.id: task for task in tasks}
    right = questions.right([known[task.id] for task in kept], [task.answer for task in kept])
    return share_right("label_accuracy", right) | {"labels": float(len(kept))}
