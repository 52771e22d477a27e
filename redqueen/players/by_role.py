"""Policies that were trained for different roles, as one player: each speaks where its role is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from redqueen.protocols import MayNotRead, Policy, has
from redqueen.types import Ask, Reply

T = TypeVar("T")


class ByRole:
    """The `others`, each in the role that it stands under, and `policy`, whose name and version it bears, in all
    further roles."""

    def __init__(self, policy: Policy, others: Mapping[str, Policy]) -> None:
        self._policy, self._others = policy, dict(others)

    @property
    def name(self) -> str:
        return self._policy.name

    @property
    def version(self) -> int:
        return self._policy.version

    @property
    def open(self) -> bool:
        return all(each.open for each in self._all())

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return self._answered(asks, lambda policy, own: policy.reply(own))

    def unreadable(self, ask: Ask) -> str:
        policy = self._others.get(ask.seat.role, self._policy)
        return policy.unreadable(ask) if has(policy, MayNotRead) else ""

    def probabilities(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        """[K] for each ask, by the policy of its role."""
        return self._answered(asks, lambda policy, own: policy.probabilities(own))

    def forget(self) -> None:
        for each in self._all():
            each.forget()

    def _all(self) -> list[Policy]:
        return [self._policy, *self._others.values()]

    def _answered(self, asks: Sequence[Ask], answer: Callable[[Policy, list[Ask]], list[T]]) -> list[T]:
        """What the policies answer to their own asks, in the order of all."""
        found: dict[int, T] = {}
        who = [self._others.get(ask.seat.role, self._policy) for ask in asks]
        for policy in {id(each): each for each in who}.values():
            places = [place for place, each in enumerate(who) if each is policy]
            found |= zip(places, answer(policy, [asks[place] for place in places]), strict=True)
        return [found[place] for place in range(len(asks))]
