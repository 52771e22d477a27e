"""Which responses SvS varies, which variants are tried, and what is paid and learned (2508.14029)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np

from redqueen.checks.leaks import gives_away
from redqueen.credit.filters import drop_even_groups
from redqueen.credit.group_rewards import FromBelow, correct
from redqueen.credit.learnability import Band
from redqueen.credit.outcomes import rate, verdicts, whole_reply
from redqueen.measures.accuracy import HeldOut
from redqueen.play.groups import episodes_of
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.small.variants import Varying
from redqueen.questions.verdicts import share_right
from redqueen.types import Group, Metrics, Refusal, Task, Trajectory, mean_of


def find_varying(spec: str) -> Varying:
    """The question set that a specification names, if its problems can be told anew."""
    return find_questions_with(spec, Varying)


class Rewards:
    """What the roles earn: the solver 1 for a right answer, the synthesiser 1 for a variant whose accuracy lies within
    `paid`, both ends included, but nothing where none or all of the attempts are right."""

    solver = correct

    def __init__(self, paid: tuple[float, float]) -> None:
        self._shape = Band(*paid)

    def proposer(self, tries: Sequence[Group]) -> FromBelow:
        """What each synthesis earns by the attempts at its variant; 0 where it is none."""
        return FromBelow(tries, {"synthesis": self.of_variants(tries)})

    def of_variants(self, tries: Sequence[Group]) -> list[float]:
        """What each variant pays, from the attempts at it."""
        return [self._shape(verdicts(group)) for group in tries]

    def kept(self, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
        """Those that are learned from: of groups of attempts that are neither all right nor all wrong, and of groups
        of synthesis in which one has a reward above zero."""
        rewarded = {each.group for each in trajectories if each.rewards.sum() > 0.0}
        solving = drop_even_groups([each for each in trajectories if each.seat.role == "solver"])
        return solving + [each for each in trajectories if each.seat.role != "solver" and each.group in rewarded]


class Variation:
    """Invitations to vary at most `responses` correct responses, of originals of `middling` accuracy, both ends
    included; and the gates that a variant passes before it is tried."""

    def __init__(
        self,
        questions: Varying,
        measure: HeldOut,
        middling: tuple[float, float],
        responses: int,
        refuse_leaks: bool = True,
    ) -> None:
        self._questions = questions
        self._measure = measure
        self._middling = middling
        self._most = responses
        self._refuse_leaks = refuse_leaks

    def invited(self, responses: Sequence[Group], rng: Random) -> list[Task]:
        """An invitation for each candidate: a correct response to an original of middling accuracy. Drawn at random
        where there are too many."""
        low, high = self._middling
        correct = [
            episode
            for group in responses
            if low <= rate(group).mean <= high
            for episode, right in zip(group.attempts, verdicts(group), strict=True)
            if right == 1.0
        ]
        chosen = sorted(rng.sample(range(len(correct)), min(self._most, len(correct))))
        return [
            self._questions.vary(whole_reply(correct[at]), correct[at].task.answer, number)
            for number, at in enumerate(chosen)
        ]

    def posed(self, written: Sequence[Task | Refusal]) -> list[Task | Refusal]:
        """The variants with ids of their own, so that each is a group whatever its text. Refused are those that are
        held out ("held_out") and, if asked, those in whose text the answer stands ("leak")."""
        return [self._posed(number, each) for number, each in enumerate(written)]

    def _posed(self, number: int, variant: Task | Refusal) -> Task | Refusal:
        if isinstance(variant, Refusal):
            return variant
        if not self._measure.apart([variant]):
            return Refusal("held_out")
        if self._refuse_leaks and gives_away(variant.prompt, variant.answer):
            return Refusal("leak")
        return replace(variant, id=f"{number}: {variant.id}")

    def figures(
        self, responses: Sequence[Group], synthesis: Sequence[Group], tries: Sequence[Group], paid: Sequence[float]
    ) -> Metrics:
        """`accuracy/originals`, cut-off responses as wrong ones; how many responses were `varied`; all `rollouts`; and
        the figures of `audited`."""
        accuracy = mean_of(np.nan_to_num([verdicts(group) for group in responses]).ravel())
        counted = {"varied": len(synthesis), "rollouts": len(episodes_of([*responses, *synthesis, *tries]))}
        found = audited(self._questions, [group.task for group in tries], paid)
        return {"accuracy/originals": accuracy} | {name: float(count) for name, count in counted.items()} | found


def audited(questions: Varying, variants: Sequence[Task], paid: Sequence[float]) -> Metrics:
    """How many variants were posed, how many of them show their answer, how many were accepted (paid), and the share of
    these whose answer is the true one: what only an oracle can say, and no reward rests on. No share where none was
    accepted."""
    accepted = [task for task, reward in zip(variants, paid, strict=True) if reward > 0.0]
    found = {"variants": float(len(variants)), "accepted": float(len(accepted))}
    found["leaking"] = float(sum(gives_away(task.prompt, task.answer) for task in variants))
    true = [questions.true_answer(task) for task in accepted]
    right = [None if each is None else each == task.answer for each, task in zip(true, accepted, strict=True)]
    return found | (share_right("accepted_true", right) if accepted else {})
