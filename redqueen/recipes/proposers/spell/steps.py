"""Questions that need their text, and answers that a verifier compares with the questioner's (SPELL, arXiv:2509.23863).

written     = grounded(questions, read(questions, proposals), responder, rule, rng)  # "closed book" without need of it
responses   = attempts(SOLVE, tasks_among(written), responder, 8, rng)
judgements  = attempts(JUDGE, comparisons(questions, responses), verifier, 8, rng)   # each different answer once
responses, judgements = verified(questions, responses, judgements, rule)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from redqueen.checks.judge import Label, rule_or_majority, vote_rewards
from redqueen.credit.group_rewards import FromBelow, OfGroup, for_its_seat
from redqueen.credit.learnability import Bell
from redqueen.credit.outcomes import scores
from redqueen.curricula.history import storable
from redqueen.measures.health import Proposed
from redqueen.measures.proposals import proposed
from redqueen.play.groups import attempts, episodes_of, with_facts
from redqueen.protocols import Player, State, Verifier
from redqueen.questions.asking import SOLVE, answered, mean_known, said, tasks_among
from redqueen.questions.small.documents import Documented
from redqueen.records import plain, task_from_json, task_to_json
from redqueen.types import Group, Metrics, RedQueenError, Refusal, Task

CLOSED_BOOK = "closed book"


def asked_about(questions: Documented, memory: ClusterMemory, count: int, rng: Random) -> list[Task]:
    """An invitation of each kind for each of so many clusters drawn at random, at its stage and with its memory."""
    clusters = memory.draw(count, rng)
    return [
        questions.invite_about(cluster, memory.stage(cluster), kind, memory.before(cluster), number)
        for kind in questions.kinds
        for number, cluster in enumerate(clusters)
    ]


def grounded(
    questions: Documented, written: Sequence[Task | Refusal], responder: Player, rule: Verifier, rng: Random
) -> list[Task | Refusal]:
    """The proposals, refused as "closed book" where one attempt that is not shown the text is right by the rule."""
    tasks = tasks_among(written)
    answers = answered(attempts(SOLVE, [questions.closed_book(task) for task in tasks], responder, 1, rng))
    known = iter([rule(task, answer) for task, answer in zip(tasks, answers, strict=True)])
    return [Refusal(CLOSED_BOOK) if isinstance(each, Task) and next(known) else each for each in written]


def comparisons(questions: Documented, responses: Sequence[Group]) -> list[Task]:
    """What a verifier is asked: each different answer to each task once. Where nothing was said nothing is compared."""
    answers = zip(episodes_of(responses), answered(responses), strict=True)
    asked = [questions.compared(episode.task, answer.strip()) for episode, answer in answers if answer.strip()]
    return list({task.id: task for task in asked}.values())


def verdicts(judgements: Group) -> list[bool | None]:
    """What the judgements of one answer say: YES, NO, or None where that cannot be read."""
    labels = [Label().read(text) for text in said(judgements.attempts)]
    return [None if label is None else label == "YES" for label in labels]


def unread(judgements: Sequence[Group]) -> Metrics:
    """`verdicts/unread`, the share that cannot be read, where there are any."""
    found = [verdict for group in judgements for verdict in verdicts(group)]
    return {"verdicts/unread": sum(verdict is None for verdict in found) / len(found)} if found else {}


def seen(questions: Documented, written: Sequence[Task | Refusal], responses: Sequence[Group]) -> list[Proposed]:
    """The questions without their texts as `ProposerHealth` looks at them: a text is another each time, and holds the
    answer."""
    asked = [questions.closed_book(each) if isinstance(each, Task) else each for each in written]
    return proposed(asked, [scores(group) for group in responses], hidden=True)


def verified(
    questions: Documented, responses: Sequence[Group], judgements: Sequence[Group], rule: Verifier
) -> tuple[list[Group], list[Group]]:
    """The responses with the fact `right`, whether the rule or the majority of the verdicts finds them so; one that was
    cut off gave no answer, and is wrong by the rule. And the judgements with the fact `vote`: 1 with the majority, 0
    against it, -1 where it cannot be read; None where the verdicts on one answer teach nothing: all agree, too few
    agree, or the majority is not what the rule says."""
    names, votes = _names(questions, responses), {group.task.id: verdicts(group) for group in judgements}
    ruled = [rule(each.task, text) for each, text in zip(episodes_of(responses), answered(responses), strict=True)]
    right = [rule_or_majority(votes.get(name, ()), each) for name, each in zip(names, ruled, strict=True)]
    by_rule = dict(zip(names, ruled, strict=True))
    paid = [(vote_rewards(given, by_rule[name]), len(given)) for name, given in votes.items()]
    return (
        with_facts(responses, [{"right": bool(each)} for each in right]),
        with_facts(judgements, [{"vote": given and given[place]} for given, count in paid for place in range(count)]),
    )


def agreed(
    questions: Documented, responses: Sequence[Group], judgements: Sequence[Group]
) -> tuple[list[float | None], list[bool | None]]:
    """For each different answer the share of its verdicts that say YES, of all as in `verified`, None where none can be
    read, and whether the question set finds that the answer means the same: what `Agreement.observe` takes."""
    same = questions.right([episode.task for episode in episodes_of(responses)], answered(responses))
    truths = dict(zip(_names(questions, responses), same, strict=True))
    votes = {group.task.id: verdicts(group) for group in judgements}
    shares = [
        None if all(each is None for each in given) else sum(each is True for each in given) / len(given)
        for given in votes.values()
    ]
    return shares, [truths[name] for name in votes]


def _names(questions: Documented, responses: Sequence[Group]) -> list[str]:
    """The id of the comparison of each response's answer."""
    pairs = zip(episodes_of(responses), answered(responses), strict=True)
    return [questions.compared(each.task, text.strip()).id for each, text in pairs]


