"""Rewards for which the attempts at one task are looked at together, and what a proposer earns by the groups below it.

What a checker, a judge or an oracle said is a fact of an attempt; a reward is what that is worth.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from redqueen.checks.preferences import win_rates
from redqueen.credit.outcomes import number, numbers
from redqueen.types import Episode, Group, RedQueenError, Seat

OfGroup = dict[str, dict[Seat, np.ndarray]]  # by part and seat, [G] each


def for_its_seat(group: Group, parts: Mapping[str, Sequence[float] | np.ndarray]) -> OfGroup:
    """The parts of a reward, [G] each, for the one seat of a game that has no other."""
    (seat,) = {seat for episode in group.attempts for seat in episode.seats}
    return {name: {seat: np.asarray(values, dtype=np.float64)} for name, values in parts.items()}


@dataclass(frozen=True)
class Stated:
    """The number that a fact of each attempt is, such as its verdict (1 is right, 0 wrong); NaN where it is None."""

    fact: str = "right"

    def of_group(self, group: Group) -> OfGroup:
        missing = next((each for each in group.attempts if self.fact not in each.outcome.facts), None)
        if missing is not None:
            raise RedQueenError(f"an attempt at task {missing.task.id!r} has no fact {self.fact!r} to be rewarded by")
        return for_its_seat(group, {self.fact: numbers(group, self.fact)})


correct = Stated("right")


@dataclass(frozen=True)
class Correctness:
    """What each answer earns by its verdict (the fact `right`) and its format, NaN where nobody knows.

    The defaults are Absolute Zero's (2505.03335, eq. 6): a wrong answer that can be read is better than none.
    """

    right: float = 1.0
    wrong: float = -0.5
    malformed: float = -1.0

    def of_group(self, group: Group) -> OfGroup:
        ((seat, verdicts),) = correct.of_group(group)["right"].items()
        malformed = [episode.turns[-1].reply.malformed for episode in group.attempts]
        earned = np.where(verdicts == 1.0, self.right, np.where(malformed, self.malformed, self.wrong))
        return {"correctness": {seat: np.where(np.isnan(verdicts), np.nan, earned)}}


@dataclass(frozen=True)
class WithForm:
    """The number that a fact of each attempt is and its form, 1 for a reply in the stated format that was not cut off,
    of which `form` is the share: R = (1 - form) fact + form (R-Zero one tenth, MAE one half)."""

    form: float
    fact: str = "right"

    def of_group(self, group: Group) -> OfGroup:
        replies = [episode.turns[-1].reply for episode in group.attempts]
        kept = np.array([float(not (reply.malformed or reply.truncated)) for reply in replies])
        return for_its_seat(
            group, {self.fact: (1.0 - self.form) * numbers(group, self.fact), "format": self.form * kept}
        )


@dataclass(frozen=True)
class WinRate:
    """The share of comparisons that each attempt wins against the others of its group (the fact `wins`, one chance for
    each attempt); `beside_itself` counts itself as one half (SPPO). NaN for one that was compared with nobody."""

    beside_itself: bool = False

    def of_group(self, group: Group) -> OfGroup:
        matrix = np.array([[number(chance) for chance in each.outcome.facts["wins"]] for each in group.attempts])
        return for_its_seat(group, {"win_rate": win_rates(matrix, self.beside_itself)})


@dataclass(frozen=True, eq=False)
class FromBelow:
    """What a proposal earns by the group of attempts at what it proposed: by the name of each part one number for each
    of the groups, which goes to its parent. `refused` is what a proposal earns that no group was played at."""

    groups: Sequence[Group]
    parts: Mapping[str, Sequence[float] | np.ndarray]
    refused: float = 0.0

    def of_group(self, group: Group) -> OfGroup:
        below = [self._places.get(_name(episode)) for episode in group.attempts]
        earned = {
            name: [0.0 if place is None else values[place] for place in below] for name, values in self.parts.items()
        }
        if self.refused:
            earned["refused"] = [self.refused if place is None else 0.0 for place in below]
        return for_its_seat(group, earned)

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        """The place of the group below each parent."""
        places = {_name(each.parent): place for place, each in enumerate(self.groups) if each.parent is not None}
        if len(places) < len(self.groups):
            raise RedQueenError("each group below a proposal needs a parent of its own: attempts(..., parents=...)")
        return places


def _name(episode: Episode) -> Hashable:
    """What an episode is known by when facts were added to it."""
    return (episode.game, episode.task.id, episode.seed)
