"""What many attempts at a task agree on, and how often they called a tool: labels and rewards where nobody knows the
answer (Agent0, 2511.16043)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from redqueen.checks.votes import Vote
from redqueen.credit.group_rewards import FromBelow
from redqueen.credit.learnability import Tent
from redqueen.credit.novelty import Repetition, Text
from redqueen.credit.outcomes import vote
from redqueen.protocols import Proposable, Questions
from redqueen.questions.verdicts import share_right
from redqueen.types import Group, Metrics, Refusal, Task

MOST_CALLS = 4  # C: that are paid for


def calls(group: Group) -> float:
    """How often a tool was called, the mean over the attempts."""
    return fmean(len(each.outcome.facts.get("calls", ())) for each in group.attempts)


def kept(tasks: Sequence[Task], votes: Sequence[Vote], lowest: float, highest: float) -> list[Task]:
    """The tasks of which the share of the vote lies between these bounds, with the vote as their answer. Facts gain
    `share`, and the answer that the question set knew as `known`, for audits."""
    return [
        replace(task, answer=vote.answer, facts={**task.facts, "share": vote.share, "known": task.answer})
        for task, vote in zip(tasks, votes, strict=True)
        if vote.answer and lowest <= vote.share <= highest
    ]


def vote_metrics(questions: Questions, answers: Sequence[Group], labelled: Sequence[Task]) -> Metrics:
    """What the votes of a step say, and how often the question set finds the labels that were kept right."""
    if not answers:
        return {"polls": 0.0}
    found = {
        "polls": float(len(answers)),
        "polls/share": fmean(vote(group).share for group in answers),
        "polls/calls": fmean(calls(group) for group in answers),
        "polls/kept": len(labelled) / len(answers),
    }
    known = [task for task in labelled if task.facts["known"]]
    if known:
        truths = [replace(task, answer=str(task.facts["known"])) for task in known]
        found |= share_right("polls/label_accuracy", questions.right(truths, [task.answer for task in known]))
    return found


def frontier(
    written: Sequence[Task | Refusal], answers: Sequence[Group], per_call: float = 0.05, repetition: float = 1.0
) -> FromBelow:
    """What Agent0 pays for each proposal, max(0, 1 - 2 |p - 1/2| + per_call * min(calls, 4) - repetition), from the
    group of answers to it. Proposals that could not be read get 0, and count in the batch of which a cluster is a
    share."""
    texts: list[Text] = [each.prompt if isinstance(each, Task) else None for each in written]
    repeated = Repetition(repetition)(texts)[[text is not None for text in texts]] if texts else np.zeros(0)
    unsure = np.array([Tent().at(vote(group).share) for group in answers])
    called = np.array([per_call * min(calls(group), MOST_CALLS) for group in answers])
    return FromBelow(
        answers,
        {"uncertainty": unsure, "calls": called, "repetition": -np.minimum(repeated, unsure + called)},
    )


def uninspired(questions: Proposable, count: int) -> list[Task]:
    """`count` invitations of each kind that show nothing but a question set's first seed."""
    seeds = questions.seeds()
    shown = {kind: [seed for seed in seeds if seed.kind in questions.sources(kind)][:1] for kind in questions.kinds}
    return [questions.invite(kind, shown[kind], number) for kind in questions.kinds for number in range(count)]
