"""Rewards of a group as a whole, and of a proposer by the groups of attempts at its proposals.

The verdict of a checker, a judge or an oracle is a fact of an attempt; a reward maps facts to numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from redqueen.checks.preferences import win_rates
from redqueen.credit.outcomes import as_numbers, number, numbers
from redqueen.types import Episode, Group, RedQueenError, Seat

OfGroup = dict[str, dict[Seat, np.ndarray]]  # by part and seat, [G] each


def for_its_seat(group: Group, parts: Mapping[str, Sequence[float] | np.ndarray]) -> OfGroup:
    """The `parts` of a reward, [G] each, for the single seat of a game. Raises RedQueenError for what is no number."""
    (seat,) = {seat for episode in group.attempts for seat in episode.seats}
    return {name: {seat: as_numbers(values, name)} for name, values in parts.items()}


@dataclass(frozen=True)
class Stated:
    """A fact of each attempt as its reward, such as its verdict (1 right, 0 wrong); NaN where it is None. Raises
    RedQueenError for an attempt without the fact."""

    fact: str = "right"

    def of_group(self, group: Group) -> OfGroup:
        missing = next((each for each in group.attempts if self.fact not in each.outcome.facts), None)
        if missing is not None:
            raise RedQueenError(f"an attempt at task {missing.task.id!r} has no fact {self.fact!r} to be rewarded by")
        return for_its_seat(group, {self.fact: numbers(group, self.fact)})


correct = Stated("right")


@dataclass(frozen=True)
class Correctness:
    """The reward of each answer by its verdict (the fact `right`) and its format, NaN without a verdict.

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
    """R = (1 - form) * fact + form * f, where f is 1 for a reply in the stated format that was not cut off, else 0
    (`form`: R-Zero 0.1, MAE 0.5)."""

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
    """The share of comparisons that each attempt wins against the others of its group (the fact `wins`, one probability
    for each attempt); `beside_itself` counts itself as one half (SPPO). NaN for one without comparisons."""

    beside_itself: bool = False

    def of_group(self, group: Group) -> OfGroup:
        matrix = np.array([[number(chance) for chance in each.outcome.facts["wins"]] for each in group.attempts])
        return for_its_seat(group, {"win_rate": win_rates(matrix, self.beside_itself)})


@dataclass(frozen=True, eq=False)
class FromBelow:
    """The reward of proposals by the groups of attempts at them: each of `parts` has one number for each of `groups`,
    which goes to the group's parent. `refused` is the reward of a proposal without a group."""

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
        """The index of the group of each parent."""
        places = {_name(each.parent): place for place, each in enumerate(self.groups) if each.parent is not None}
        if len(places) < len(self.groups):
            raise RedQueenError("each group below a proposal needs a parent of its own: attempts(..., parents=...)")
        return places


def _name(episode: Episode) -> Hashable:
    """A name of an episode that stays the same when facts are added."""
    return (episode.game, episode.task.id, episode.seed)
