"""What a reader should know of the pairs of a file before a model learns from them."""

from __future__ import annotations

from collections.abc import Sequence

from redqueen.questions.examples import Example


def doubts(found: Sequence[Example]) -> list[str]:
    """A line each: pairs that stand there both ways round, and pairs whose chosen reply has the lower score."""
    told, places = [], dict[tuple[object, str, str], str]()
    both: list[tuple[str, str]] = []
    for each in found:
        if each.rejected:
            places[each.key, each.completion, each.rejected] = each.place
            if other := places.get((each.key, each.rejected, each.completion)):
                both.append((other, each.place))
    if both:
        told.append(
            f"pairs that stand there both ways round: {len(both)}, the first in {both[0][0]} and {both[0][1]}; what "
            "one teaches the other takes back"
        )
    if turned := [each.place for each in found if each.scores and each.scores[0] < each.scores[1]]:
        told.append(
            f"pairs whose chosen reply has the lower score: {len(turned)}, the first in {turned[0]}; chosen counts, "
            "and not the score"
        )
    return told
