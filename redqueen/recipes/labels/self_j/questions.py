"""What a judge of two answers is asked: pairs in both orders, the better one or both scores; does a reason fit a
verdict? (EvolvR, 2508.06046)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from sys import maxsize
from typing import Protocol

import numpy as np

from redqueen.checks.judge import Label, TwoScores
from redqueen.checks.preferences import sigmoid
from redqueen.credit.outcomes import verdicts
from redqueen.curricula.held_out import held_out_levels
from redqueen.play.groups import grouped, with_facts
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.protocols import Questions
from redqueen.questions.asked_judges import AskedJudge
from redqueen.questions.asking import SOLVE, said
from redqueen.questions.catalogue import having
from redqueen.questions.dataset import Preference, Preferring
from redqueen.questions.fenced import FIRST, SECOND, about_pair, about_scores, asked, between_fences
from redqueen.questions.judge_oracles import JudgedPairs, JudgedTogether
from redqueen.types import SOLVER, Episode, Group, Match, Metrics, RedQueenError, Task, mean_of

FITS, NOT = "YES", "NO"
WORST, BEST = 1, 5  # of a score


@dataclass(frozen=True)
class Shown:
    """Two answers to a question in one order, and the true verdict on them as the judge is to say it."""

    task: Task
    first: str
    second: str
    verdict: str


class Form(Protocol):
    """What a judge of two answers says about them at the end of its reply."""

    @property
    def figures(self) -> tuple[str, ...]:
        """What `compared` measures besides the preferences."""
        ...

    def verdict(self, task: Task, better_first: bool) -> str | None:
        """The true verdict on the pair of a task in this order; None where no answer is the better one."""
        ...

    def plain(self, pair: Shown, rng: Random) -> Task:
        """The task of a judge that reasons."""
        ...

    def claim(self, verdict: str) -> str:
        """The verdict in words."""
        ...

    def read(self, text: str) -> str | None:
        """The verdict at the end of a reply; None if there is none."""
        ...

    def opposite(self, verdict: str, rng: Random) -> str:
        """A verdict by which the other answer is the better one."""
        ...

    def asked_after(self, reason: str, verdict: str) -> list[tuple[str, tuple[str, ...], str]]:
        """What is asked behind a reason: words, the listed replies, and the one that is true."""
        ...

    def compared(self, judge: AskedJudge, shown: Sequence[Shown], rng: Random) -> tuple[np.ndarray, Metrics]:
        """[n] how far the judge prefers the first answer of each pair (above .5 it does; NaN is unread), and more."""
        ...


@dataclass(frozen=True)
class Letters:
    """The better answer, A or B."""

    figures: tuple[str, ...] = ()

    def verdict(self, task: Task, better_first: bool) -> str | None:
        return FIRST if better_first else SECOND

    def plain(self, pair: Shown, rng: Random) -> Task:
        return replace(about_pair(pair.task, pair.first, pair.second, rng), choices=())

    def claim(self, verdict: str) -> str:
        return f"{verdict} is better"

    def read(self, text: str) -> str | None:
        return Label((FIRST, SECOND)).read(text)

    def opposite(self, verdict: str, rng: Random) -> str:
        return SECOND if verdict == FIRST else FIRST

    def asked_after(self, reason: str, verdict: str) -> list[tuple[str, tuple[str, ...], str]]:
        return [(f"Said of both: {reason}", (FIRST, SECOND), verdict)]

    def compared(self, judge: AskedJudge, shown: Sequence[Shown], rng: Random) -> tuple[np.ndarray, Metrics]:
        sides = [pair.task for pair in shown], [pair.first for pair in shown], [pair.second for pair in shown]
        return JudgedPairs(judge)(*sides, rng), {}


@dataclass(frozen=True)
class Scores:
    """The scores of both answers, from 1 to 5, that of A first: "4 2". The true ones are the fact `scores` of the task,
    of the chosen and of the rejected answer; where they are equal there is no verdict. `compared` measures how far the
    judge's scores are from the true ones (`held_out/score_error`), and how often both are exact
    (`held_out/score_exact`). Raises RedQueenError for a pair without scores, with others, or whose rejected answer has
    the higher one."""

    figures: tuple[str, ...] = ("score_error", "score_exact")

    def verdict(self, task: Task, better_first: bool) -> str | None:
        chosen, rejected = self._true(task)
        if chosen == rejected:
            return None
        return f"{chosen} {rejected}" if better_first else f"{rejected} {chosen}"

    def plain(self, pair: Shown, rng: Random) -> Task:
        return about_scores(pair.task, pair.first, pair.second, rng, WORST, BEST)

    def claim(self, verdict: str) -> str:
        first, second = verdict.split()
        return f"{FIRST} has a score of {first} and {SECOND} of {second}, out of {BEST}"

    def read(self, text: str) -> str | None:
        found = TwoScores(WORST, BEST).read(text)
        return found and f"{found[0]} {found[1]}"

    def opposite(self, verdict: str, rng: Random) -> str:
        """A random pair of scores in the opposite order."""
        first, second = map(int, verdict.split())
        low, high = sorted(rng.sample(range(WORST, BEST + 1), 2))
        return f"{low} {high}" if first > second else f"{high} {low}"

    def asked_after(self, reason: str, verdict: str) -> list[tuple[str, tuple[str, ...], str]]:
        listed, said = tuple(map(str, range(WORST, BEST + 1))), f"Said of both: {reason}\nThe score of Answer"
        return [
            (f"{said} {name}:", listed, score) for name, score in zip((FIRST, SECOND), verdict.split(), strict=True)
        ]

    def compared(self, judge: AskedJudge, shown: Sequence[Shown], rng: Random) -> tuple[np.ndarray, Metrics]:
        sides = [pair.task for pair in shown], [pair.first for pair in shown], [pair.second for pair in shown]
        given = JudgedTogether(judge, WORST, BEST).scores(*sides, rng)
        gaps = np.abs(given - np.array([[float(each) for each in pair.verdict.split()] for pair in shown]))
        known = ~np.isnan(gaps).any(axis=1)
        exact: Metrics = {"held_out/score_exact": mean_of((gaps == 0.0).all(axis=1).tolist())}
        error: Metrics = {"held_out/score_error": mean_of(gaps[known].mean(axis=1).tolist())} if known.any() else {}
        return sigmoid(given[:, 0] - given[:, 1]), exact | error

    def _true(self, task: Task) -> tuple[int, int]:
        found = task.facts.get("scores")
        if found is None:
            raise RedQueenError(
                f"--scores takes pairs that were scored from {WORST} to {BEST}, and of {task.id!r} it is not said: the "
                "columns are chosen_score and rejected_score (--columns chosen_score=COL)"
            )
        chosen, rejected = found
        wrong = [each for each in (chosen, rejected) if each not in range(WORST, BEST + 1)]
        if wrong:
            raise RedQueenError(f"a score is a whole number from {WORST} to {BEST}: {task.id!r} has {wrong[0]:g}")
        if rejected > chosen:
            raise RedQueenError(f"the rejected answer to {task.id!r} has a higher score than the chosen one")
        return int(chosen), int(rejected)


def pairs_in(groups: Sequence[Group], form: Form = Letters()) -> list[Shown]:
    """Of each graded group the first right and the first wrong answer, in both orders; nothing of a group without
    both, or of which nobody says which is better."""
    found = []
    for group in groups:
        known = list(zip(said([group]), verdicts(group).tolist(), strict=True))
        ends = [next((text for text, right in known if right == wanted and text.strip()), None) for wanted in (1, 0)]
        better, worse = ends
        if better is not None and worse is not None and better != worse:
            verdicts_on = [form.verdict(group.task, first) for first in (True, False)]
            orders = ((better, worse), (worse, better))
            found += [Shown(group.task, *two, each) for two, each in zip(orders, verdicts_on, strict=True) if each]
    return found


def recalled(pairs: Sequence[Preference]) -> list[Match]:
    """The matches in which both answers of each pair are said, the chosen one first."""
    return [
        Match(SOLVE, pair.task, {SOLVER: Scripted((text,))}) for pair in pairs for text in (pair.chosen, pair.rejected)
    ]


def told(episodes: Sequence[Episode]) -> list[Group]:
    """Of each pair that was `recalled` a graded group: the chosen answer is right, the rejected one wrong."""
    groups = grouped(episodes, 2)
    return with_facts(groups, [{"right": True}, {"right": False}] * len(groups))


def given_pairs(questions: Questions, tasks: Sequence[Task], rng: Random) -> list[Group]:
    """The pairs that a question set has of these held-out tasks, as groups."""
    wanted, source = {task.id for task in tasks}, having(questions, Preferring)
    levels = held_out_levels(questions)
    found = [pair for level in levels for pair in source.preferences(level, maxsize, rng) if pair.task.id in wanted]
    return told(play(recalled(found), rng))


def reason_in(text: str) -> str:
    """A reply without its last line, which holds the verdict."""
    return text.strip().rpartition("\n")[0].strip()


def survives(fits: float, fits_other: float) -> bool:
    """Whether a reason stands the attack: the judge holds that it fits the verdict, and that it does not fit the other
    one. Both are its probabilities of YES; NaN is no verdict, and does not stand."""
    return fits > 0.5 and fits_other < 0.5


def likeliest(chances: np.ndarray, true: int) -> bool:
    """Whether of the listed replies the true one alone is the likeliest."""
    return bool(np.delete(chances, true).max() < chances[true])


def about_reason(pair: Shown, reason: str, claim: str, rng: Random) -> Task:
    """The task of a judge who says whether a reason speaks for a claimed verdict. YES and NO are its choices."""
    parts = {"Question": asked(pair.task), f"Answer {FIRST}": pair.first, f"Answer {SECOND}": pair.second}
    parts |= {"Reason": reason, "Verdict": f"{claim}."}
    end = f"Does the reason speak for this verdict? End with {FITS} or {NOT}, alone on the last line."
    posed = between_fences("Does a reason speak for a verdict on two answers?", parts, end, rng)
    return Task(f"reason on {pair.task.id}", "reason", posed, choices=(FITS, NOT))
