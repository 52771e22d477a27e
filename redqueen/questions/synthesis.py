"""New problems from failures: invitations by category, labels by vote, difficulty by attempts.

aims    = aimed(weak_counts(curves), 640)                             # a category for each new problem
written = read(questions, attempts(PROPOSE, aimed_at(questions, aims, failed, rng), proposer, 1, rng))
tasks   = elected(attempts(SOLVE, written, labeller, 8, rng))         # with labels on which more than half agree
kept    = within(held_to_label(attempts(SOLVE, tasks, solver, 8, rng)), 0.25, 0.75)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan
from random import Random

from redqueen.credit.outcomes import rate, vote
from redqueen.curricula.weaknesses import budgets
from redqueen.protocols import Proposable
from redqueen.types import Group, Task, Trajectory, Truncated


def aimed(failures: Mapping[str, float], total: int) -> list[str]:
    """The category of each of `total` new problems, in proportion to `failures`; empty if nothing fails."""
    if not any(failures.values()):
        return []
    return [category for category, count in budgets(failures, total).items() for _ in range(count)]


def aimed_at(questions: Proposable, categories: Sequence[str], failed: Sequence[Task], rng: Random) -> list[Task]:
    """An invitation for each category, its reference a random failed problem: concepts that fail often are
    often combined with others."""
    return [questions.invite(category, [rng.choice(failed)], number) for number, category in enumerate(categories)]


def elected(votes: Sequence[Group], above: float = 0.5, truncated: Truncated = "wrong") -> list[Task]:
    """The tasks with the most common answer of a group of attempts in place of their own; only those on which more
    than `above` of its attempts agree. `truncated` says how one that was cut off votes."""
    counted = [(group.task, vote(group, truncated=truncated)) for group in votes]
    return [replace(task, answer=found.answer) for task, found in counted if found.answer and found.share > above]


def within(groups: Sequence[Group], lowest: float, highest: float) -> list[Task]:
    """The tasks whose solve rate is from `lowest` to `highest`; unknown rates are left out."""
    return [group.task for group in groups if lowest <= rate(group).mean <= highest]


def verified_pairs(trajectories: Sequence[Trajectory], below: float = 0.5) -> tuple[list[Trajectory], list[Trajectory]]:
    """The right attempts and for each a wrong one of the same group, of groups with a solve rate under `below`, those
    without a verdict left out; a group has as many pairs as right attempts."""
    chosen, rejected = list[Trajectory](), list[Trajectory]()
    for number in dict.fromkeys(each.group for each in trajectories):
        group = [each for each in trajectories if each.group == number and not isnan(each.rewards.sum())]
        right = [each for each in group if each.rewards.sum() >= 1.0]
        wrong = [each for each in group if each.rewards.sum() < 1.0]
        if len(right) < below * len(group):
            pairs = list(zip(right, wrong, strict=False))
            chosen += [pair[0] for pair in pairs]
            rejected += [pair[1] for pair in pairs]
    return chosen, rejected
