"""How far the texts of several readers are apart: right ones resemble each other, wrong ones are wrong each in its way.

The distance of two texts is their edit distance (Levenshtein: characters put in, taken out or exchanged) over the
length of the longer one. The mean distance of a text to the others says how far it can be trusted, and the text that
is nearest to the others is chosen (Consensus Entropy, 2025, arXiv:2504.11101). The entropy that the paper prints is
greatest where all texts are equal; what its released code computes is this mean, over the others or over all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from redqueen.checks.votes import Vote

LONGEST = 4096  # characters of a text that is compared by characters; longer ones are compared by words


def distance(one: str, other: str) -> float:
    """The edit distance of two texts over the length of the longer one, 0 to 1; 0 for two empty ones."""
    if one == other:
        return 0.0
    by_words = max(len(one), len(other)) > LONGEST
    first, second = (one.split(), other.split()) if by_words else (list(one), list(other))
    longest = max(len(first), len(second))
    return edits(first, second) / longest if longest else 0.0


def edits(one: Sequence[str], other: Sequence[str]) -> int:
    """The fewest items put in, taken out or exchanged that make `other` of `one`."""
    places = {item: number for number, item in enumerate(dict.fromkeys([*one, *other]))}
    across = np.array([places[item] for item in other], dtype=np.int64)
    steps = np.arange(len(other) + 1)
    row = steps.copy()
    for number, item in enumerate(one, 1):
        best = np.minimum(row[1:] + 1, row[:-1] + (across != places[item]))
        # what is put in after a place costs one each: the least of all places before, plus the way from there
        row = np.minimum.accumulate(np.concatenate([[number], best]) - steps) + steps
    return int(row[-1])


def apart(texts: Sequence[str]) -> np.ndarray:
    """[n, n] the distances of n texts from one another."""
    known: dict[tuple[str, str], float] = {}
    found = np.zeros((len(texts),) * 2)
    for place, one in enumerate(texts):
        for other_place, other in enumerate(texts[:place]):
            pair = (min(one, other), max(one, other))
            if pair not in known:
                known[pair] = distance(*pair)
            found[place, other_place] = found[other_place, place] = known[pair]
    return found


def distances(texts: Sequence[str]) -> np.ndarray:
    """[n] the mean distance of each of n texts to the others: 0 where all say the same, NaN for one alone."""
    if len(texts) < 2:
        return np.full(len(texts), np.nan)
    return np.asarray(apart(texts).sum(axis=1) / (len(texts) - 1))


def nearest(texts: Sequence[str]) -> str | None:
    """The text that is nearest to the others, None where different ones are equally near (as any two are): a tie is no
    choice. Texts without a character are no candidates, and count for nobody."""
    said = [text for text in texts if text.strip()]
    if not said:
        return None
    far = distances(said) if len(said) > 1 else np.zeros(1)
    least = {text for text, each in zip(said, far.tolist(), strict=True) if each <= far.min() + 1e-12}
    return least.pop() if len(least) == 1 else None


def consensus(answers: Sequence[Sequence[str]]) -> Vote:
    """The choice among the answers of several minds to one question, [K] each: the one that is nearest to all others,
    "" where different ones are equally near. Its share is 1 - its mean distance to the others that say anything."""
    every = [text.strip() for each in answers for text in each]
    said = [text for text in every if text]
    chosen = nearest(said) or ""
    far = distances(said)[said.index(chosen)] if chosen and len(said) > 1 else 1.0
    return Vote(chosen, float(1.0 - far) if len(said) > 1 else float(bool(chosen)), len(said), len(every))
