"""The members of RLCCF, the label that they give one another, and how far it can be trusted (2508.12338)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

from redqueen.checks.votes import Vote, by_value, collective, is_label
from redqueen.credit.outcomes import answers, verdicts, vote
from redqueen.measures.accuracy import ATTEMPTS, held_out, on_problems, pass_at
from redqueen.measures.alarms import Alarm, Alarms
from redqueen.measures.unseen import ALL_AGREE, NO_VOTE, NOBODY_AGREES, WRONG_LABELS
from redqueen.play.groups import attempts
from redqueen.players.language.writing import Writer
from redqueen.protocols import Policy, Questions, State
from redqueen.questions.asking import SOLVE, graded
from redqueen.questions.labels import held_to, labels_right
from redqueen.questions.verdicts import Truncated, share_right
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.types import Basis, Group, Mean, Metrics, RedQueenError, Task, mean_of

STUCK = Alarm(
    "stuck",
    "stuck",
    "{who} gives one and the same answer to {value:.0%} of the questions of a step: its vote says nothing about them",
    limit=0.8,
    steps=5,
)
SILENT = Alarm(
    "silent",
    "least_answered",
    "{quiet} gives an answer in only {value:.0%} of its attempts: the others vote without it",
    limit=0.25,
    steps=5,
    below=True,
)


def members_of(learner: Learner, count: int, others: Sequence[str], least: int, run: Run) -> list[Writer]:
    """`count` members made of the learner's model, adapters on one model where it has any, and one of each of the other
    models; all with names of their own, the first called as the learner. Raises RedQueenError where more members are
    to be in favour of a label than there are."""
    if least > count + len(others):
        raise RedQueenError(f"--least-members {least} cannot be in favour: there are {count + len(others)}")
    first = learner.build_model(run.derived("learner"))
    members = [first]
    for number in range(1, count):
        members.append(_beside(learner, first, run.derived("member", number), f"member{number + 1}"))
    for number, model in enumerate(others, start=count):
        own = Learner(**{**vars(learner), "model": model})
        members.append(own.build_model(run.derived("member", number), f"member{number + 1}"))
    return members


def _beside(learner: Learner, first: Writer, seed: int, name: str) -> Writer:
    return first.sibling(name) if first.has_adapter else learner.build_model(seed, name)


class Council:
    """Gives each attempt its verdict by the label that all members vote for, and tells what the votes are worth. A
    question of whose label fewer than `least` members are in favour has none, and teaches nothing."""

    def __init__(self, questions: Questions, weigh: bool, least: int, truncated: Truncated) -> None:
        self._questions = questions
        self._weigh = weigh
        self._least = least
        self._truncated: Truncated = truncated
        self._alarms = Alarms([WRONG_LABELS, ALL_AGREE, NO_VOTE, NOBODY_AGREES, STUCK, SILENT], quiet=True)
        self._figures: Metrics = {}
        self._named: dict[str, str] = {}  # of the figures of one member, whose they are

    def __call__(self, by_member: Mapping[str, Sequence[Group]]) -> list[Group]:
        """The groups of all members, one at each task, in one list, with the fact `right` on each attempt."""
        columns = list(zip(*by_member.values(), strict=True))
        polled = [self._polled(groups) for groups in columns]
        self._figures = self._counted(by_member, polled)
        labels = [label for label, _ in polled]
        return [
            held
            for groups in by_member.values()
            for group, label in zip(groups, labels, strict=True)
            for held in held_to([group], label, self._truncated)
        ]

    def _polled(self, groups: Sequence[Group]) -> tuple[str, Vote]:
        """The label of one question, "" without one, and the vote on it."""
        said = [answers(group.attempts, self._truncated) for group in groups]
        found, _ = collective(said, self._weigh)
        label = Task("", answer=found.answer)
        agree = sum(any(is_label(label, text) for text in each) for each in said) if found.answer else 0
        return (found.answer if agree >= self._least else ""), found

    def _counted(self, by_member: Mapping[str, Sequence[Group]], polled: Sequence[tuple[str, Vote]]) -> Metrics:
        tasks = [group.task for group in next(iter(by_member.values()))]
        votes = [found for _, found in polled]
        own = {name: [vote(group, truncated=self._truncated) for group in groups] for name, groups in by_member.items()}
        said = {
            name: [by_value(text) for group in groups for text in answers(group.attempts, self._truncated)]
            for name, groups in by_member.items()
        }
        given = {name: sum(map(bool, texts)) / len(texts) for name, texts in said.items()}
        stuck = {name: _commonest(found) for name, found in own.items()}
        who, quiet = max(stuck, key=stuck.__getitem__), min(given, key=given.__getitem__)
        self._named = {"who": who, "quiet": quiet}
        return share_right("label_accuracy", labels_right(self._questions, tasks, votes)) | {
            "majority_share": mean_of([each.share for each in votes]),
            "labelled": mean_of([bool(label) for label, _ in polled]),
            "agreed": mean_of([round(each.share * each.total) > 1 for each in votes]),
            "answered": mean_of(given.values()),
            "consistency": mean_of([each.share for found in own.values() for each in found]),
            "stuck": Mean(stuck[who], len(tasks)),
            "least_answered": Mean(given[quiet], len(said[quiet])),
        }

    def metrics(self) -> Metrics:
        """Figures of the last vote: `label_accuracy`, the share of the labels that are right; `majority_share`, the
        label's mean share of the weights (the collective consistency); `labelled`, the share of questions with a label;
        `consistency`, the mean share of a member's answers that give its own most frequent one; `stuck` and
        `least_answered` of the worst member; and the alarms."""
        watched: dict[str, float | str] = {name: float(value) for name, value in self._figures.items()}
        return self._figures | self._alarms.observe(watched | self._named)

    def alarms(self) -> list[str]:
        return self._alarms.alarms()

    def state(self) -> State:
        return {"alarms": self._alarms.state()}

    def restore(self, state: State) -> None:
        self._alarms.restore(state["alarms"])


def _commonest(votes: Sequence[Vote]) -> float:
    """The share of several questions to which the most frequent answer is the same; 0 for fewer than three."""
    counted = Counter(by_value(each.answer) for each in votes if each.answer)
    return max(counted.values()) / len(votes) if len(votes) > 2 and counted else 0.0


class OfMembers:
    """The answers of all members to held-out tasks: `accuracy`, the mean over the members, and `accuracy/NAME` of each;
    `pass@k` and `majority`, means of each by itself; `collective`, the accuracy of the vote of all; and `room`, how
    much that is above the accuracy. Left out where nobody knows what is right."""

    def __init__(
        self,
        questions: Questions,
        members: Sequence[Policy],
        problems: int,
        seed: int,
        truncated: Truncated,
        weigh: bool,
    ) -> None:
        self.tests = held_out(questions, problems, seed=seed)
        self._tasks = [task for tasks in self.tests.values() for task in tasks]
        self._questions = questions
        self._members = members
        self._seed = seed
        self._truncated: Truncated = truncated
        self._weigh = weigh
        self._attempts = ATTEMPTS

    def sample(self, attempts: int) -> None:
        """From now on each task is attempted as often by each member."""
        self._attempts = attempts

    def __call__(self) -> Metrics:
        tried = {
            each.name: graded(
                self._questions,
                attempts(SOLVE, self._tasks, each, self._attempts, Random(self._seed)),
                self._truncated,
            )
            for each in self._members
        }
        found: Metrics = {}
        for name, groups in tried.items():
            right = np.array([verdicts(group) for group in groups])
            own = [vote(group, truncated=self._truncated) for group in groups]
            found |= _figures_of(right, self._attempts, f"/{name}")
            found |= share_right(f"majority/{name}", _verdicts(self._questions, self._tasks, own))
        for figure in ("accuracy", f"pass@{self._attempts}", "majority"):
            if known := [found[f"{figure}/{name}"] for name in tried if f"{figure}/{name}" in found]:
                found[figure] = mean_of(known)
        columns = zip(*tried.values(), strict=True)
        said = [[answers(group.attempts, self._truncated) for group in column] for column in columns]
        votes = [collective(each, self._weigh)[0] for each in said]
        found |= share_right("collective", _verdicts(self._questions, self._tasks, votes))
        if "collective" in found and "accuracy" in found:
            found["room"] = Mean(found["collective"] - found["accuracy"], len(self._tasks))
        return found

    def basis(self) -> dict[str, Basis]:
        stated = ("accuracy", f"pass@{self._attempts}", "majority")
        names = [*stated, "collective", "room", *(f"{name}/{each.name}" for name in stated for each in self._members)]
        return {name: on_problems(self._tasks, self._attempts, guesses=False) for name in names}

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


def _figures_of(right: np.ndarray, count: int, suffix: str) -> Metrics:
    """Of [tasks, attempts] verdicts of one member."""
    known = ~np.isnan(right)
    if not known.any():
        return {}
    found: Metrics = {f"accuracy{suffix}": Mean(float(np.nanmean(right)), int(known.sum()))}
    whole = [row for row in right if not np.isnan(row).any()]
    if count > 1 and whole:
        found[f"pass@{count}{suffix}"] = mean_of([pass_at(count, int(row.sum()), count) for row in whole])
    return found


def _verdicts(questions: Questions, tasks: Sequence[Task], votes: Sequence[Vote]) -> list[Any]:
    """Whether each vote is right, False where nobody answered, None where nobody knows."""
    right = labels_right(questions, tasks, votes)
    return [each if found.answer else False for each, found in zip(right, votes, strict=True)]