def with_refusals(proposals: Sequence[Group], written: Sequence[Task | Refusal]) -> list[Group]:
    """The proposals with the fact `refused`: why it became no task, "" where it became one."""
    return with_facts(proposals, [{"refused": each.reason if isinstance(each, Refusal) else ""} for each in written])


@dataclass(frozen=True, eq=False)
class Questioning:
    """What a question earns: a bell around one half of the solve rate of the group below it, -0.5 where no text is
    needed, -1 for any other refusal; NaN where too few responses were finished."""

    responses: Sequence[Group]

    def of_group(self, group: Group) -> OfGroup:
        bell, reasons = Bell(), [str(episode.outcome.facts["refused"]) for episode in group.attempts]
        paid = FromBelow(self.responses, {"difficulty": [bell(scores(each)) for each in self.responses]})
        costs = [0.0 if not reason else -0.5 if reason == CLOSED_BOOK else -1.0 for reason in reasons]
        return {**paid.of_group(group), **for_its_seat(group, {"refused": costs})}


class ClusterMemory:
    """So many clusters, each with the last `size` questions about it that were solved now and then: those with a mean
    score of `solvable` or more. A cluster is at stage `first` plus the number of its questions, up to `last`."""

    def __init__(
        self, clusters: int, size: int = 3, first: int = 0, last: int | None = None, solvable: float = 0.01
    ) -> None:
        self.first, self.last, self.solvable = first, first + size if last is None else last, solvable
        if clusters < 1 or size < 1 or not 0 <= first <= self.last:
            raise RedQueenError(
                "a memory needs 1 cluster and 1 question of each at least, and stages from 0 that do not fall, not "
                f"{clusters}, {size} and {first} to {self.last}"
            )
        if self.last > first + size:
            raise RedQueenError(
                f"a cluster remembers {size} questions, and grows by a stage with each: no text of stage {self.last} "
                f"follows from one of stage {first}"
            )
        self._asked: list[deque[Task]] = [deque(maxlen=size) for _ in range(clusters)]

    def draw(self, count: int, rng: Random) -> list[int]:
        """So many different clusters at random, all where there are fewer."""
        return rng.sample(range(len(self._asked)), min(count, len(self._asked)))

    def before(self, cluster: int) -> tuple[Task, ...]:
        """The questions remembered, oldest first."""
        return tuple(self._asked[cluster])

    def stage(self, cluster: int) -> int:
        return min(self.first + len(self._asked[cluster]), self.last)

    def observe(self, responses: Sequence[Group]) -> None:
        """The groups at questions that name their cluster among their facts."""
        for group in responses:
            if mean_known(scores(group)) >= self.solvable:
                self._asked[group.task.facts["cluster"]].append(storable(group.task))

    def metrics(self) -> Metrics:
        """`stage`, the mean over the clusters, and `longest`, the share of them that is at the last stage."""
        stages = np.array([self.stage(cluster) for cluster in range(len(self._asked))])
        return {"clusters/stage": float(stages.mean()), "clusters/longest": float((stages == self.last).mean())}

    def state(self) -> State:
        return {"asked": [[plain(task_to_json(task)) for task in asked] for asked in self._asked]}

    def restore(self, state: State) -> None:
        for held, asked in zip(self._asked, state["asked"], strict=True):
            held.clear()
            held.extend(task_from_json(dict(task)) for task in asked)
