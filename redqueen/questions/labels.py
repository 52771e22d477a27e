"""Majority labels for tasks without a known answer, and their accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from statistics import fmean

from redqueen.checks.numeric import Exact
from redqueen.checks.votes import Vote
from redqueen.credit.outcomes import vote
from redqueen.curricula.sampling import Distinct, Uniform
from redqueen.curricula.store import TaskStore
from redqueen.play.groups import episodes_of, with_facts
from redqueen.protocols import Questions, State, Verifier
from redqueen.questions.asking import answered
from redqueen.questions.verdicts import share_right
from redqueen.types import Group, Metrics, Task


def labelled(tasks: Sequence[Task], votes: Sequence[Vote], band: tuple[float, float]) -> list[Task]:
    """The tasks whose share of agreeing attempts lies within `band`, with the majority's answer."""
    lowest, highest = band
    return [
        replace(task, answer=vote.answer)
        for task, vote in zip(tasks, votes, strict=True)
        if vote.answer and lowest <= vote.share <= highest
    ]


def held_to_label(groups: Sequence[Group], same: Verifier = Exact()) -> list[Group]:
    """The groups with a verdict on each attempt, the fact `right`, by the label of their task, which may be wrong: as
    `graded`, without a known answer. An attempt that was cut off is wrong."""
    pairs = zip(episodes_of(groups), answered(groups), strict=True)
    return with_facts(groups, [{"right": same(episode.task, answer)} for episode, answer in pairs])


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


class LabelPool:
    """The tasks that a round learns from, each with what most attempts said as its answer; each is drawn once a step.

    kept = measure.apart(pool.labelled(answers))    # of the groups of attempts at what was proposed
    pool.renew(kept, proposer.name, step)           # once a round
    solutions = pool.graded(attempts(SOLVE, pool.draw(16, rng), solver, 5, rng))
    """

    def __init__(self, questions: Questions, band: tuple[float, float]) -> None:
        self._questions = questions
        self._band = band
        self._store = TaskStore(sampling=Distinct(Uniform()))

    def labelled(self, answers: Sequence[Group], count_missing: bool = True) -> list[Task]:
        """The tasks of the groups on which attempts agree neither too little nor too much, the share of the vote within
        the band. Their answer is the majority's; facts gain its `share`, and the answer that the question set knew as
        `known`, for audits. `count_missing` says whether attempts without an answer count in the share."""
        lowest, highest = self._band
        polled = [(group.task, vote(group, count_missing)) for group in answers]
        return [
            replace(task, answer=most.answer, facts={**task.facts, "share": most.share, "known": task.answer})
            for task, most in polled
            if most.answer and lowest <= most.share <= highest
        ]

    def renew(self, kept: Sequence[Task], origin: str, step: int) -> None:
        """Puts these tasks in the place of those of the round before."""
        self._store.prune(lambda history: True)
        self._store.add(kept, origin=origin, step=step)

    def draw(self, count: int, rng: Random) -> list[Task]:
        """Different tasks; fewer where fewer are held, none where none are."""
        return self._store.draw(count, rng) if len(self._store) else []

    def graded(self, solutions: Sequence[Group]) -> list[Group]:
        """The groups with a verdict on each attempt by the label of its task (`held_to_label`)."""
        found = held_to_label(solutions)
        self._store.observe(found)
        return found

    def accuracy(self, kept: Sequence[Task]) -> Metrics:
        """`labels`, how many there are, and `label_accuracy`, how many of them the question set finds right."""
        return label_accuracy(self._questions, [_as_known(task) for task in kept], kept)

    def polls(self, answers: Sequence[Group], kept: Sequence[Task]) -> Metrics:
        """What the votes of a step say: `polls`, how many there are, the mean `polls/share` of the majority, the share
        of tasks that were kept, and how many of their labels the question set finds right."""
        if not answers:
            return {"polls": 0.0}
        told = [task for task in kept if task.facts["known"]]
        right = self._questions.right([_as_known(task) for task in told], [task.answer for task in told])
        return {
            "polls": float(len(answers)),
            "polls/share": fmean(vote(group).share for group in answers),
            "polls/kept": len(kept) / len(answers),
            **share_right("polls/label_accuracy", right),
        }

    def state(self) -> State:
        return self._store.state()

    def restore(self, state: State) -> None:
        self._store.restore(state)


def _as_known(task: Task) -> Task:
    """A task with the answer that its question set knew in the place of its label."""
    return replace(task, answer=str(task.facts["known"]))
