"""What the judge of Self-J is taught: answers of the start, scored with the right answer in view (2409.00935)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import compress
from math import isnan
from random import Random
from typing import Literal

import numpy as np

from redqueen.credit.outcomes import number, vote
from redqueen.measures.alarms import Alarm, Alarms
from redqueen.measures.judges import auc
from redqueen.play.lockstep import play
from redqueen.players.language.reciter import Reader, Reciter
from redqueen.protocols import Player, State
from redqueen.questions.asked_judges import AskedJudge
from redqueen.questions.asking import JUDGE, said
from redqueen.questions.fenced import about_score
from redqueen.questions.judging import HIGHEST, LOWEST
from redqueen.questions.verdicts import Truncated
from redqueen.texts import likeness
from redqueen.types import Episode, Group, Match, Mean, Metrics, RedQueenError, mean_of

Likeness = Literal["check", "text"]
BLIND = Alarm(
    "blind_labels",
    "label_auc",
    "a right answer is labelled above a wrong one in only {value:.0%}: the labels teach little (--likeness check; a "
    "start that has learned to compare)",
    limit=0.6,
    steps=5,
    below=True,
)
ONE_LABEL = Alarm(
    "one_label",
    "commonest_label",
    "{value:.0%} of the answers have one and the same label: nothing is told apart",
    limit=0.9,
    steps=5,
)
UNREAD = Alarm(
    "unread",
    "unread",
    "{value:.0%} of the replies hold no answer: they are not judged (--max-completion-length, --answer)",
    limit=0.5,
    steps=5,
)


def label(score: float, like: float, mix: float) -> int:
    """The label from 0 to 9: `mix` parts of the judge's score (0 to 9), the others of the likeness (0 to 1)."""
    return int(mix * score + (1.0 - mix) * HIGHEST * like + 0.5)


class Lessons:
    """Scores each answer by the model of the start, `judge`, with the reference in view; joined with the likeness of
    answer and reference this is its label. Each label is taught twice, with the reference in view and without it.
    Answers without a reference, and replies in which no answer was found, teach nothing. Raises RedQueenError where
    there has been no reference at all."""

    def __init__(
        self, judge: Player, mix: float, kind: Likeness, majority: bool, truncated: Truncated = "wrong"
    ) -> None:
        self._judge = AskedJudge(judge, f"the judge {judge.name}")
        self._mix, self._kind, self._majority = mix, kind, majority
        self._truncated: Truncated = truncated
        self._references = 0  # there have been
        self._figures: Metrics = {}
        self._alarms = Alarms([BLIND, ONE_LABEL, UNREAD], quiet=True)

    def __call__(self, groups: Sequence[Group], learner: Reader, rng: Random) -> list[Episode]:
        """Two episodes for each label, one after the other, in which the learner recites it: aided, and plain."""
        references = [self._referred(group) for group in groups]
        self._references += sum(map(bool, references))
        if not self._references:
            raise RedQueenError(
                "answers are labelled with a reference in view, and there is none: --columns answer=COL names a column "
                "of answers, --majority takes the commonest of several --attempts"
            )
        tried = [
            (one, text, reference)
            for group, reference in zip(groups, references, strict=True)
            for one, text in zip(group.attempts, said([group]), strict=True)
        ]
        answers = [each for each in tried if each[1].strip() and each[2]]
        aided = [
            about_score(one.task, text, rng, LOWEST, HIGHEST, reference=reference) for one, text, reference in answers
        ]
        about = [("", "aided", task.prompt) for task in aided]
        chances = self._judge.chances(aided, about, rng) if aided else []
        right = [number(one.outcome.facts["right"]) for one, *_ in answers]
        likes = [
            each if self._kind == "check" and not isnan(each) else likeness(text, reference) or 0.0
            for each, (_, text, reference) in zip(right, answers, strict=True)
        ]
        scores = [float(row @ np.arange(LOWEST, HIGHEST + 1)) for row in chances]
        labels = [label(score, like, self._mix) for score, like in zip(scores, likes, strict=True)]
        self._observe(labels, scores, right)
        self._figures["unread"] = mean_of([not text.strip() for _, text, _ in tried])
        self._figures |= self._alarms.observe({name: float(value) for name, value in self._figures.items()})
        plain = [about_score(one.task, text, rng, LOWEST, HIGHEST) for one, text, _ in answers]
        matches = [
            Match(JUDGE, task, {JUDGE.role: Reciter(learner, str(each))})
            for pair, each in zip(zip(aided, plain, strict=True), labels, strict=True)
            for task in pair
        ]
        return play(matches, rng)

    def _referred(self, group: Group) -> str:
        return vote(group, truncated=self._truncated).answer if self._majority else group.task.answer

    def _observe(self, labels: Sequence[int], scores: Sequence[float], right: Sequence[float]) -> None:
        self._figures = {}
        if labels:
            common = Counter(labels).most_common(1)[0][1]
            self._figures["label"] = mean_of(labels)
            self._figures["commonest_label"] = Mean(common / len(labels), len(labels))
        known = [not isnan(each) for each in right]
        truths = [bool(each) for each in compress(right, known)]
        for name, values in (("label_auc", labels), ("aided_auc", scores)):
            area = auc(list(compress(values, known)), truths)
            self._figures |= {} if area is None else {name: area}

    def metrics(self) -> Metrics:
        """The mean `label` and the share of the commonest one; `unread`, the share of replies without an answer; how
        often a right answer is labelled (`label_auc`) or scored with the reference in view (`aided_auc`) above a wrong
        one, where both are known; and the alarms."""
        return self._figures

    def alarms(self) -> list[str]:
        return self._alarms.alarms()

    def state(self) -> State:
        return {"alarms": self._alarms.state(), "references": self._references}

    def restore(self, state: State) -> None:
        self._alarms.restore(state["alarms"])
        self._references = state["references"]
