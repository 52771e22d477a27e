"""What a judge's reply says, and rewards computed from it. The judge itself is a player of the recipe.

A judgement is read from the judge's own reply, never from its prompt. First the form that it was asked for; where the
reply does not use it, what judges write in prose: "[[A]]", "[[A>B]]", "Answer: A", "The first answer is better.",
{"verdict": "A"}, "8/10", "I give it a score of 8.". Of these forms the first that occurs counts, and only if all its
occurrences agree and no other label is named after it ("Answer: A. On reflection, answer B is better."). What says two
things, or none ("It depends."), is unread, None: unread judgements are counted and never replaced by a middle score,
which would hide that the judge has failed. Of a reply that was cut off counts what it had `concluded`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from redqueen.checks.votes import Majority
from redqueen.types import RedQueenError


def concluded(text: str, cut_off: bool) -> str:
    """The reply of a judge; of one that was cut off only a last line of one word, or all of it where a tag is closed at
    its end: half a sentence may name another verdict than the whole one."""
    if not cut_off or _CLOSED.search(text):
        return text
    last = text.strip().rpartition("\n")[2]
    return last if len(last.split()) == 1 else ""


_CLOSED = re.compile(r"</[A-Za-z_]+>\s*\Z")


@dataclass(frozen=True)
class Score:
    """An integer in a tag that ends the reply, "... <score>7</score>"; without such a tag, one alone on the last line,
    else the score in prose, in which the scale itself ("1-10") is no score."""

    tag: str = "score"
    low: int = 1
    high: int = 10

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_]+", self.tag) or not self.low < self.high:
            raise RedQueenError(
                f"a score needs a tag of letters and low < high, not {self.tag!r}, {self.low}, {self.high}"
            )

    def read(self, text: str) -> int | None:
        """The score; None if there is none, if there are several, or if it is off the scale or no integer."""
        if f"<{self.tag}" in text or f"</{self.tag}" in text:
            return self.stated(text)
        if alone := _ALONE.search(text):
            return self._on_scale(alone["score"])
        text = re.sub(rf"\(?\b{self.low}\s*(?:-|–|to)\s*{self.high}\b\)?|\((?:out )?of {self.high}\)", " ", text)
        for form in _SCORES:
            said = list(form.finditer(text))
            if said:
                values = {match["score"] for match in said}
                other_scale = any((match.groupdict().get("of") or str(self.high)) != str(self.high) for match in said)
                return None if other_scale or len(values) > 1 else self._on_scale(values.pop())
        return None

    def stated(self, text: str) -> int | None:
        """The score in the tag; None if the reply does not end in one, or holds a second."""
        return self._on_scale(_tagged(text, self.tag) or "")

    def _on_scale(self, text: str) -> int | None:
        if not re.fullmatch(r"-?[0-9]{1,9}", text):
            return None
        return int(text) if self.low <= int(text) <= self.high else None


@dataclass(frozen=True)
class TwoScores:
    """The scores of two texts, A and B, alone on the last line of a reply: "4 2", "A: 4, B: 2", "4/5 2/5"."""

    low: int = 1
    high: int = 5

    def read(self, text: str) -> tuple[int, int] | None:
        """Both scores, that of A first; None if there are not two whole numbers on the scale, or anything else."""
        lines = [line for line in text.splitlines() if line.strip()]
        found = _TWO_SCORES.fullmatch(lines[-1]) if lines else None
        if found is None or any(of not in (None, str(self.high)) for of in (found[2], found[4])):
            return None
        first, second = int(found[1]), int(found[3])
        return (first, second) if all(self.low <= each <= self.high for each in (first, second)) else None


@dataclass(frozen=True)
class Label:
    """One of a closed set of words: in a tag that ends the reply where one is named, else alone on its last line, else
    in prose.

    Case, white space and the marks * ` " ' . ( ) around the word do not count, but a label of one letter is a capital
    in prose. A reply that names two labels in the same way contradicts itself and is unread.
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
        if others:
            return self._bare.get(lines[-1]) if len(others) == 1 else None
        if _UNDECIDED.search(text):
            return None
        if set(self._bare) == {"a", "b"}:
            text = _ORDINAL.sub(lambda found: f"answer {'A' if found['which'].casefold() == 'first' else 'B'}", text)
        end, said = 0, set[str]()  # of the most explicit form, and of what is taken back after it
        for form in _labels_in_prose(self.labels):
            found = [match for match in form.finditer(text) if match.end() > end and not _doubted(text, match)]
            if form is _named(self.labels) and not _concludes(found, text):
                continue
            end = end or max((match.end() for match in found), default=0)
            said |= {_bare(match["label"]) for match in found}
        return self._bare.get(said.pop()) if len(said) == 1 else None

    @property
    def _bare(self) -> dict[str, str]:
        return {_bare(label): label for label in self.labels}


def _bare(text: str) -> str:
    return text.strip(" \t*`\"'.()").casefold()


