"""Variational synthesis (SvS, arXiv:2508.14029): which responses are varied, which variants posed, what is learned."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from random import Random

import numpy as np

from redqueen.checks.leaks import leaks
from redqueen.credit.advantages.keys import by_group
from redqueen.credit.group_rewards import FromBelow
from redqueen.credit.learnability import Band
from redqueen.credit.outcomes import rate, scores
from redqueen.curricula.held_out import Apart, apart_from
from redqueen.measures.health import ProposerHealth
from redqueen.measures.proposals import proposed
from redqueen.play.groups import episodes_of
from redqueen.protocols import Key, State
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


def rewarded_groups(trajectories: Sequence[Trajectory], key: Key = by_group) -> list[Trajectory]:
    """The trajectories of groups in which one, at least, has a reward above zero."""
    rewarded: set[Hashable] = {key(each, 0) for each in trajectories if each.rewards.sum() > 0.0}
    return [each for each in trajectories if key(each, 0) in rewarded]


class Synthesised:
    """What variants pay by the accuracy of the attempts at them, and the figures and alarms of every step's variants:
    1 where the accuracy lies within `paid`, `ends` where no attempt or every attempt is right, else 0."""

    def __init__(self, questions: Varying, paid: tuple[float, float], ends: float = 0.0) -> None:
        self._questions = questions
        self._pays = Band(*paid, at_the_ends=ends)
        self._health = ProposerHealth()

    def reward(self, tries: Sequence[Group]) -> FromBelow:
        """What each synthesis earns by the attempts at its variant, 0 where it is none."""
        return FromBelow(tries, {"synthesis": self._paid(tries)})

    def check(self, written: Sequence[Task | Refusal], tries: Sequence[Group]) -> Metrics:
        """The figures of `ProposerHealth` and of `audited`; the oracle is asked for these alone."""
        variants = [group.task for group in tries]
        right = [self._questions.true_answer(task) == task.answer for task in variants]
        found = proposed(written, [scores(group) for group in tries], labels_right=right, hidden=True)
        return self._health.check(found) | audited(self._questions, variants, self._paid(tries))

    def _paid(self, tries: Sequence[Group]) -> list[float]:
        return [self._pays(scores(group)) for group in tries]

    def alarms(self) -> list[str]:
        return self._health.alarms()

    def state(self) -> State:
        return self._health.state()

    def restore(self, state: State) -> None:
        self._health.restore(state)


def amounts(responses: Sequence[Group], synthesis: Sequence[Group], tries: Sequence[Group]) -> Metrics:
    """`accuracy/originals`, cut-off responses as wrong ones; how many responses were `varied`; and all `rollouts`."""
    accuracy = np.nan_to_num([scores(group) for group in responses]).mean()
    counted = {"varied": len(synthesis), "rollouts": len(episodes_of([*responses, *synthesis, *tries]))}
    return {"accuracy/originals": float(accuracy)} | {name: float(count) for name, count in counted.items()}


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
