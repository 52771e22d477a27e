"""Preference pairs from trajectories: the chosen and the rejected reply to one prompt.

Every function takes trajectories with rewards (a grade, or the share of comparisons won) and returns the chosen and
the rejected ones, in the order of their prompts. A tie is no pair. Nor are two equal texts, even where a noisy judge
rewarded them differently: they have nothing to tell apart, and are counted. Two that were written, as those of a file,
may say the same after different thoughts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from redqueen.credit.advantages.keys import by_group
from redqueen.credit.rewards import with_verdict
from redqueen.protocols import Key
from redqueen.texts import likeness
from redqueen.types import RedQueenError, Trajectory


@dataclass(frozen=True)
class Pairs:
    """`chosen[n]` and `rejected[n]` answer one prompt; `equal` pairs of equal texts were left out. It unpacks into its
    two sides."""

    chosen: list[Trajectory]
    rejected: list[Trajectory]
    equal: int = 0

    def __iter__(self) -> Iterator[list[Trajectory]]:
        return iter((self.chosen, self.rejected))

    @property
    def stated(self) -> list[float]:
        """By how much each chosen reply is better, as its data set says in a column `margin`. Raises RedQueenError
        where it does not say it of each pair."""
        known = [each.episode.task.facts.get("margin") for each in self.chosen]
        if lacking := sum(margin is None for margin in known):
            raise RedQueenError(
                f"{lacking} of {len(known)} pairs do not say by how much the chosen reply is better: step-apo needs a "
                "column margin of numbers above 0"
            )
        return [float(margin) for margin in known if margin is not None]

    def advantages(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        """[N] for each of `trajectories`, as `batch.pack_pairs` credits them: 1 where it is chosen, -1 where rejected,
        0 where it is in no pair."""
        credit = {id(each): sign for side, sign in zip(self, (1.0, -1.0), strict=True) for each in side}
        return [np.full(len(each.turns), credit.get(id(each), 0.0)) for each in trajectories]


Pairing = Callable[[Sequence[Trajectory], Key], Pairs]


def best_and_worst(trajectories: Sequence[Trajectory], key: Key = by_group) -> Pairs:
    """Pairs of the best and the worst rewarded of each group, the first of equals (SPPO, iterative DPO)."""
    ends = [(max(group, key=_reward), min(group, key=_reward)) for group in _groups(trajectories, key)]
    return _unequal(ends)


def every_pair(trajectories: Sequence[Trajectory], key: Key) -> Pairs:
    """All pairs of unequal reward of each group."""
    return _unequal([pair for group in _groups(trajectories, key) for pair in combinations(group, 2)])


def closest(trajectories: Sequence[Trajectory], key: Key) -> Pairs:
    """Of each group the pair of unequal reward whose texts differ least (SPaR, arXiv:2412.11605); the first of
    equals. A pair that is too long to be compared counts as the least alike."""
    found = []
    for group in _groups(trajectories, key):
        unequal = [pair for pair in combinations(group, 2) if _reward(pair[0]) != _reward(pair[1])]
        apart = [pair for pair in unequal if _text(pair[0]) != _text(pair[1])] or unequal[:1]
        found += [max(apart, key=lambda pair: likeness(*map(_text, pair)) or 0.0)] if apart else []
    return _unequal(found)


def against(gold: Sequence[Trajectory], own: Sequence[Trajectory]) -> Pairs:
    """Pairs of a human reply (chosen) and the policy's own (rejected), as in SPIN: `gold[n]` and `own[n]` are of one
    task."""
    return _apart(list(zip(gold, own, strict=True)))


def margins(chosen: Sequence[Trajectory], rejected: Sequence[Trajectory]) -> list[float]:
    """The difference in reward of each pair, for `pack_pairs`."""
    return [_reward(one) - _reward(other) for one, other in zip(chosen, rejected, strict=True)]


def _groups(trajectories: Sequence[Trajectory], key: Key) -> list[list[Trajectory]]:
    """The trajectories with a verdict, grouped by key."""
    groups: dict[Hashable, list[Trajectory]] = defaultdict(list)
    for trajectory in with_verdict(trajectories):
        groups[key(trajectory, 0)].append(trajectory)
    return list(groups.values())


def _unequal(pairs: Sequence[tuple[Trajectory, Trajectory]]) -> Pairs:
    """The better one first; ties left out, and equal texts."""
    ordered = [pair if _reward(pair[0]) > _reward(pair[1]) else pair[::-1] for pair in pairs]
    return _apart([(better, worse) for better, worse in ordered if _reward(better) > _reward(worse)])


def _apart(pairs: Sequence[tuple[Trajectory, Trajectory]]) -> Pairs:
    """The pairs of two different texts, or of two written ones with different thoughts."""
    kept = [(one, other) for one, other in pairs if _text(one) != _text(other) or _written(one) != _written(other)]
    return Pairs([one for one, _ in kept], [other for _, other in kept], len(pairs) - len(kept))


def _reward(trajectory: Trajectory) -> float:
    return float(trajectory.rewards.sum())


def _text(trajectory: Trajectory) -> str:
    return "\n".join(turn.reply.text for turn in trajectory.turns)


def _written(trajectory: Trajectory) -> str:
    """What was thought before the turns that somebody wrote."""
    return "\n".join(turn.reply.thought for turn in trajectory.turns if turn.reply.recited)
