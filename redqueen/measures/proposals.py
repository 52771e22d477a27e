"""Proposals as `ProposerHealth` looks at them.

health = Proposals(questions)
run.note(health.check(written, tries))              # tries: graded groups, with a judge's opinions where there are any
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from redqueen.credit import outcomes
from redqueen.measures.alarms import Alarm, Alarms
from redqueen.measures.health import Limits, Proposed, ProposerHealth
from redqueen.protocols import Questions, State
from redqueen.questions.asking import graded, mean_known, tasks_among
from redqueen.questions.labels import label_accuracy, labels_right
from redqueen.types import Group, Mean, Metrics, Refusal, Task, Truncated, mean_of

NOTHING_KEPT = Alarm(
    "nothing_kept",
    "labels",
    "{votes} questions were read and answered, and none has a majority within the band, so that the solver has nothing "
    "to learn from until the next round: a wider --band, a larger --pool, or a solver that answers more of them",
    limit=1.0,
    below=True,
)
BY_VERDICTS = Limits(largest_unscored_share=0.8)  # of a proposer that is paid by the verdicts on the attempts alone


class Proposals:
    """Figures of every step's proposals and the alarms on them (`ProposerHealth`), from the groups played at them.

    `true_answer` is given where proposals come with an answer, which may be wrong and which the text should not show:
    the answer of an oracle, None where nobody knows it, for figures alone. `truncated` says what attempts that were cut
    off count as in `voted`, `limits` where the alarms ring."""

    def __init__(
        self,
        questions: Questions,
        true_answer: Callable[[Task], str | None] | None = None,
        truncated: Truncated = "wrong",
        limits: Limits = Limits(),
    ) -> None:
        self._questions = questions
        self._truncated = truncated
        self._true_answer = true_answer
        self._health = ProposerHealth(limits)
        self._kept = Alarms([NOTHING_KEPT], quiet=True)

    def check(self, written: Sequence[Task | Refusal], tries: Sequence[Group] | None = None) -> Metrics:
        """The figures of proposals, with a graded group of attempts at each that is a task if they were tried; the fact
        `opinion`, where attempts have it, is what a judge said."""
        if tries is None:
            return self._health.check(proposed(written))
        judged = tries and all("opinion" in each.outcome.facts for group in tries for each in group.attempts)
        opinions = [outcomes.numbers(group, "opinion") for group in tries] if judged else None
        solved = [outcomes.verdicts(group) for group in tries]
        if self._true_answer is None:
            return self._health.check(proposed(written, solved, opinions))
        true = [self._true_answer(group.task) for group in tries]
        right = [None if each is None else each == group.task.answer for each, group in zip(true, tries, strict=True)]
        return self._health.check(proposed(written, solved, opinions, right, hidden=True))

    def voted(self, written: Sequence[Task | Refusal], groups: Sequence[Group], kept: Sequence[Task]) -> Metrics:
        """The figures of proposals that are labelled by the majority of the group of attempts at each, of which those
        in `kept` are learned from, and of the votes (`polls`). Verdicts are asked for here alone: no reward rests on
        them."""
        return self._health.check(voted_on(self._questions, written, groups, kept, self._truncated)) | polls(
            groups, kept, self._truncated
        )

    def labels(self, groups: Sequence[Group], kept: Sequence[Task]) -> Metrics:
        """`labels` and `label_accuracy` of the tasks in `kept`, from the groups whose majority labelled them. An alarm
        rings until the next call where none is kept."""
        found = label_accuracy(self._questions, [group.task for group in groups], kept)
        return found | self._kept.observe({"labels": found["labels"], "votes": str(len(groups))})

    def alarms(self) -> list[str]:
        return [*self._health.alarms(), *self._kept.alarms()]

    def state(self) -> State:
        return {**self._health.state(), "kept": self._kept.state()}

    def restore(self, state: State) -> None:
        self._health.restore(state)
        if "kept" in state:  # checkpoints of older versions have none
            self._kept.restore(state["kept"])


def proposed(
    written: Sequence[Task | Refusal],
    scores: Sequence[np.ndarray] | None = None,
    judged: Sequence[np.ndarray] | None = None,
    labels_right: Sequence[bool | None] | None = None,
    hidden: bool = False,
) -> list[Proposed]:
    """The proposals as `ProposerHealth` looks at them, with the mean of each task's scores, [G] each, where they were
    tried, and of those that a judge gave the same attempts, where there is one. `labels_right` says for each task
    whether an oracle agrees with what counts as its answer. Where good questions keep their answers `hidden`, one that
    does not is a leak; else (1+0, or a text in which to look up) only a hint can give one away."""
    tasks = tasks_among(written)
    scores = [np.full(1, np.nan) for _ in tasks] if scores is None else scores
    opinions = [np.full_like(own, np.nan) for own in scores] if judged is None else judged
    rights = [None] * len(tasks) if labels_right is None else labels_right
    found = iter(
        Proposed(
            task.prompt,
            solve_rate=mean_known(own),
            answer=task.answer,
            hint=str(task.facts.get("hint", "")),
            hidden=hidden,
            answer_right=right,
            judged=mean_known(opinion[~np.isnan(own)]),
            actual=mean_known(own[~np.isnan(opinion)]),
        )
        for task, own, opinion, right in zip(tasks, scores, opinions, rights, strict=True)
    )
    return [
        next(found) if isinstance(each, Task) else Proposed("", refused=each.reason, cut_off=each.cut_off)
        for each in written
    ]


def voted_on(
    questions: Questions,
    written: Sequence[Task | Refusal],
    groups: Sequence[Group],
    kept: Sequence[Task],
    truncated: Truncated = "wrong",
) -> list[Proposed]:
    """The proposals as `ProposerHealth` looks at them, their attempts as the question set finds them, and the majority
    labels of those that are kept to learn from: for audits, no reward may rest on it. Each task has a group."""
    tasks, learned = tasks_among(written), {task.id for task in kept}
    rates = [outcomes.verdicts(group) for group in graded(questions, groups, truncated)]
    rights = labels_right(questions, tasks, [outcomes.vote(group, truncated=truncated) for group in groups])
    kept_right = [right if task.id in learned else None for task, right in zip(tasks, rights, strict=True)]
    return proposed(written, rates, labels_right=kept_right)


def polls(groups: Sequence[Group], kept: Sequence[Task], truncated: Truncated = "wrong") -> Metrics:
    """`polls`, the number of votes; where there are any, the mean share of the majority, the share of tasks that are
    `kept`, and the mean number of calls of a tool if attempts may call one."""
    if not groups:
        return {"polls": 0.0}
    found = {
        "polls": float(len(groups)),
        "polls/share": mean_of(outcomes.vote(group, truncated=truncated).share for group in groups),
        "polls/kept": Mean(len(kept) / len(groups), len(groups)),
    }
    called = all("calls" in each.outcome.facts for group in groups for each in group.attempts)
    return found | ({"polls/calls": mean_of(outcomes.calls(group) for group in groups)} if called else {})


def audited(questions: Questions, written: Sequence[Task | Refusal], labels: Sequence[Task]) -> list[Proposed]:
    """The same of proposals that were labelled, with the label as the answer: whether it is right, and no attempts."""
    known = {task.id: task for task in tasks_among(written)}
    right = questions.right([known[label.id] for label in labels], [label.answer for label in labels])
    found = dict(zip((label.id for label in labels), right, strict=True))
    return proposed(written, labels_right=[found.get(task.id) for task in tasks_among(written)])
