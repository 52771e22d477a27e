"""Rationales of expectation maximisation, and self-play on the problems written with them (2509.19894)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from redqueen.credit.group_rewards import correct
from redqueen.curricula.held_out import Apart
from redqueen.measures.recitations import recited
from redqueen.objectives.imitation import Imitation
from redqueen.players.language.writing import Writer
from redqueen.protocols import Measure, Player
from redqueen.questions.asking import read, said
from redqueen.questions.small.templates import Explained
from redqueen.questions.synthesis import verified_pairs
from redqueen.recipes.proposers.promptcot2.measures import Bound, Generated, agreement, log_likelihoods
from redqueen.recipes.proposers.promptcot2.questions import EXPLAIN, explanations_of, invitations, proposals_of
from redqueen.types import Group, Metrics, Refusal, Task, Trajectory

MEASURED = 8  # held-out problems of each level, in the bound


class Rationales:
    """Rationales of expectation maximisation: the tasks that ask for them, their choice and their imitation."""

    game = EXPLAIN
    objective = Imitation()

    def __init__(self, questions: Explained, explainer: Writer, prompter: Writer) -> None:
        self._questions = questions
        self._explainer = explainer
        self._prompter = prompter

    def asked(self, tasks: Sequence[Task]) -> list[Task]:
        """One task for the explainer for each problem of `tasks`: write the rationale behind it."""
        return [self._questions.explain(task) for task in tasks]

    def best(self, tasks: Sequence[Task], explanations: Sequence[Group]) -> list[str]:
        """For each problem the rationale z of its group with the greatest log p(x | z, c) + log p(z | c) under the
        prompter; the first of equals. One that is empty, as what was never said after a thought, is none: "" where a
        group has no other."""
        pairs = list(zip(tasks, explanations, strict=True))
        repeated = [task for task, group in pairs for _ in group.attempts]
        joint = iter(log_likelihoods(self._prompter, proposals_of(self._questions, repeated, said(explanations))))
        found = []
        for _, group in pairs:
            texts = said(group.attempts)
            likely = [joint_of if text.strip() else -np.inf for text, joint_of in zip(texts, joint, strict=False)]
            found.append(texts[int(np.argmax(likely))])
        return found

    def recited(self, tasks: Sequence[Task], texts: Sequence[str], learner: Writer, writes: bool) -> list[Trajectory]:
        """Trajectories to imitate. If the learner `writes` problems, each is a rationale and its problem in reply to an
        invitation; else the rationale alone in reply to a request to explain the problem. Problems without a rationale
        are left out."""
        shown = proposals_of if writes else explanations_of
        explained = [(task, text) for task, text in zip(tasks, texts, strict=True) if text.strip()]
        return recited(shown(self._questions, [task for task, _ in explained], [z for _, z in explained]), learner)

    def credit(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        """An advantage of 1 for each trajectory: all are imitated alike."""
        return [np.ones(1) for _ in trajectories]

    def agreement(self, tasks: Sequence[Task], texts: Sequence[str]) -> Metrics:
        """`em/agreement`, the share of the texts that are the rationale behind the problem."""
        return agreement(tasks, texts, "em/agreement")

    def measures(self, tests: Apart, base: Player, corpus: Sequence[Task]) -> list[Measure]:
        """The measures of a run: the bound on some of `tests`, and figures of the problems written from the concepts of
        `corpus`, which `base` attempts."""
        some = [task for level in tests.values() for task in level[:MEASURED]]
        bound = Bound(self._questions, self._explainer, self._prompter, some)
        return [bound, Generated(self._questions, self._prompter, base, corpus)]


class SelfPlay:
    """Self-play of the solver on problems that the prompter writes from the concepts of known ones. `dealt` problems
    take the place of the written ones (a control)."""

    reward = correct

    def __init__(self, questions: Explained, dealt: Sequence[Task] = ()) -> None:
        self._questions = questions
        self._dealt = dealt

    def invited(self, tasks: Sequence[Task]) -> list[Task]:
        """An invitation to write a problem from the concepts of each task."""
        return invitations(self._questions, tasks)

    def written(self, proposals: Sequence[Group], rng: Random) -> list[Task | Refusal]:
        """The problem of each proposal, or why there is none."""
        return [*rng.choices(self._dealt, k=len(proposals))] if self._dealt else read(self._questions, proposals)

    def pairs(self, trajectories: Sequence[Trajectory]) -> tuple[list[Trajectory], list[Trajectory]]:
        """Pairs of a verified and a failed response, of problems with fewer than half of the attempts right."""
        return verified_pairs(trajectories, below=0.5)

    def credit(self, chosen: Sequence[Trajectory], rejected: Sequence[Trajectory]) -> list[np.ndarray]:
        """An advantage of 1 for each chosen trajectory, -1 for each rejected one."""
        return [np.ones(1) for _ in chosen] + [-np.ones(1) for _ in rejected]
