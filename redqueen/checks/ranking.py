"""What a judge's reply says about the order of several numbered texts: "2 > 1 = 3", the best first.

The order stands alone on the last line; where it does not, what judges write in prose: "Ranking: 2 > 1 > 3.",
"Answer 2 > Answer 1", {"ranking": [2, 1, 3]}. Of these forms the first that occurs counts, and only if all its
occurrences agree. A text that is named twice, or a number that none has, makes the whole reply unread, None.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from redqueen.types import RedQueenError

_MARKS = re.compile(r"[*_`\"'#\[\](){}]|(?i:\b(?:answer|attempt|response|reply|solution|number|no\.)(?=\s*\d))")
_JOINED = re.compile(r"(?<=\d)\s*+([>=])\s*+(?=\d)|(?<=\d)\s*+(,)\s*+(?=\d)")
_CHAIN = r"(?<![\w.,<>=])\d{1,4}(?:[>=]\d{1,4})+(?![\w<>=])"
_LIST = r"\d{1,4}(?:[ \t]*,[ \t]*\d{1,4})+"
_LABEL = r"(?i:\b(?:ranking|ranked|rank|order|verdict)\b)[^\d\n]{0,30}?"
_FORMS = (  # the more explicit first
    re.compile(rf"(?:\A|\n)[ \t]*(?:{_LABEL})?({_CHAIN}|{_LIST})[ \t.]*\Z"),
    re.compile(rf"{_LABEL}({_CHAIN}|{_LIST})"),
    re.compile(rf"({_CHAIN})"),
)


@dataclass(frozen=True)
class Ranking:
    """The order of `count` texts, which are numbered from 1."""

    count: int

    def __post_init__(self) -> None:
        if self.count < 2:
            raise RedQueenError(f"a ranking is of two texts or more, not of {self.count}")

    def read(self, text: str) -> list[float] | None:
        """[count] the place of each text, 0 the best, equal where they tie, NaN for one that is not named; None where
        no order can be read."""
        bare = _JOINED.sub(_in_one, _MARKS.sub("", text)).rstrip()
        for form in _FORMS:
            said = {re.sub(r"\s", "", found[1]) for found in form.finditer(bare)}
            if said:
                return self._places(said.pop()) if len(said) == 1 else None
        return None

    def _places(self, order: str) -> list[float] | None:
        tiers = [[int(number) for number in tier.split("=")] for tier in re.split("[>,]", order)]
        named = [number for tier in tiers for number in tier]
        if len(set(named)) < len(named) or not all(1 <= number <= self.count for number in named):
            return None
        places = [nan] * self.count
        for place, tier in enumerate(tiers):
            for number in tier:
                places[number - 1] = float(place)
        return places


def _in_one(found: re.Match[str]) -> str:
    """Two numbers side by side in a ranking, in one line: without this each line or space could begin another one, and
    all of them would be looked through."""
    return found[1] or ("," if found[0].strip(" \t,") else found[0])


def decided(places: Sequence[float]) -> np.ndarray:
    """[K, K] 1 where text i stands before text j, 0 where behind it; NaN where they tie, or where one of them has no
    place: never a half."""
    gaps = np.subtract.outer(np.asarray(places, dtype=np.float64), np.asarray(places, dtype=np.float64))
    return np.asarray(np.where(gaps < 0, 1.0, np.where(gaps > 0, 0.0, nan)))
