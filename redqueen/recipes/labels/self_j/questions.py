"""What a judge of two answers is asked: pairs in both orders; does a reason fit a verdict? (EvolvR, 2508.06046)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from redqueen.credit.outcomes import verdicts
from redqueen.questions.asking import said
from redqueen.questions.fenced import FIRST, SECOND, about_pair, asked, between_fences
from redqueen.types import Group, Task

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
