"""Variational synthesis (SvS, arXiv:2508.14029): which responses are varied, which variants posed, what is learned."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from random import Random

import numpy as np

from redqueen.checks.leaks import leaks
from redqueen.credit.outcomes import rate, scores
from redqueen.curricula.held_out import Apart, apart_from
from redqueen.protocols import Key
from redqueen.questions.small.variants import Varying
from redqueen.types import Group, Metrics, Refusal, Task, Trajectory


def candidates(
    questions: Varying,
    responses: Sequence[Group],
    middling: tuple[float, float],
    most: int,
    rng: Random,
) -> list[Task]:
    """Invitations to vary: one for each correct response to an original whose accuracy lies in the range, both ends
    included, `most` of them at random where there are more."""
    low, high = middling
    correct = [
        episode
        for group in responses
        if low <= rate(group).mean <= high
        for episode, right in zip(group.attempts, scores(group), strict=True)
        if right == 1.0
    ]
    chosen = sorted(rng.sample(range(len(correct)), min(most, len(correct))))
    return [
        questions.vary(str(correct[at].outcome.facts["reply"]), correct[at].task.answer, number)
        for number, at in enumerate(chosen)
    ]


def posed(written: Sequence[Task | Refusal], apart: Apart, refuse_leaks: bool = True) -> list[Task | Refusal]:
    """The variants with ids of their own, so that each is a group whatever its text. Refused are those that are held
    out ("held_out") and, if asked, those in whose text the answer stands ("leak")."""
    return [_posed(number, each, apart, refuse_leaks) for number, each in enumerate(written)]


def _posed(number: int, variant: Task | Refusal, apart: Apart, refuse_leaks: bool) -> Task | Refusal:
    if isinstance(variant, Refusal):
        return variant
    if not apart_from(apart, [variant]):
        return Refusal("held_out")
    if refuse_leaks and leaks(variant.prompt, variant.answer):
        return Refusal("leak")
    return replace(variant, id=f"{number}: {variant.id}")


def rewarded_groups(trajectories: Sequence[Trajectory], key: Key) -> list[Trajectory]:
    """The trajectories of groups in which one, at least, has a reward above zero."""
    rewarded: set[Hashable] = {key(each, 0) for each in trajectories if each.rewards.sum() > 0.0}
    return [each for each in trajectories if key(each, 0) in rewarded]


def audited(questions: Varying, variants: Sequence[Task], rewards: Sequence[float]) -> Metrics:
    """How many variants were posed, how many of them show their answer, how many were accepted (paid), and the share of
    these whose answer is the true one: what only an oracle can say, and no reward rests on. No share where none was
    accepted."""
    accepted = [task for task, reward in zip(variants, rewards, strict=True) if reward > 0.0]
    found = {"variants": float(len(variants)), "accepted": float(len(accepted))}
    found["leaking"] = float(sum(bool(leaks(task.prompt, task.answer)) for task in variants))
    if accepted:
        found["accepted_true"] = float(np.mean([questions.true_answer(task) == task.answer for task in accepted]))
    return found
