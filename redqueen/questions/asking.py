"""Proposing, solving and judging as games of one seat, and the results of their episodes.

proposals = attempts(PROPOSE, invitations, proposer, 1, rng)
written   = read(questions, proposals)                            # a Task or a Refusal for each
tries     = graded(questions, attempts(SOLVE, written, solver, 8, rng, proposals))
difficult = [1.0 - rate(group).mean for group in tries]
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from types import MappingProxyType

import numpy as np

from redqueen.checks.judge import Score, concluded, opinion
from redqueen.credit import outcomes
from redqueen.curricula.held_out import Apart, problems_apart, training_levels
from redqueen.curricula.store import TaskStore
from redqueen.games.single_reply import SingleReply
from redqueen.play.groups import Played, episodes_of, with_facts
from redqueen.protocols import PaysInPart, Proposable, Questions, has
from redqueen.questions.judging import about_answer
from redqueen.questions.verdicts import Truncated, with_truncated
from redqueen.types import SOLVER, Episode, Group, RedQueenError, Refusal, Seat, Task

PROPOSE, SOLVE, JUDGE = SingleReply("proposer"), SingleReply(SOLVER), SingleReply("judge")


def invited(
    questions: Proposable, store: TaskStore, count: int, references: int, rng: Random, share: float = 1.0
) -> list[Task]:
    """`count` invitations of each kind; the first `share` of them have up to `references` references from the
    store."""
    referring = round(share * count) if references else 0
    return [
        questions.invite(
            kind, store.draw_references(references, rng, questions.sources(kind)) if number < referring else (), number
        )
        for kind in questions.kinds
        for number in range(count)
    ]


def seeds_of(questions: Questions) -> list[Task]:
    """The tasks from which proposing starts; none if the question set takes no proposals."""
    return questions.seeds() if has(questions, Proposable) else []


def seeded(store: TaskStore, questions: Proposable) -> TaskStore:
    """The store, filled with the tasks from which proposing starts. Raises RedQueenError if it cannot hold one of each
    kind."""
    if store.capacity is not None and store.capacity < len(questions.kinds):
        raise RedQueenError(
            f"a store of {store.capacity} tasks does not hold one of each kind of {questions.name}: "
            f"--capacity {len(questions.kinds)} or more"
        )
    store.add(questions.seeds(), origin="seed")
    return store


def evenly(questions: Questions, count: int, rng: Random, apart: Apart = MappingProxyType({})) -> list[Task]:
    """`count` of the set's own problems, none held out, equally many of each level; the remainder goes to random
    levels."""
    levels = training_levels(questions)
    whole, rest = divmod(count, len(levels))
    extra = rng.sample(range(len(levels)), rest)
    return [
        task
        for number, level in enumerate(levels)
        for task in problems_apart(apart, questions, level, whole + (number in extra), rng)
    ]


def said(played: Played) -> list[str]:
    """The reply of each episode of one seat, "" if none in the stated format was found."""
    return [str(episode.outcome.facts["reply"]) for episode in episodes_of(played)]


def judgements_of(played: Played) -> list[str]:
    """What the judgement of each episode says, as `checks.judge` reads it: of one that was cut off, what it had
    concluded."""
    episodes = episodes_of(played)
    return [concluded(text, outcomes.cut_off(each)) for text, each in zip(said(episodes), episodes, strict=True)]


def read(questions: Proposable, proposals: Played) -> list[Task | Refusal]:
    """For each proposal a task that passed the set's gates, or a refusal. A proposal that was cut off is
    refused, with the reason of the gate that it did not pass, if any."""
    episodes = episodes_of(proposals)
    written = questions.read([episode.task for episode in episodes], said(episodes))
    return [
        Refusal(each.reason if isinstance(each, Refusal) else "cut off", cut_off=True) if ended else each
        for ended, each in zip(map(outcomes.cut_off, episodes), written, strict=True)
    ]


def tasks_among(written: Sequence[Task | Refusal]) -> list[Task]:
    """The tasks, without the refusals."""
    return [task for task in written if isinstance(task, Task)]


def graded(questions: Questions, groups: Sequence[Group], truncated: Truncated = "wrong") -> list[Group]:
    """The groups with the set's verdict on each attempt, the fact `right`: True, False, or None if unknown; `truncated`
    says what an attempt that was cut off gets, where the task has an answer or the set a verdict. Raises RedQueenError
    if the set gives more or fewer verdicts."""
    episodes = episodes_of(groups)
    right = questions.right([episode.task for episode in episodes], said(episodes))
    if len(right) != len(episodes):
        raise RedQueenError(
            f"the question set {questions.name} gave {len(right)} verdicts on {len(episodes)} answers: right() gives "
            "one on each"
        )
    cut = map(outcomes.cut_off, episodes)
    known = [each is not None or bool(one.task.answer) for each, one in zip(right, episodes, strict=True)]
    facts = [
        {"right": with_truncated(each, ended and sure, truncated)}
        for each, ended, sure in zip(right, cut, known, strict=True)
    ]
    return with_facts(groups, facts)


def paid(questions: PaysInPart, groups: Sequence[Group], truncated: Truncated = "wrong") -> list[Group]:
    """The groups with what the set pays for each attempt, the fact `paid`; for one that was cut off what `truncated`
    says: 0, what the set pays, or None."""
    episodes = episodes_of(groups)
    found = questions.paid([episode.task for episode in episodes], said(episodes))
    ended = {"wrong": 0.0, "unknown": None}
    return with_facts(
        groups,
        [
            {"paid": ended[truncated] if outcomes.cut_off(one) and truncated != "graded" else each}
            for one, each in zip(episodes, found, strict=True)
        ],
    )


def answered(played: Played, truncated: Truncated = "wrong") -> list[str]:
    """The answer of each attempt, "" if it was cut off, unless `truncated` ones are graded."""
    return outcomes.answers(episodes_of(played), truncated)


def mean_known(scores: np.ndarray) -> float:
    """The mean of the scores that are not NaN; NaN if there are none."""
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if len(known) else np.nan


def judged_answers(attempts: Played) -> list[Task]:
    """The task of a judge for each attempt, which sees the whole reply with its working, without its thoughts."""
    return [about_answer(episode.task, outcomes.whole_reply(episode)) for episode in episodes_of(attempts)]


def opinions(judgements: Sequence[Group]) -> np.ndarray:
    """[groups] the mean score of each group of judgements, 0 to 1 (`judge.opinion`); NaN if none
    of them can be read."""
    means = [opinion([Score().read(text) for text in judgements_of(group.attempts)]).mean for group in judgements]
    return np.array([np.nan if mean is None else mean for mean in means], dtype=np.float64)


def with_opinions(attempts: Sequence[Group], judgements: Sequence[Group]) -> list[Group]:
    """The groups with the fact `opinion` of each attempt: the mean score of its group of judgements,
    None if none of them can be read."""
    found = opinions(judgements).tolist()
    return with_facts(attempts, [{"opinion": None if np.isnan(mean) else mean} for mean in found])


def empty_lowest(attempts: Sequence[Group]) -> list[Group]:
    """The groups with the opinion 0 of each attempt that says nothing, as one that ended within its thoughts, whatever
    a judge said of it."""
    return with_facts(attempts, [{} if text.strip() else {"opinion": 0.0} for text in said(attempts)])


def readable(episode: Episode) -> dict[Seat, np.ndarray]:
    """The reward of a judge: 1 if its score stands where it was asked for, else 0."""
    return {seat: np.array([float(Score().stated(said([episode])[0]) is not None)]) for seat in episode.seats}
