"""A judge that is shown all attempts at a task at once and ranks them in one call (as RULER of OpenPipe's ART does)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from redqueen.checks.ranking import Ranking, decided
from redqueen.credit.outcomes import cut_off, whole_reply
from redqueen.play.groups import with_facts
from redqueen.questions.asked_judges import AskedJudge
from redqueen.questions.asking import said
from redqueen.questions.fenced import about_ranking, asked
from redqueen.questions.judge_oracles import Manner
from redqueen.questions.verdicts import Truncated
from redqueen.types import Episode, Group, Task


class Ranker:
    """The judge, asked for a ranking of the answers to each task. Each time it sees them in an order drawn anew, equal
    texts once, and no answer that is "". `decides` holds for each ranking of the last call whether it puts any
    answer before another; one that cannot be read does not."""

    def __init__(self, judge: AskedJudge, manner: Manner) -> None:
        self._judge, self._manner = judge, manner
        self.decides: list[bool] = []

    def __call__(self, tasks: Sequence[Task], answers: Sequence[Sequence[str | None]], rng: Random) -> list[np.ndarray]:
        """[K, K] for each task with K answers: the share of the rankings that decide between answers i and j in which i
        stands before j. NaN between equal texts and where no ranking decides; an answer "" loses to every other text,
        and None, an answer that is not to be judged, has no comparison."""
        rubric, repeats = self._manner.rubric, self._manner.repeats
        calls: list[tuple[int, list[str]]] = []  # the task's place, and the texts in the order shown
        for place, texts in enumerate(answers):
            distinct = list(dict.fromkeys(text for text in texts if text))
            if len(distinct) > 1:
                calls += [(place, rng.sample(distinct, len(distinct))) for _ in range(repeats)]
        shown = [about_ranking(tasks[place], texts, rng, rubric) for place, texts in calls]
        about = [
            (rubric, "ranking", asked(tasks[place]), *texts, str(number % repeats))
            for number, (place, texts) in enumerate(calls)
        ]
        replies = self._judge.said(shown, about, rng) if calls else []
        found: list[list[np.ndarray]] = [[] for _ in tasks]
        self.decides = []
        for (place, texts), reply in zip(calls, replies, strict=True):
            places = Ranking(len(texts)).read(reply)
            self.decides.append(places is not None and bool((decided(places) == 1.0).any()))
            if places is not None:
                found[place].append(_among(answers[place], dict(zip(texts, places, strict=True))))
        return [_mean(each, texts) for each, texts in zip(found, answers, strict=True)]


def ranked(rank: Ranker, groups: Sequence[Group], truncated: Truncated, rng: Random) -> list[Group]:
    """The groups with the fact `wins` of each attempt: how often it is ranked before each other one of its group, None
    where that is not known. An attempt without an answer, or that was cut off, is ranked last, unless those cut off are
    graded (shown as they are) or unknown (no comparison)."""
    shown = [[_shown(each, truncated) for each in group.attempts] for group in groups]
    rows = [row for matrix in rank([group.task for group in groups], shown, rng) for row in matrix.tolist()]
    return with_facts(groups, [{"wins": tuple(None if np.isnan(each) else each for each in row)} for row in rows])


def _shown(episode: Episode, truncated: Truncated) -> str | None:
    """What the judge is shown of an attempt: all that it said aloud; "" for one without an answer."""
    if cut_off(episode) and truncated != "graded":
        return None if truncated == "unknown" else ""
    return whole_reply(episode).strip() if said([episode])[0].strip() else ""


def _among(answers: Sequence[str | None], places: dict[str, float]) -> np.ndarray:
    return decided([np.nan if text is None else places.get(text, np.nan) for text in answers])


def _mean(matrices: Sequence[np.ndarray], answers: Sequence[str | None]) -> np.ndarray:
    """[K, K] the mean of the decided comparisons, with those of answers that say nothing."""
    stacked = np.array([np.full((len(answers),) * 2, np.nan), *matrices])
    known = ~np.isnan(stacked)
    counts, sums = known.sum(axis=0), np.where(known, stacked, 0.0).sum(axis=0)
    mean = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    empty = np.array([text == "" for text in answers])
    whole = np.array([bool(text) for text in answers])
    mean[np.ix_(whole, empty)], mean[np.ix_(empty, whole)] = 1.0, 0.0
    return mean
