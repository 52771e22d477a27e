"""Pairs from trajectories: which of two replies to one prompt is to become likelier than the other.

Every rule takes trajectories with rewards (a grade, or the share of comparisons won) and gives the chosen and the
rejected ones, in the order of their prompts. A tie is no pair.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from difflib import SequenceMatcher
from itertools import combinations

from redqueen.credit.advantages.keys import by_group
from redqueen.credit.rewards import with_verdict
from redqueen.protocols import Key
from redqueen.types import Trajectory

Pairs = tuple[list[Trajectory], list[Trajectory]]
Pairing = Callable[[Sequence[Trajectory], Key], Pairs]


def best_and_worst(trajectories: Sequence[Trajectory], key: Key = by_group) -> Pairs:
    """Of each group the best and the worst rewarded, the first of equals (SPPO, iterative DPO)."""
    ends = [(max(group, key=_reward), min(group, key=_reward)) for group in _groups(trajectories, key)]
    return _unequal(ends)


def every_pair(trajectories: Sequence[Trajectory], key: Key) -> Pairs:
    """Of each group all pairs of unequal reward."""
    return _unequal([pair for group in _groups(trajectories, key) for pair in combinations(group, 2)])


def closest(trajectories: Sequence[Trajectory], key: Key) -> Pairs:
    """Of each group the two of unequal reward whose texts differ least, so that they differ in what matters (SPaR,
    arXiv:2412.11605); the first of equals."""
    found = []
    for group in _groups(trajectories, key):
        unequal = [pair for pair in combinations(group, 2) if _reward(pair[0]) != _reward(pair[1])]
        found += [max(unequal, key=lambda pair: likeness(*map(_text, pair)))] if unequal else []
    return _unequal(found)


def against(gold: Sequence[Trajectory], own: Sequence[Trajectory]) -> Pairs:
    """What people wrote is chosen, what the policy wrote to the same task is rejected (SPIN): `gold[n]` and `own[n]`
    are of one task. Where both say the same there is nothing to tell apart."""
    pairs = [(one, other) for one, other in zip(gold, own, strict=True) if _text(one) != _text(other)]
    return [one for one, _ in pairs], [other for _, other in pairs]


def margins(chosen: Sequence[Trajectory], rejected: Sequence[Trajectory]) -> list[float]:
    """How much higher each chosen one is rewarded than the rejected one: for `pack_pairs`."""
    return [_reward(one) - _reward(other) for one, other in zip(chosen, rejected, strict=True)]


def likeness(one: str, other: str) -> float:
    """From 0 to 1 for equal texts: twice the characters in common, in their order, over all characters."""
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _groups(trajectories: Sequence[Trajectory], key: Key) -> list[list[Trajectory]]:
    """Those that have a verdict, by their keys."""
    groups: dict[Hashable, list[Trajectory]] = defaultdict(list)
    for trajectory in with_verdict(trajectories):
        groups[key(trajectory, 0)].append(trajectory)
    return list(groups.values())


def _unequal(pairs: Sequence[tuple[Trajectory, Trajectory]]) -> Pairs:
    """The better one first; ties left out."""
    ordered = [pair if _reward(pair[0]) > _reward(pair[1]) else pair[::-1] for pair in pairs]
    kept = [(better, worse) for better, worse in ordered if _reward(better) > _reward(worse)]
    return [better for better, _ in kept], [worse for _, worse in kept]


def _reward(trajectory: Trajectory) -> float:
    return float(trajectory.rewards.sum())


def _text(trajectory: Trajectory) -> str:
    return "\n".join(turn.reply.text for turn in trajectory.turns)
