"""The members of RLCCF, the label that they give one another, and how far it can be trusted (2508.12338)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from redqueen.checks.consensus import consensus, distance
from redqueen.checks.votes import Elect, Vote, by_value, collective
from redqueen.credit.group_rewards import Stated, correct
from redqueen.credit.outcomes import answers, cut_off, vote
from redqueen.measures.alarms import Alarm, Alarms, Ringing
from redqueen.measures.unseen import ALL_AGREE, NO_VOTE, NOBODY_AGREES, WRONG_LABELS
from redqueen.play.groups import episodes_of, with_facts
from redqueen.protocols import Questions
from redqueen.questions.labels import held_to, labels_right
from redqueen.questions.verdicts import Truncated, share_right
from redqueen.types import Group, Mean, Metrics, RedQueenError, mean_of

Votes = Literal["label", "nearest"]
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


def electing(vote: Votes, weigh: bool) -> Elect:
    """What chooses among the answers of all members: their weighted vote, or the answer nearest to the others."""
    return consensus if vote == "nearest" else lambda said: collective(said, weigh)[0]


def near_to(groups: Sequence[Group], label: str, truncated: Truncated) -> list[Group]:
    """The groups with the fact `quality` of each attempt, 1 - the distance of its answer to the label; None without a
    label, "", and for an attempt that was cut off where these are unknown."""
    episodes = episodes_of(groups)
    silent = [not label or (cut_off(each) and truncated == "unknown") for each in episodes]
    near = [1.0 - distance(text.strip(), label) for text in answers(episodes, truncated)]
    return with_facts(groups, [{"quality": None if n else one} for n, one in zip(silent, near, strict=True)])


class Council(Ringing):
    """Gives each attempt its verdict by the label that all members vote for, and tells what the votes are worth. A
    question of whose label fewer than `least` members are in favour, or that has a tie, has none, and teaches
    nothing."""

    def __init__(self, questions: Questions, elect: Elect, vote: Votes, least: int, truncated: Truncated) -> None:
        self._questions = questions
        self._elect = elect
        self._near = vote == "nearest"
        self.reward = Stated("quality") if self._near else correct
        self._least = least
        self._truncated: Truncated = truncated
        self._alarms = Alarms([WRONG_LABELS, ALL_AGREE, NO_VOTE, NOBODY_AGREES, STUCK, SILENT], quiet=True)
        self._figures: Metrics = {}
        self._named: dict[str, str] = {}  # of the figures of one member, whose they are

    def __call__(self, by_member: Mapping[str, Sequence[Group]]) -> list[Group]:
        """The groups of all members, one at each task, in one list, with the fact `right` on each attempt, or with the
        vote for the nearest its `quality`. Raises RedQueenError where more members are to be in favour of a label than
        there are."""
        if self._least > len(by_member):
            raise RedQueenError(f"--least-members {self._least} cannot be in favour: there are {len(by_member)}")
        columns = list(zip(*by_member.values(), strict=True))
        polled = [self._polled(groups) for groups in columns]
        self._figures = self._counted(by_member, polled)
        labels = [label for label, _ in polled]
        return [
            held
            for groups in by_member.values()
            for group, label in zip(groups, labels, strict=True)
            for held in (near_to if self._near else held_to)([group], label, self._truncated)
        ]

    def _polled(self, groups: Sequence[Group]) -> tuple[str, Vote]:
        """The label of one question, "" without one, and the vote on it."""
        said = [answers(group.attempts, self._truncated) for group in groups]
        found = self._elect(said)
        says = str.strip if self._near else by_value  # a text as it is, which may be all signs, or an answer
        agree = sum(any(says(text) == says(found.answer) for text in each) for each in said) if found.answer else 0
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


def _commonest(votes: Sequence[Vote]) -> float:
    """The share of several questions to which the most frequent answer is the same; 0 for fewer than three."""
    counted = Counter(by_value(each.answer) for each in votes if each.answer)
    return max(counted.values()) / len(votes) if len(votes) > 2 and counted else 0.0
