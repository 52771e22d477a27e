"""Strict parsing of a judge's replies, and rewards computed from them. The judge itself is a player of the recipe.

A judgement is read from the judge's own reply, never from its prompt, and only from one place in it.
Anything that is not in the stated format is unparsed, None: "8/10", two scores, "NOT SURE". Unparsed judgements are
counted and never replaced by a middle score, which would hide that the judge has failed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from redqueen.checks.votes import Majority
from redqueen.types import RedQueenError


@dataclass(frozen=True)
class Score:
    """An integer in a tag that ends the reply: "... <score>7</score>"."""

    tag: str = "score"
    low: int = 1
    high: int = 10

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_]+", self.tag) or not self.low < self.high:
            raise RedQueenError(
                f"a score needs a tag of letters and low < high, not {self.tag!r}, {self.low}, {self.high}"
            )

    def read(self, text: str) -> int | None:
        """The score; None if the reply does not end in one, holds a second tag, or the score is off the scale."""
        content = _tagged(text, self.tag)
        if content is None or not re.fullmatch(r"-?[0-9]{1,9}", content):
            return None
        return int(content) if self.low <= int(content) <= self.high else None


@dataclass(frozen=True)
class Label:
    """One of a closed set of words, alone on the last line of the reply, or in a tag that ends it.

    Case, white space and the marks * ` " ' . around the word do not count. A reply in which another label stands
    alone on a line contradicts itself and is unparsed.
    """

    labels: tuple[str, ...] = ("YES", "NO")
    tag: str = ""  # empty: the last line

    def __post_init__(self) -> None:
        if len(self.labels) < 2 or "" in self._bare or len(self._bare) != len(self.labels):
            raise RedQueenError(f"a judge needs two labels or more that differ by more than case, not {self.labels}")

    def read(self, text: str) -> str | None:
        """The label in the spelling of `labels`, or None."""
        if self.tag:
            return self._bare.get(_bare(_tagged(text, self.tag) or ""))
        lines = [_bare(line) for line in text.splitlines() if line.strip()]
        others = {line for line in lines if line in self._bare}
        return self._bare.get(lines[-1]) if lines and len(others) == 1 else None

    @property
    def _bare(self) -> dict[str, str]:
        return {_bare(label): label for label in self.labels}


def _bare(text: str) -> str:
    return text.strip(" \t*`\"'.").casefold()


def _tagged(text: str, tag: str) -> str | None:
    """The content of the only such tag, which must end the text."""
    found = re.search(rf"<{tag}>([^<>]*)</{tag}>\s*\Z", text)
    alone = text.count(f"<{tag}>") == text.count(f"</{tag}>") == 1
    return found[1].strip() if found and alone else None


@dataclass(frozen=True)
class Opinion:
    """The summary of repeated judgements of one text."""

    mean: float | None  # over the parsed ones, None if there are none
    parsed: int
    unparsed: int

    def passes(self, threshold: float = 0.7) -> bool:
        """Whether the mean is at least `threshold`; false without a parsed judgement."""
        return self.mean is not None and self.mean >= threshold


def opinion(scores: Sequence[int | None], low: int = 1, high: int = 10) -> Opinion:
    """The opinion of `scores` on the scale of MAE (arXiv:2510.23595): (s - low) / (high - low), from 0 to 1.

    The mean is one division of whole numbers, so that ten scores that sum to 73 are exactly 0.7.
    """
    read = [score for score in scores if score is not None]
    if not all(low <= score <= high for score in read):
        raise RedQueenError(f"the scores {read} are not all from {low} to {high}")
    mean = (sum(read) - len(read) * low) / (len(read) * (high - low)) if read else None
    return Opinion(mean, len(read), len(scores) - len(read))


def tag_form(text: str, tag: str) -> float:
    """MAE's reward for form: 1 for exactly one pair of tags, a half for more pairs, 0 otherwise. The text is the reply
    only: the released code counted the prompt's example tags as well, and so required three."""
    opened, closed = text.count(f"<{tag}>"), text.count(f"</{tag}>")
    if opened != closed or opened == 0:
        return 0.0
    return 1.0 if opened == 1 else 0.5


@dataclass(frozen=True)
class Proposed:
    """What a proposed question earns, and whether it is stored."""

    reward: float
    stored: bool


def mae_proposer(quality: float, answers: float, form: float, threshold: float = 0.7) -> Proposed:
    """MAE's reward of a question: (q + d + f) / 3 with d = 1 - the mean score of its answers. Where the quality q is
    below the threshold d counts 0 and the question is not stored. A reply without a question (form 0) earns 0.

    All are from 0 to 1. An unparsed quality (`Opinion.mean` None) gives no reward.
    """
    if form == 0.0:
        return Proposed(0.0, False)
    stored = quality >= threshold
    return Proposed((quality + (1.0 - answers if stored else 0.0) + form) / 3.0, stored)


def vote_rewards(
    judgements: Sequence[bool | None], rule: bool, low: float = 0.51, high: float = 0.99, count_missing: bool = True
) -> list[float] | None:
    """SPELL's rewards of [G] judgements of one answer (arXiv:2509.23863): 1 with the majority, 0
    against it, -1 unparsed. `rule` is whether a strict rule finds the answer right.

    None, for no reward, if the majority's share is outside [low, high] or the majority differs from the rule. So a
    judge that always says yes earns nothing.
    """
    said = ["" if judgement is None else str(judgement) for judgement in judgements]
    vote = Majority(count_missing).label(said)
    if not low <= vote.share <= high or vote.answer != str(rule):
        return None
    return [-1.0 if judgement is None else float(judgement == rule) for judgement in judgements]


def rule_or_majority(judgements: Sequence[bool | None], rule: bool) -> float:
    """SPELL's reward of an answer: 1 if the rule or more than half of the judgements find it right; an unparsed
    judgement does not."""
    return float(rule or 2 * sum(judgement is True for judgement in judgements) > len(judgements))
