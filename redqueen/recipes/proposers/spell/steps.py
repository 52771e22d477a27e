"""Questions that need their text, and answers that a verifier compares with the questioner's (SPELL, arXiv:2509.23863).

written     = grounded(domain, read(domain, proposals), responder, rule, rng)     # "closed book" where it needs no text
attempts    = play(alone(SOLVE, tasks_among(written), responder, 8), rng)
judgements  = play(alone(JUDGE, comparisons(domain, attempts), verifier, 8), rng)   # each different answer once
values, worths = worth(domain, attempts, judgements, rule)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from random import Random

import numpy as np

from redqueen.checks.judge import Label, rule_or_majority, vote_rewards
from redqueen.credit.learnability import Bell
from redqueen.curricula.history import storable
from redqueen.measures.health import Proposed
from redqueen.measures.proposals import proposed
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.protocols import Player, State, Verifier
from redqueen.questions.asking import SOLVE, answered, said, tasks_among
from redqueen.questions.small.documents import Documented
from redqueen.records import plain, task_from_json, task_to_json
from redqueen.types import Episode, Metrics, RedQueenError, Refusal, Task

CLOSED_BOOK = "closed book"


def asked_about(domain: Documented, memory: ClusterMemory, count: int, rng: Random) -> list[Task]:
    """An invitation of each kind for each of so many clusters drawn at random, at its stage and with its memory."""
    clusters = memory.draw(count, rng)
    return [
        domain.invite_about(cluster, memory.stage(cluster), kind, memory.before(cluster), number)
        for kind in domain.kinds
        for number, cluster in enumerate(clusters)
    ]


def grounded(
    domain: Documented, written: Sequence[Task | Refusal], responder: Player, rule: Verifier, rng: Random
) -> list[Task | Refusal]:
    """The proposals, refused as "closed book" where one attempt that is not shown the text is right by the rule."""
    tasks = tasks_among(written)
    answers = answered(play(alone(SOLVE, [domain.closed_book(task) for task in tasks], responder), rng))
    known = iter([rule(task, answer) for task, answer in zip(tasks, answers, strict=True)])
    return [Refusal(CLOSED_BOOK) if isinstance(each, Task) and next(known) else each for each in written]


def comparisons(domain: Documented, attempts: Sequence[Episode]) -> list[Task]:
    """What a verifier is asked: each different answer to each task once. Where nothing was said nothing is compared."""
    answers = zip(attempts, answered(attempts), strict=True)
    asked = [domain.compared(episode.task, answer.strip()) for episode, answer in answers if answer.strip()]
    return list({task.id: task for task in asked}.values())


def verdicts(judgements: Sequence[Episode]) -> dict[str, list[bool | None]]:
    """For each thing compared what its judgements say: YES, NO, or None where that cannot be read."""
    found: dict[str, list[bool | None]] = {}
    for episode, text in zip(judgements, said(judgements), strict=True):
        label = Label().read(text)
        found.setdefault(episode.task.id, []).append(None if label is None else label == "YES")
    return found


def unread(judgements: Sequence[Episode]) -> Metrics:
    """`verdicts/unread`, the share that cannot be read, where there are any."""
    found = [verdict for given in verdicts(judgements).values() for verdict in given]
    return {"verdicts/unread": sum(verdict is None for verdict in found) / len(found)} if found else {}


def seen(domain: Documented, written: Sequence[Task | Refusal], scores: np.ndarray) -> list[Proposed]:
    """The questions without their texts as `ProposerHealth` looks at them: a text is another each time, and holds the
    answer."""
    asked = [domain.closed_book(each) if isinstance(each, Task) else each for each in written]
    return proposed(asked, scores, hidden=True)


def worth(
    domain: Documented, attempts: Sequence[Episode], judgements: Sequence[Episode], rule: Verifier
) -> tuple[list[float], list[float]]:
    """For each attempt 1 where the rule or the majority of the verdicts finds it right, else 0; one that was cut off
    gave no answer, and is wrong by the rule. And for each judgement 1 with the majority, 0 against it, -1 where it
    cannot be read; NaN where the verdicts on one answer teach nothing: all agree, too few agree, or the majority is not
    what the rule says."""
    votes, names = verdicts(judgements), _names(domain, attempts)
    ruled = [rule(episode.task, text) for episode, text in zip(attempts, answered(attempts), strict=True)]
    right = dict(zip(names, ruled, strict=True))
    paid = {name: iter(vote_rewards(given, right[name]) or [np.nan] * len(given)) for name, given in votes.items()}
    answers = [rule_or_majority(votes.get(name, ()), each) for name, each in zip(names, ruled, strict=True)]
    return answers, [next(paid[episode.task.id]) for episode in judgements]


def agreed(
    domain: Documented, attempts: Sequence[Episode], judgements: Sequence[Episode]
) -> tuple[list[float | None], list[bool]]:
    """For each different answer the share of its verdicts that say YES, of all as in `worth`, None where none can be
    read, and whether the domain finds that the answer means the same: what `Agreement.observe` takes."""
    same = domain.right([episode.task for episode in attempts], answered(attempts))
    truths = dict(zip(_names(domain, attempts), same, strict=True))
    votes = verdicts(judgements)
    shares = [
        None if all(each is None for each in given) else sum(each is True for each in given) / len(given)
        for given in votes.values()
    ]
    return shares, [truths[name] for name in votes]


def _names(domain: Documented, attempts: Sequence[Episode]) -> list[str]:
    """The id of the comparison of each attempt's answer."""
    return [
        domain.compared(each.task, text.strip()).id for each, text in zip(attempts, answered(attempts), strict=True)
    ]


def questions_worth(written: Sequence[Task | Refusal], scores: np.ndarray) -> list[float]:
    """What each proposal earns, from the scores of the attempts at those that became tasks, [tasks, G]: a bell around
    one half, -0.5 where no text is needed, -1 for any other refusal; NaN where too few attempts were finished."""
    shape, rows = Bell(), iter(scores)
    refused = {CLOSED_BOOK: -0.5}
    return [shape(next(rows)) if isinstance(each, Task) else refused.get(each.reason, -1.0) for each in written]


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

    def observe(self, tasks: Sequence[Task], scores: np.ndarray) -> None:
        """Questions that name their cluster among their facts, and the scores of the attempts at each, [tasks, G], NaN
        where unknown."""
        for task, row in zip(tasks, scores, strict=True):
            known = row[~np.isnan(row)]
            if len(known) and known.mean() >= self.solvable:
                self._asked[task.facts["cluster"]].append(storable(task))

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
