"""Proposing, solving and judging: games of one seat, and what their episodes say.

proposals = play(alone(PROPOSE, invitations, proposer), rng)
tasks     = read(domain, proposals)                            # a Task or a Refusal for each
trials    = graded(domain, play(alone(SOLVE, valid, solver, 8), rng))
scores    = by_task(trials, 8)                                 # [tasks, 8]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from types import MappingProxyType

import numpy as np

from redqueen.checks.judge import Score, opinion
from redqueen.credit.rewards import marked
from redqueen.curricula.held_out import Apart, problems_apart, training_levels
from redqueen.curricula.store import TaskStore
from redqueen.games.single_reply import SingleReply
from redqueen.protocols import Domain
from redqueen.questions.judging import about_answer
from redqueen.types import Episode, RedQueenError, Refusal, Task

PROPOSE, SOLVE, JUDGE = SingleReply("proposer"), SingleReply("solver"), SingleReply("judge")


def invited(
    domain: Domain, store: TaskStore, count: int, references: int, rng: Random, share: float = 1.0
) -> list[Task]:
    """`count` invitations of each kind, each of the first `share` of them with up to so many references from the
    store."""
    referring = round(share * count) if references else 0
    return [
        domain.invite(
            kind, store.draw_references(references, rng, domain.sources(kind)) if number < referring else (), number
        )
        for kind in domain.kinds
        for number in range(count)
    ]


def seeded(store: TaskStore, domain: Domain) -> TaskStore:
    """The store with the tasks from which proposing starts. Raises RedQueenError where it cannot hold one of each
    kind."""
    if store.capacity is not None and store.capacity < len(domain.kinds):
        raise RedQueenError(
            f"a store of {store.capacity} tasks does not hold one of each kind of {domain.name}: "
            f"--capacity {len(domain.kinds)} or more"
        )
    store.add(domain.seeds(), origin="seed")
    return store


def evenly(domain: Domain, count: int, rng: Random, apart: Apart = MappingProxyType({})) -> list[Task]:
    """So many of the domain's own problems but for those held out, of each level as many; what is left over goes to
    levels drawn by chance."""
    levels = training_levels(domain)
    whole, rest = divmod(count, len(levels))
    extra = rng.sample(range(len(levels)), rest)
    return [
        task
        for number, level in enumerate(levels)
        for task in problems_apart(apart, domain, level, whole + (number in extra), rng)
    ]


def said(episodes: Sequence[Episode]) -> list[str]:
    """The reply of each episode of one seat, "" where none in the stated format was found."""
    return [str(episode.outcome.facts["reply"]) for episode in episodes]


def read(domain: Domain, proposals: Sequence[Episode]) -> list[Task | Refusal]:
    """What the proposers wrote, as tasks that passed the domain's gates or as refusals. A task that was cut off is half
    a task, and refused."""
    written = domain.read([episode.task for episode in proposals], said(proposals))
    return [
        Refusal("cut off") if isinstance(each, Task) and episode.turns[-1].reply.truncated else each
        for episode, each in zip(proposals, written, strict=True)
    ]


def tasks_among(written: Sequence[Task | Refusal]) -> list[Task]:
    """The tasks, without the refusals."""
    return [task for task in written if isinstance(task, Task)]


def graded(domain: Domain, attempts: Sequence[Episode]) -> list[Episode]:
    """The attempts with a score of 1 where the domain finds the answer right, and of 0 where it does not; of one that
    was cut off the domain sees what there is. Raises RedQueenError for a domain that does not say one thing of each.
    """
    right = domain.right([episode.task for episode in attempts], said(attempts))
    if len(right) != len(attempts):
        raise RedQueenError(
            f"the domain {domain.name} gave {len(right)} verdicts on {len(attempts)} answers: right() gives one on each"
        )
    return marked(attempts, [float(each) for each in right], [{"right": each} for each in right])


def answered(attempts: Sequence[Episode]) -> list[str]:
    """What each attempt answers, "" where it was cut off: half an answer is none."""
    return ["" if each.turns[-1].reply.truncated else text for each, text in zip(attempts, said(attempts), strict=True)]


def in_form(episodes: Sequence[Episode]) -> list[float]:
    """1 for each reply in the stated format that was not cut off, 0 for the others."""
    replies = [episode.turns[-1].reply for episode in episodes]
    return [float(not (reply.malformed or reply.truncated)) for reply in replies]


def beside_refusals(written: Sequence[Task | Refusal], of_tasks: Iterable[float], refused: float) -> list[float]:
    """One number for each proposal: its own where it became a task, and this one where it was refused."""
    numbers = iter(of_tasks)
    return [next(numbers) if isinstance(each, Task) else refused for each in written]


def mean_known(scores: np.ndarray) -> float:
    """The mean of the scores that are not NaN; NaN where there is none."""
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if len(known) else np.nan


def judged_answers(attempts: Sequence[Episode]) -> list[Task]:
    """What a judge is shown of each attempt."""
    return [about_answer(episode.task, reply) for episode, reply in zip(attempts, said(attempts), strict=True)]


def opinions(judgements: Sequence[Episode], repeats: int) -> np.ndarray:
    """[n] from 0 to 1, the mean score that `repeats` judgements in a row gave one thing (`judge.opinion`); NaN where
    none of them can be read."""
    scores = [Score().read(text) for text in said(judgements)]
    means = [opinion(scores[start : start + repeats]).mean for start in range(0, len(scores), repeats)]
    return np.array([np.nan if mean is None else mean for mean in means], dtype=np.float64)


def readable(judgements: Sequence[Episode]) -> list[float]:
    """1 for each judgement that can be read, 0 for the others."""
    return [float(Score().read(text) is not None) for text in said(judgements)]


def by_task(attempts: Sequence[Episode], times: int) -> np.ndarray:
    """[tasks, times] the scores of attempts that lie task by task, as `alone` makes them. NaN where the reply was cut
    off: a limit on length is not difficulty."""
    scores = [
        np.nan if episode.turns[-1].reply.truncated else next(iter(episode.outcome.scores.values()))
        for episode in attempts
    ]
    return np.array(scores, dtype=np.float64).reshape(-1, times)
