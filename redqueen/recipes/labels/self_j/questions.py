"""What a judge of two answers is asked: pairs in both orders; does a reason fit a verdict? (EvolvR, 2508.06046)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from sys import maxsize

from redqueen.credit.outcomes import verdicts
from redqueen.curricula.held_out import held_out_levels
from redqueen.play.groups import grouped, with_facts
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.protocols import Questions
from redqueen.questions.asking import SOLVE, said
from redqueen.questions.catalogue import having
from redqueen.questions.dataset import Preference, Preferring
from redqueen.questions.fenced import FIRST, SECOND, about_pair, asked, between_fences
from redqueen.types import SOLVER, Episode, Group, Match, Task

FITS, NOT = "YES", "NO"


@dataclass(frozen=True)
class Shown:
    """Two answers to a question in one order, and which is better, A or B."""

    task: Task
    first: str
    second: str
    verdict: str

    def plain(self, rng: Random) -> Task:
        """The task of a judge that reasons."""
        return replace(about_pair(self.task, self.first, self.second, rng), choices=())

    @property
    def other(self) -> str:
        return SECOND if self.verdict == FIRST else FIRST


def pairs_in(groups: Sequence[Group]) -> list[Shown]:
    """Of each graded group the first right and the first wrong answer, in both orders; nothing of a group without
    both."""
    found = []
    for group in groups:
        known = list(zip(said([group]), verdicts(group).tolist(), strict=True))
        ends = [next((text for text, right in known if right == wanted and text.strip()), None) for wanted in (1, 0)]
        better, worse = ends
        if better is not None and worse is not None and better != worse:
            found += [Shown(group.task, better, worse, FIRST), Shown(group.task, worse, better, SECOND)]
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


def about_reason(pair: Shown, reason: str, claim: str, rng: Random) -> Task:
    """The task of a judge who says whether a reason speaks for a claimed verdict. YES and NO are its choices."""
    parts = {"Question": asked(pair.task), f"Answer {FIRST}": pair.first, f"Answer {SECOND}": pair.second}
    parts |= {"Reason": reason, "Verdict": f"{claim} is better."}
    end = f"Does the reason speak for this verdict? End with {FITS} or {NOT}, alone on the last line."
    posed = between_fences("Does a reason speak for a verdict on two answers?", parts, end, rng)
    return Task(f"reason on {pair.task.id}", "reason", posed, choices=(FITS, NOT))
