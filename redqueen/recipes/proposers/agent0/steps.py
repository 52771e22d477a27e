"""What many attempts at a task agree on, and how often they called a tool: labels and rewards where nobody knows the
answer (Agent0, 2511.16043)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from redqueen.checks.votes import Majority, Vote
from redqueen.credit.advantages.keys import by_kind_and_role, by_task_and_role
from redqueen.credit.learnability import Tent
from redqueen.credit.novelty import Repetition, Text
from redqueen.protocols import Domain
from redqueen.questions.asking import answered
from redqueen.types import Episode, Metrics, Refusal, Task, Trajectory

MOST_CALLS = 4  # C: that are paid for


@dataclass(frozen=True)
class Poll:
    """The attempts at one task."""

    vote: Vote
    calls: float  # of tools, the mean over the attempts


def polled(attempts: Sequence[Episode], times: int, majority: Majority) -> list[Poll]:
    """A poll of each task, from attempts that lie task by task, as `alone` makes them. An attempt that was cut off
    gave no answer."""
    groups = [attempts[start : start + times] for start in range(0, len(attempts), times)]
    return [
        Poll(
            majority.label(answered(group)),
            fmean(len(each.outcome.facts.get("calls", ())) for each in group),
        )
        for group in groups
    ]


def kept(tasks: Sequence[Task], polls: Sequence[Poll], lowest: float, highest: float) -> list[Task]:
    """The tasks of which the share of the vote lies between these bounds, with the vote as their answer. Facts gain
    `share`, and the answer that the domain knew as `known`, for audits."""
    return [
        replace(task, answer=poll.vote.answer, facts={**task.facts, "share": poll.vote.share, "known": task.answer})
        for task, poll in zip(tasks, polls, strict=True)
        if poll.vote.answer and lowest <= poll.vote.share <= highest
    ]


def poll_metrics(domain: Domain, tasks: Sequence[Task], polls: Sequence[Poll], labelled: Sequence[Task]) -> Metrics:
    """What the polls of a step say, and how often the domain finds the labels that were kept right."""
    if not polls:
        return {"polls": 0.0}
    found = {
        "polls": float(len(polls)),
        "polls/share": fmean(poll.vote.share for poll in polls),
        "polls/calls": fmean(poll.calls for poll in polls),
        "polls/kept": len(labelled) / len(tasks),
    }
    known = [task for task in labelled if task.facts["known"]]
    if known:
        truths = [replace(task, answer=str(task.facts["known"])) for task in known]
        found["polls/label_accuracy"] = fmean(domain.right(truths, [task.answer for task in known]))
    return found


def rewards(
    written: Sequence[Task | Refusal], polls: Sequence[Poll], per_call: float = 0.05, repetition: float = 1.0
) -> list[float]:
    """What Agent0 pays for each proposal; the polls are those of the tasks among them. Proposals that could not be read
    get 0, and count in the batch of which a cluster is a share."""
    texts: list[Text] = [each.prompt if isinstance(each, Task) else None for each in written]
    found, repeated = iter(polls), Repetition(repetition)(texts)
    return [reward(next(found), alike, per_call) if text else 0.0 for text, alike in zip(texts, repeated, strict=True)]


def reward(poll: Poll, repetition: float, per_call: float = 0.05) -> float:
    """max(0, 1 - 2 |p - 1/2| + per_call * min(calls, 4) - repetition)."""
    return max(0.0, Tent().at(poll.vote.share) + per_call * min(poll.calls, MOST_CALLS) - repetition)


def uninspired(domain: Domain, count: int) -> list[Task]:
    """`count` invitations of each kind that show nothing but a domain's first seed."""
    seeds = domain.seeds()
    shown = {kind: [seed for seed in seeds if seed.kind in domain.sources(kind)][:1] for kind in domain.kinds}
    return [domain.invite(kind, shown[kind], number) for kind in domain.kinds for number in range(count)]


def by_kind_or_task(trajectory: Trajectory, turn: int) -> Hashable:
    """Proposals are compared with all proposals of their kind in the batch, solutions with those of the same task."""
    return (by_task_and_role if trajectory.seat.role == "solver" else by_kind_and_role)(trajectory, turn)
