"""A tournament as a ladder: everyone's rating, what evolution and the best mixture make of them, and the circles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from redqueen.measures.intervals import Interval
from redqueen.measures.ratings import cycles, evolved, nash_average, ratings
from redqueen.measures.tournament import Standings

HEADINGS = ("player", "Elo", "95 % interval", "alpha-rank", "95 % interval", "Nash share", "against it")


@dataclass(frozen=True)
class Ladder:
    """`rows` of text under `headings`, the strongest first; `notes` say what the table cannot."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def ladder(standings: Standings, seed: int) -> Ladder:
    """Ratings of everyone; for zero-sum scores also each player's share of the Nash average, and its score against that
    mixture. Raises RedQueenError where the extra `league` is not installed."""
    names, scores = standings.names(), standings.scores()
    shares_of = dict(zip(names, evolved(standings.scored, seed), strict=True))
    zero_sum = np.allclose(scores, -scores.T)
    shares, skills = nash_average(scores) if zero_sum else (np.full(len(names), np.nan),) * 2
    mixed, against = dict(zip(names, shares, strict=True)), dict(zip(names, skills, strict=True))
    rated = ratings(names, standings.won, seed)
    rows = [
        (
            each.player,
            f"{round(each.strength.mean):+d}",
            _bounds(each.strength, lambda bound: f"{round(bound):+d}"),
            f"{shares_of[each.player].mean:.3f}",
            _bounds(shares_of[each.player], lambda bound: f"{bound:.3f}"),
            f"{abs(mixed[each.player]):.3f}" if zero_sum else "",
            f"{against[each.player]:+.3f}" if zero_sum else "",
        )
        for each in rated
    ]
    circles = [f"{a} beats {b} beats {c} beats {a}" for a, b, c in cycles(names, standings.beats())]
    notes = [f"No order is right: {'; '.join(circles)}."] if circles else []
    if [each.player for each in rated] != names and not circles:
        notes.append(f"Ratings count matches won, not by how much: by mean score the order is {', '.join(names)}.")
    columns = len(HEADINGS) if zero_sum else 5
    return Ladder(HEADINGS[:columns], tuple(row[:columns] for row in rows), tuple(notes))


def _bounds(interval: Interval, written: Callable[[float], str]) -> str:
    return "too few deals" if interval.low == -inf else f"[{written(interval.low)}, {written(interval.high)}]"