_OUT_OF = r"(?:\s*(?:/|out\s+of)\s*(?P<of>[0-9]{1,4}))"
_SCORES = (  # the more explicit first
    re.compile(r"\[\[\s*(?P<score>-?[0-9]{1,4})\s*\]\]"),
    re.compile(r'(?i)"(?:score|rating|grade)"\s*:\s*"?(?P<score>-?[0-9]{1,4})\b(?!\.[0-9])'),
    re.compile(
        rf"(?i)\b(?:score|rating|grade|rate it|rate this|marks?)\b(?:\s+(?:is|of|as|would be|a|an|at))*\s*+[:=]?+"
        rf"[\s*_`\"'(]*+(?P<score>-?[0-9]{{1,4}})(?![\w]|[.,][0-9]){_OUT_OF}?"
        r"(?!\s*(?:or|to|-|–)\s*[0-9])"
    ),
    re.compile(rf"(?<![\w.,/-])(?P<score>-?[0-9]{{1,4}}){_OUT_OF}(?![\w]|[.,/][0-9])"),
)
_ALONE = re.compile(r"(?m)^[ \t*_`\"'(]*+(?P<score>-?[0-9]{1,4})[ \t*_`\"').]*+\s*+\Z")
_TWO_SCORES = re.compile(  # marks and the letters A and B may stand around them
    r"[\s*_`\"'(]*(?:A\b[\s:=*]*)?(\d{1,4})(?:/(\d{1,4}))?[\s*_`\"',;|)]+(?:B\b[\s:=*]*)?(\d{1,4})(?:/(\d{1,4}))?"
    r"[\s*_`\"').]*"
)
_UNDECIDED = re.compile(
    r"(?i)\b(?:equally (?:good|bad|right|wrong)|it depends|a tie\b|cannot (?:say|tell|decide))|"
    r"\[\[\s*\w+\s*=\s*\w+\s*\]\]"
)


_DOUBT = re.compile(  # a clause that says of what follows that it is not so, or not known, or a sentence about both
    r"(?i)(?:n['’]t|\b(?:not|never|cannot|(?<!no )(?<!without )(?<!without a )doubt\w*|hard|difficult|unclear|unsure|"
    r"if|whether|unless))\b(?:(?!\b(?:but|so|because|and|while|although|since)\b)[^.;:!?,\n])*\Z|"
    r"\b(?:neither|both (?:answers|responses|are))\b(?:(?!\b(?:but|yet|however|while|though|although)\b)[^.!?\n])*\Z"
)


def _doubted(text: str, match: re.Match[str]) -> bool:
    """Whether the clause before a verdict denies or doubts it: "I don't think that A is better"."""
    return _DOUBT.search(text, max(0, match.start() - 200), match.start()) is not None


_MARKS = r"[\s*_`\"'(\[]*"
_OPENED = r"[*_`\"'(]*+"  # marks before the noun: **Answer A**
_NOUN = "(?:answer|response|option|choice|assistant|one|reply|solution)"
_THING = rf"(?:{_NOUN}\s*+)"
_ORDINAL = re.compile(rf"(?i)\b(?P<which>first|second)\s+{_NOUN}\b")


def _words(labels: tuple[str, ...]) -> str:
    return "|".join(re.escape(label) if len(label) == 1 else f"(?i:{re.escape(label)})" for label in labels)


@lru_cache
def _named(labels: tuple[str, ...]) -> re.Pattern[str]:
    """A line that is a label and what it is of: "**Answer A**"."""
    before, after = r"[ \t*_`\"'(\[]*+(?i:the\s+)?", r"[ \t*_`\"').\]]*+$"
    return re.compile(rf"(?m)^{before}(?i:{_THING}){_MARKS}(?P<label>{_words(labels)}){after}")


def _concludes(found: Sequence[re.Match[str]], text: str) -> bool:
    """Whether such lines are a verdict: the last line is one, and none names another label, as headings do."""
    return len({_bare(match["label"]) for match in found}) == 1 and not text[found[-1].end() :].strip()


@lru_cache
def _labels_in_prose(labels: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """The forms in which judges name one of the labels, the more explicit first; in [[A>>B]] the better one."""
    words = _words(labels)
    end = r"(?=[\s*_`\"')\]]*(?:[.,;:!]|$|\n|(?i:because|since|as|for)\b))"  # "A good one" names no label
    label = rf"{_MARKS}(?P<label>{words}){end}"
    noun = r"(?:final\s+)?(?:answer|verdict|judge?ment|choice|winner|decision|preference|label|better|best|result)"
    return (
        re.compile(rf"\[\[\s*(?:(?:{words})\s*<{{1,2}}\s*)?(?P<label>{words})\s*(?:>{{1,2}}\s*(?:{words})\s*)?\]\]"),
        re.compile(
            rf'(?i:"(?:verdict|answer|label|winner|choice|better|preference|judge?ment)"\s*:\s*"{_THING}?)'
            rf'(?P<label>{words})"'
        ),
        re.compile(rf"(?i:<(?P<tag>answer|verdict|choice)>\s*{_THING}?)(?P<label>{words})\s*(?i:</(?P=tag)>)"),
        re.compile(rf"\\boxed\{{(?:\\text\{{)?\s*(?P<label>{words})\s*\}}"),
        re.compile(
            rf"(?mi:\b{noun}\s*{_THING}?(?:is|was|:|=)[\s:*_`\"'(]*+(?:clearly\s++|the\s++)?{_OPENED}{_THING}?)"
            rf"(?m:{label})"
        ),
        _named(labels),
        re.compile(
            rf"(?i:\bI(?:\s+would|['’]d|\s+will|['’]ll)?\s+(?:prefer|choose|pick|select|go\s+with)\s++(?:the\s++)?"
            rf"{_OPENED}{_THING}?)(?m:{label})"
        ),
        re.compile(
            rf"(?mi:\b(?:therefore|thus|hence|so|overall)[,:]?\s+(?:the\s+)?{_OPENED}{_THING}){_MARKS}(?P<label>{words})"
            r"(?m:[*_`\"')\]]*[.!]?[ *_]*$)"
        ),
        re.compile(
            rf"(?<!\w)(?i:{_THING}{_MARKS})?(?P<label>{words})(?!\w)[*_`\"')\]]*\s+"
            r"(?i:wins\b|is\s+(?:(?:clearly|much|slightly|the)\s+)*(?:better|best|preferred|preferable|winner))"
        ),
    )


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
