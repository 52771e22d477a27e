"""What no reward of a recipe without labels sees: how often it is right, how unlike its attempts are, what rings.

unseen = Unseen(questions, truncated, OF_VOTES)

groups       = attempts(SOLVE, tasks, learner, 8, rng)
trajectories = score(groups, reward)
unseen.observe(groups, trajectories)
run.note(unseen.metrics())

A consensus, or a model that judges itself, sharpens what the model already says: it ends about where its label is
right. So the accuracy of the vote stands next to that of the attempts, and their difference at the start (`room` of
`HeldOut`) is about all that there is to gain. Figures that need the check of the question set are left out where it
has no verdict; then `label_accuracy_unknown` is the share of those.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from redqueen.checks.votes import by_value
from redqueen.credit.outcomes import answers, verdicts, vote
from redqueen.measures.alarms import Alarm, Alarms, Ringing
from redqueen.measures.judges import auc
from redqueen.protocols import Questions
from redqueen.questions.asking import graded
from redqueen.questions.labels import labels_right
from redqueen.questions.verdicts import Truncated, share_right
from redqueen.types import Group, Metrics, Trajectory, mean_of

WRONG_LABELS = Alarm(
    "wrong_labels",
    "label_accuracy",
    "only {value:.0%} of the majorities are right: most of what is learned is wrong",
    limit=0.6,
    steps=10,
    below=True,
)
ALL_AGREE = Alarm(
    "all_agree",
    "majority_share",
    "{value:.0%} of the attempts give the majority's answer: there is next to nothing left to learn from the vote",
    limit=0.95,
    steps=10,
)
NO_VOTE = Alarm(
    "no_vote",
    "answered",
    "in only {value:.0%} of the attempts an answer is found: the majority is one of few (--answer, "
    "--max-completion-length)",
    limit=0.5,
    steps=5,
    below=True,
)
NOBODY_AGREES = Alarm(
    "nobody_agrees",
    "agreed",
    "in only {value:.0%} of the groups do two attempts give one answer, so that the vote says nothing: say how answers "
    "are written and compared, unless you have (--answer boxed, --compare number), or begin with a better start",
    limit=0.5,
    steps=2,
    below=True,
)
OF_VOTES = (WRONG_LABELS, ALL_AGREE, NO_VOTE, NOBODY_AGREES)

PARTED = Alarm(
    "parted",
    "reward_auc",
    "what is paid and what is right have parted: a right answer is paid more than a wrong one in only {value:.0%} of "
    "the cases",
    limit=0.55,
    steps=10,
    below=True,
)
UNREAD_ANSWERS = Alarm(
    "unread_answers",
    "answered",
    "in only {value:.0%} of the attempts an answer is found (--answer, --max-completion-length)",
    limit=0.5,
    steps=5,
    below=True,
)
ALIKE = Alarm(
    "alike",
    "distinct",
    "of ten answers to a question only {ten:.1f} are different: the attempts have become alike",
    limit=0.15,
    steps=10,
    below=True,
)
OF_REWARDS = (PARTED, UNREAD_ANSWERS, ALIKE)


class Unseen(Ringing):
    """Figures of attempts that no reward of theirs sees, and the `alarms` on them. `truncated` says what an attempt
    that was cut off counts as."""

    def __init__(self, questions: Questions, truncated: Truncated, alarms: Sequence[Alarm]) -> None:
        self._questions = questions
        self._truncated: Truncated = truncated
        self._groups: list[Group] = []  # since the last `metrics`
        self._paid: list[tuple[float, float]] = []  # rewards and verdicts of those that are known
        self._alarms = Alarms(alarms, quiet=True)

    def observe(self, groups: Sequence[Group], trajectories: Sequence[Trajectory] = ()) -> None:
        """Records groups and the rewards of their attempts, one trajectory for each attempt in order."""
        self._groups += groups
        if trajectories:
            truths = [each for group in graded(self._questions, groups, self._truncated) for each in verdicts(group)]
            paid = [float(each.rewards.sum()) for each in trajectories]
            self._paid += [
                (one, truth) for one, truth in zip(paid, truths, strict=True) if not (np.isnan(one) or np.isnan(truth))
            ]

    def metrics(self) -> Metrics:
        """Figures of the groups since the last call: `label_accuracy`, the share of their majorities that are right,
        ties left out; `majority_share`, the mean share of the attempts that give it, or one of the commonest answers;
        `agreed`, the share of groups in which two give one answer; `answered`, the share of attempts with an answer;
        `distinct`, different answers by attempt with one; `reward_auc`, the chance that a right attempt is paid more
        than a wrong one. And the alarms on them."""
        groups, paid = self._groups, self._paid
        self._groups, self._paid = [], []
        if not groups:
            return {}
        votes = [vote(group, truncated=self._truncated) for group in groups]
        labels = [vote(group, truncated=self._truncated, undecided=True) for group in groups]
        right = labels_right(self._questions, [group.task for group in groups], labels)
        said = [list(filter(None, map(by_value, answers(group.attempts, self._truncated)))) for group in groups]
        found: Metrics = share_right("label_accuracy", right) | {
            "majority_share": mean_of([each.share for each in votes]),
            "agreed": mean_of(
                [round(each.share * len(group.attempts)) > 1 for each, group in zip(votes, groups, strict=True)]
            ),
            "answered": mean_of(
                [
                    place < len(own)
                    for own, group in zip(said, groups, strict=True)
                    for place in range(len(group.attempts))
                ]
            ),
        }
        if some := [len(set(own)) / len(own) for own in said if own]:
            found["distinct"] = mean_of(some)
        area = auc([one for one, _ in paid], [bool(truth) for _, truth in paid])
        if area is not None:
            found["reward_auc"] = area
        told = {name: float(value) for name, value in found.items()}
        return found | self._alarms.observe(told | {"ten": 10.0 * told.get("distinct", 0.0)})
