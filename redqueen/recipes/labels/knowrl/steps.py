"""Tasks written to be feasible or not, verdicts on them, and what agreement is paid (KnowRL, 2510.11407)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from random import Random
from typing import Literal

import numpy as np

from redqueen.checks.judge import Label
from redqueen.checks.votes import Majority, Vote
from redqueen.credit.group_rewards import FromBelow, OfGroup, for_its_seat
from redqueen.curricula.held_out import Apart
from redqueen.curricula.sameness import by_text
from redqueen.curricula.store import TaskStore
from redqueen.demonstrations.transfer import aided
from redqueen.games.single_reply import SingleReply
from redqueen.measures.alarms import Alarm, Alarms, Ringing
from redqueen.play.groups import episodes_of, with_facts
from redqueen.protocols import Proposable
from redqueen.questions.asking import invited, judgements_of, read, seeded, tasks_among
from redqueen.questions.fenced import asked, between_fences
from redqueen.types import Group, Metrics, Refusal, Task, mean_of

Said = Literal["listed", "words"]
Pay = Literal["consensus", "intended"]
ASSESS = SingleReply("assessor")
FEASIBLE, INFEASIBLE = "feasible", "infeasible"
_VERDICT = Label((FEASIBLE, INFEASIBLE))
_VOTE = Majority(count_missing=False, undecided=True)
WISHES = {FEASIBLE: "Write one that you can do.", INFEASIBLE: "Write one that you cannot do."}
ALL_FEASIBLE = Alarm(
    "all_feasible",
    "feasible",
    "{value:.0%} of the tasks are called feasible: one verdict for all is agreement without knowledge{advice}",
    limit=0.7,
    steps=5,
)
ALL_INFEASIBLE = Alarm(
    "all_infeasible",
    "feasible",
    "only {value:.0%} of the tasks are called feasible: one verdict for all is agreement without knowledge{advice}",
    limit=0.3,
    steps=5,
    below=True,
)
UNREAD = Alarm(
    "unread_verdicts",
    "unread",
    "{value:.0%} of the verdicts cannot be read: a reply ends with feasible or infeasible (--verdicts listed needs no "
    "reading)",
    limit=0.5,
    steps=5,
)

NOTHING_WRITTEN = Alarm(
    "nothing_written",
    "written",
    "only {value:.0%} of the proposals are new tasks: the others cannot be read, or repeat one that is known (redqueen "
    "train cold_start --proposals 0.5 --questions FILE shows how they are written)",
    limit=0.15,
    steps=5,
    below=True,
)


def store_of(questions: Proposable, capacity: int) -> TaskStore:
    """The tasks that are shown to proposers: the seeds at first."""
    return seeded(TaskStore(capacity), questions)


def invitations(questions: Proposable, store: TaskStore, count: int, references: int, rng: Random) -> list[Task]:
    """`count` invitations of each kind and intention, with references from the store."""
    return both_ways(invited(questions, store, count, references, rng))


def both_ways(invitations: Sequence[Task]) -> list[Task]:
    """Each invitation twice, for a task within reach and for one beyond it."""
    return [
        replace(aided(each, wish), id=f"{each.id}, {intended}", facts={**each.facts, "intended": intended})
        for each in invitations
        for intended, wish in WISHES.items()
    ]


def about_reach(task: Task | Refusal, said: Said) -> Task | Refusal:
    """What the assessor is shown of a task, without what was intended with it; a refusal is returned unchanged."""
    if isinstance(task, Refusal):
        return task
    end = f"Can you do this task? Do not do it. End with {FEASIBLE} or {INFEASIBLE}, alone on the last line."
    prompt = between_fences("Is a task within your reach?", {"Task": asked(task)}, end)
    choices = (FEASIBLE, INFEASIBLE) if said == "listed" else ()
    return Task(f"reach of {task.id}", "assessment", prompt, choices=choices)


def intention(group: Group) -> str:
    """What the task of a group of assessments was written to be; "" where nobody wrote it."""
    return str(group.parent.task.facts["intended"]) if group.parent is not None else ""


def read_verdicts(groups: Sequence[Group]) -> list[Group]:
    """The groups with the fact `verdict` of each assessment, None where it cannot be read."""
    return with_facts(groups, [{"verdict": _VERDICT.read(text)} for text in judgements_of(groups)])


def verdict(group: Group) -> Vote:
    """The commonest verdict of a group, "" for a tie or where none can be read."""
    return _VOTE.label([str(each.outcome.facts["verdict"] or "") for each in group.attempts])


@dataclass(frozen=True)
class Consensus:
    """1 for each assessment that says what most say, else 0; NaN for one that cannot be read, and for all where there
    is a tie. If `pay` is "intended", 0 for all where most do not say what was intended."""

    pay: Pay = "consensus"

    def of_group(self, group: Group) -> OfGroup:
        found = verdict(group)
        said = [each.outcome.facts["verdict"] for each in group.attempts]
        met = self.pay == "consensus" or found.answer == intention(group)
        earned = [nan if each is None or not found.answer else float(met and each == found.answer) for each in said]
        return for_its_seat(group, {"consensus": np.array(earned)})


class Assessments(Ringing):
    """Reads verdicts, keeps tasks on which they agree, and tells how one-sided they are."""

    def __init__(self, questions: Proposable, tests: Apart, said: Said, consistent: float, pay: Pay) -> None:
        self._questions, self._tests, self._said, self._consistent = questions, tests, said, consistent
        self.assessor = Consensus(pay)
        self._figures: Metrics = {}
        self._alarms = Alarms([ALL_FEASIBLE, ALL_INFEASIBLE, UNREAD, NOTHING_WRITTEN], quiet=True)

    def new(self, proposals: Sequence[Group], store: TaskStore) -> list[Task | Refusal]:
        """What was written; a task that is held already, was written twice, or is held out is refused."""
        same = by_text()
        held_out = [task for level in self._tests.values() for task in level]
        known = {same(each) for each in [*(each.task for each in store.histories()), *held_out]}
        found: list[Task | Refusal] = []
        for each in read(self._questions, proposals):
            if isinstance(each, Task) and same(each) in known:
                each = Refusal("known")
            elif isinstance(each, Task):
                known.add(same(each))
            found.append(each)
        self._figures = {"written": mean_of([isinstance(each, Task) for each in found])}
        return found

    def shown(self, written: Sequence[Task | Refusal]) -> list[Task | Refusal]:
        """What the assessor is shown of each task."""
        return [about_reach(each, self._said) for each in written]

    def __call__(self, groups: Sequence[Group]) -> list[Group]:
        """The groups with the fact `verdict` of each assessment, None where it cannot be read."""
        found = read_verdicts(groups)
        votes = [verdict(group) for group in found]
        told = [each.outcome.facts["verdict"] for each in episodes_of(found)]
        if told:
            self._figures["unread"] = mean_of([each is None for each in told])
        if decided := [(group, vote) for group, vote in zip(found, votes, strict=True) if vote.answer]:
            self._figures |= {
                "consistency": mean_of([vote.share for _, vote in decided]),
                "feasible": mean_of([vote.answer == FEASIBLE for _, vote in decided]),
                "as_intended": mean_of([vote.answer == intention(group) for group, vote in decided]),
            }
        return found

    def agreed(self, groups: Sequence[Group]) -> list[float]:
        """What the proposal of each group earns: the share of the commonest verdict where it is what was intended, else
        0; NaN for a tie, and where no verdict can be read."""
        votes = [verdict(group) for group in groups]
        return [
            (vote.share if vote.answer == intention(group) else 0.0) if vote.answer else nan
            for group, vote in zip(groups, votes, strict=True)
        ]

    def proposer(self, groups: Sequence[Group]) -> FromBelow:
        """The reward of the proposals of the groups."""
        return FromBelow(groups, {"agreed": self.agreed(groups)})

    def kept(self, written: Sequence[Task | Refusal], groups: Sequence[Group]) -> list[Task]:
        """The tasks on which verdicts are as intended and consistent."""
        pairs = zip(tasks_among(written), self.agreed(groups), strict=True)
        return [task for task, share in pairs if share >= self._consistent and share]  # 0: not as intended

    def metrics(self) -> Metrics:
        """Figures of the last step: the share of proposals that became new tasks (`written`), of verdicts that cannot
        be read (`unread`), the mean share of the commonest verdict (`consistency`), the shares of tasks that are called
        `feasible` and whose verdict is `as_intended`; and the alarms."""
        known: dict[str, float | str] = {name: float(value) for name, value in self._figures.items()}
        known["advice"] = "" if self.assessor.pay == "intended" else " (--pay intended)"
        return self._figures | self._alarms.observe(known)
