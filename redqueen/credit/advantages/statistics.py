"""Advantage estimators: a key (which results are compared) and a statistic (how).

| method                   | estimator                                                                     |
|--------------------------|-------------------------------------------------------------------------------|
| GRPO                     | `GroupRelative(by_group)`                                                     |
| Dr. GRPO                 | `GroupRelative(by_group, divide_by_deviation=False)`                          |
| Lite PPO                 | `GroupRelative(by_group, deviation_key=everything)`                           |
| TRR++ (Absolute Zero)    | `GroupRelative(by_kind_and_role)`                                             |
| RLOO                     | `LeaveOneOut()`                                                               |
| TRLOO                    | `LeaveOneOut(by_group_and_turn, RewardToGo())`                                |
| REINFORCE++              | `Whitened(Unbaselined(RewardToGo()))`                                         |
| REINFORCE++-baseline     | `Whitened(GroupRelative(by_group, divide_by_deviation=False))`                |
| OPO                      | `LengthWeighted()`                                                            |
| GDPO                     | `Whitened(EachPart())`                                                        |
| GRPO pass@k              | `BestOnly()`                                                                  |
| RAE (SPIRAL)             | `MovingBaseline(by_game_and_role, decay=0.95)`                                |
| MARS, turn level         | `centred_turns()`                                                             |
| PPO                      | `Whitened(GeneralizedAdvantage(critic, discount, decay))`                     |

An estimator takes M samples from its trajectories: one for each trajectory where `returns` gives
[1] (`total`; every turn then receives the same advantage), one for each turn where it gives [N]
(`RewardToGo`). A key sees a sample's trajectory and the index of its turn (0 for `total`, so keys
that look at the turn want `RewardToGo`).

A sample that is alone under its key has advantage zero (verl passes the raw return on instead, which gives a
lone row the largest advantage of its batch). Samples that are all equal get exactly zero, without rounding error.

A trajectory without a verdict (a reward of NaN) is in no mean and no deviation. Its advantages are NaN, and `pack`
leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from redqueen.credit.advantages.keys import (
    by_game_and_role,
    by_group,
    by_kind_or_group,
    everything,
)
from redqueen.protocols import COUNT, FINITE, AdvantageEstimator, Critic, Key, Row, State, shaped
from redqueen.types import Damaged, Metrics, RedQueenError, Trajectory, Turn, tuples

Returns = Callable[[Trajectory], np.ndarray]  # [1], one for the whole trajectory, or [N], one for each turn


def total(trajectory: Trajectory) -> np.ndarray:
    """[1], the sum of a trajectory's rewards."""
    return np.array([trajectory.rewards.sum()])


@dataclass(frozen=True)
class RewardToGo:
    """[N], the discounted rewards of each turn and the turns after it: G(k) = r(k) + discount * G(k + 1)."""

    discount: float = 1.0  # per turn of the seat, not per token

    def __call__(self, trajectory: Trajectory) -> np.ndarray:
        returns = np.array(trajectory.rewards, dtype=np.float64)
        for k in reversed(range(len(returns) - 1)):
            returns[k] += self.discount * returns[k + 1]
        return returns


@dataclass(frozen=True)
class _Samples:
    """The returns of the trajectories that have a verdict, laid end to end, M in all."""

    values: np.ndarray  # [M] float
    places: tuple[tuple[Trajectory, int], ...]  # [M] the trajectory and the turn of each
    counts: tuple[int, ...]  # how many came from each of them
    turns: tuple[int, ...]  # N of each trajectory, also of those without a verdict
    known: tuple[bool, ...]  # which trajectories have a verdict

    def groups(self, key: Key) -> np.ndarray:
        """[M] int, equal numbers for samples with equal keys."""
        numbers: dict[Hashable, int] = {}
        found = [numbers.setdefault(key(*place), len(numbers)) for place in self.places]
        return np.array(found, dtype=np.int64)

    def spread(self, advantages: np.ndarray) -> list[np.ndarray]:
        """[N] for each trajectory, NaN without a verdict; a trajectory's single sample goes to all its turns."""
        parts = iter(np.split(advantages, np.cumsum(self.counts)[:-1]) if self.counts else [])
        each = zip(self.turns, self.known, strict=True)
        return [_spread(next(parts), turns) if known else np.full(turns, np.nan) for turns, known in each]


def _spread(part: np.ndarray, turns: int) -> np.ndarray:
    return part.copy() if len(part) == turns else np.full(turns, part[0])


def _samples(trajectories: Sequence[Trajectory], values: Sequence[np.ndarray]) -> _Samples:
    """Samples of the trajectories' `values`, [1] or [N] each."""
    places: list[tuple[Trajectory, int]] = []
    kept: list[np.ndarray] = []
    for trajectory, value in zip(trajectories, values, strict=True):
        turns = len(trajectory.turns)
        assert value.shape in ((1,), (turns,)), f"returns must be [1] or [{turns}], not {list(value.shape)}"
        if not np.isnan(value).any():
            places.extend((trajectory, k) for k in range(len(value)))
            kept.append(value)
    return _Samples(
        np.concatenate(kept).astype(np.float64) if kept else np.zeros(0),
        tuple(places),
        tuple(len(value) for value in kept),
        tuple(len(trajectory.turns) for trajectory in trajectories),
        tuple(not np.isnan(value).any() for value in values),
    )


def _centred(values: np.ndarray, groups: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[M] each: the values minus the weighted mean of their group, and the weight of their group."""
    _, first, groups = np.unique(groups, return_index=True, return_inverse=True)
    shifted = values - values[first][groups]  # exactly zero where a group is even
    weight = np.bincount(groups, weights)
    mean = np.bincount(groups, weights * shifted) / weight
    return shifted - mean[groups], weight[groups]


def _deviation(centred: np.ndarray, groups: np.ndarray, weights: np.ndarray, ddof: int) -> np.ndarray:
    """[M] the standard deviation of each sample's group; zero where a group is too small to have one."""
    squares, weight = np.bincount(groups, weights * centred**2), np.bincount(groups, weights)
    freedom = weight - ddof
    deviation = np.sqrt(np.divide(squares, freedom, out=np.zeros(len(squares)), where=freedom > 0))
    return np.asarray(deviation[groups])


@dataclass(frozen=True)
class Unbaselined:
    """The return itself (REINFORCE)."""

    returns: Returns = total

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        samples = _samples(trajectories, [self.returns(trajectory) for trajectory in trajectories])
        return samples.spread(samples.values)


@dataclass(frozen=True)
class GroupRelative:
    """Return minus the mean of its group, over the deviation of its group (GRPO, Shao et al. 2024):

        A = (R - mean) / (max(deviation, deviation_floor) + epsilon)

    Undivided it is Dr. GRPO (Liu et al. 2025): dividing turns a tiny difference within a group into an
    advantage of about one. With `deviation_key=everything` the mean is of the group and the
    deviation of the batch (Lite PPO).
    """

    key: Key = by_group
    returns: Returns = total
    divide_by_deviation: bool = True
    epsilon: float = 1e-6  # TRL 1e-4, AReaL 1e-5, OpenRLHF 1e-9
    ddof: int = 1
    deviation_floor: float = 0.0
    deviation_key: Key | None = None  # whose deviation; the group's own if None

    def __post_init__(self) -> None:
        how = (self.epsilon, self.ddof, self.deviation_floor, self.deviation_key)
        if not self.divide_by_deviation and how != (1e-6, 1, 0.0, None):
            raise RedQueenError(
                "epsilon, ddof, deviation_floor and deviation_key say how to divide by a deviation: leave them out, "
                "or set divide_by_deviation=True"
            )
        if self.epsilon <= 0.0:
            raise RedQueenError(f"epsilon must be positive, not {self.epsilon}: an even group has no deviation")

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        samples = _samples(trajectories, [self.returns(trajectory) for trajectory in trajectories])
        ones = np.ones_like(samples.values)
        groups = samples.groups(self.key)
        advantages, _ = _centred(samples.values, groups, ones)
        if self.divide_by_deviation:
            spread, around = groups, advantages
            if self.deviation_key is not None:
                spread = samples.groups(self.deviation_key)
                around, _ = _centred(samples.values, spread, ones)
            deviation = np.maximum(_deviation(around, spread, ones, self.ddof), self.deviation_floor)
            advantages = advantages / (deviation + self.epsilon)
        return samples.spread(advantages)


per_kind_or_group = GroupRelative(by_kind_or_group)


@dataclass(frozen=True)
class LeaveOneOut:
    """Return minus the mean of the others in its group (RLOO, Ahmadian et al. 2024).

    With `RewardToGo` take a key that looks at the turn (TRLOO): otherwise a trajectory's other turns
    are among "the others", and its own reward is part of its baseline.
    """

    key: Key = by_group
    returns: Returns = total

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        samples = _samples(trajectories, [self.returns(trajectory) for trajectory in trajectories])
        centred, size = _centred(samples.values, samples.groups(self.key), np.ones_like(samples.values))
        return samples.spread(centred * size / np.maximum(size - 1, 1))


@dataclass(frozen=True)
class LengthWeighted:
    """Return minus the mean of its group weighted by length, sum of L R / sum of L (OPO, Hao et al. 2025): the baseline
    of least variance where the gradient of a reply grows with its length. L is `count` summed over the turns."""

    key: Key = by_group
    count: Callable[[Turn], float] | None = None  # `by_tokens` if None

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        samples = _samples(trajectories, [total(trajectory) for trajectory in trajectories])
        count = self.count or by_tokens
        lengths = np.array([sum(map(count, trajectory.turns)) for trajectory, _ in samples.places])
        centred, _ = _centred(samples.values, samples.groups(self.key), lengths)
        return samples.spread(centred)


@dataclass(frozen=True)
class BestOnly:
    """The largest return of a group minus the second largest, for the best attempt, and zero for the others (GRPO
    pass@k, as in verl): zero for all where two are best. With `divide_by_deviation`, over the deviation of the group
    plus `epsilon`."""

    key: Key = by_group
    divide_by_deviation: bool = False
    epsilon: float = 1e-6

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        samples = _samples(trajectories, [total(trajectory) for trajectory in trajectories])
        groups, ones = samples.groups(self.key), np.ones_like(samples.values)
        advantages = np.zeros_like(samples.values)
        for group in range(int(groups.max(initial=-1)) + 1):
            places = np.flatnonzero(groups == group)
            if len(places) > 1:
                second, best = places[np.argsort(samples.values[places], kind="stable")[-2:]]
                advantages[best] = samples.values[best] - samples.values[second]
        if self.divide_by_deviation:
            around, _ = _centred(samples.values, groups, ones)
            advantages = advantages / (_deviation(around, groups, ones, 1) + self.epsilon)
        return samples.spread(advantages)


@dataclass(frozen=True)
class EachPart:
    """The sum of what `inner` says of each part of the reward by itself, among the trajectories that have it, so that a
    part with a small spread counts as much as one with a large one (GDPO, Liu et al. 2026, before it is whitened over
    the tokens of the batch). A reward without parts is the part "task". Raises RedQueenError where all have one part.
    """

    inner: AdvantageEstimator = GroupRelative()

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        parts = [each.parts or {"task": each.rewards} for each in trajectories]
        if trajectories and max(map(len, parts)) < 2:
            raise RedQueenError(
                "GDPO compares each part of a reward by itself, and this reward has one part: take --estimator group"
            )
        found = [np.zeros(len(each.turns)) for each in trajectories]
        for name in dict.fromkeys(name for own in parts for name in own):
            places = [place for place, own in enumerate(parts) if name in own]
            alone = self.inner([replace(trajectories[place], rewards=parts[place][name]) for place in places])
            for place, advantages in zip(places, alone, strict=True):
                found[place] = found[place] + advantages
        return found


def centred_turns(key: Key = by_game_and_role, discount: float = 1.0) -> GroupRelative:
    """MARS's turn-level estimator (2510.15414): reward-to-go of each turn, minus its mean over all turns
    of the batch with the same game and role, without division by a deviation. Sum first, then centre.

    The key is its agent-specific normalisation; `everything` turns that off. This is the paper's
    estimator: the released code whitens token rewards before summing them, takes means over distinct values
    and divides by a deviation, which makes credit depend on length.
    """
    return GroupRelative(key, RewardToGo(discount), divide_by_deviation=False)


class MovingBaseline:
    """Return minus a moving average kept for its key (RAE of SPIRAL, 2506.24119):

        A = R - b[key],   b[key] <- decay * b[key] + (1 - decay) * R

    Trajectories are counted one by one in their order. The average starts at zero, as in the paper, and
    is biased to zero for its first 3 / (1 - decay) results; `debias` corrects this by dividing by 1 - decay^n.
    """

    def __init__(
        self, key: Key = by_game_and_role, decay: float = 0.95, returns: Returns = total, debias: bool = False
    ) -> None:
        if not 0.0 <= decay < 1.0:
            raise RedQueenError(f"the decay of a moving baseline must be at least 0 and below 1, not {decay}")
        self.key, self.decay, self.returns, self.debias = key, decay, returns, debias
        self._averages: dict[Hashable, tuple[float, int]] = {}  # the average, and how many results made it

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        samples = _samples(trajectories, [self.returns(trajectory) for trajectory in trajectories])
        baselines = np.zeros_like(samples.values)
        start = 0
        for count in samples.counts:
            own = range(start, start + count)
            keys = [self.key(*samples.places[at]) for at in own]
            # read before it is updated, so that a reward is never part of its own baseline
            baselines[start : start + count] = [self.baseline(key) for key in keys]
            for at, key in zip(own, keys, strict=True):
                average, seen = self._averages.get(key, (0.0, 0))
                result = float(samples.values[at])
                self._averages[key] = (self.decay * average + (1.0 - self.decay) * result, seen + 1)
            start += count
        return samples.spread(samples.values - baselines)

    def baseline(self, key: Hashable) -> float:
        """The current average for `key`; zero if nothing was seen yet."""
        average, seen = self._averages.get(key, (0.0, 0))
        return average / (1.0 - self.decay**seen) if self.debias and seen else average

    def state(self) -> State:
        """The averages as lists, numbers and strings: exact through JSON."""
        return {"averages": [[key, average, seen] for key, (average, seen) in self._averages.items()]}

    def restore(self, state: State) -> None:
        shaped(state, {"averages": [Row(object, FINITE, COUNT)]}, "the moving averages: ")
        keys = [key for key, _, _ in state["averages"]]
        for number, key in enumerate(keys):
            if _form(key) != _form(keys[0]):
                raise Damaged(f"the moving averages: .averages[{number}][0] must be a key like {keys[0]!r:.60}")
        self._averages = {tuples(key): (average, seen) for key, average, seen in state["averages"]}


def _form(key: Any) -> Any:
    """What the keys of one kind of average have in common: for each part the types in it."""
    return [_types(part) for part in key] if isinstance(key, list | tuple) else _types(key)


def _types(part: Any) -> set[str]:
    return set().union(*map(_types, part)) if isinstance(part, list | tuple) else {type(part).__name__}


def by_tokens(turn: Turn) -> float:
    """The number of tokens of a turn; 1 for scripted replies, which have none."""
    return float(max(len(turn.reply.tokens), 1))


def by_turns(turn: Turn) -> float:
    """1: every turn counts once."""
    return 1.0


@dataclass(frozen=True)
class Whitened:
    """The advantages of `inner`, shifted and scaled to mean 0 and deviation 1 over the batch:

        A = (A' - mean) / sqrt(variance + epsilon)

    REINFORCE++ and PPO whiten over the tokens of the batch (`by_tokens`), so long turns dominate the
    mean and the variance. With a key each of its groups is whitened separately. Without `divide_by_deviation` the
    advantages are only shifted.
    """

    inner: AdvantageEstimator
    key: Key = everything
    count: Callable[[Turn], float] = by_tokens
    epsilon: float = 1e-8
    ddof: int = 1  # 0 in OpenRLHF
    divide_by_deviation: bool = True

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        samples = _samples(trajectories, self.inner(trajectories))
        weights = np.array([self.count(trajectory.turns[k]) for trajectory, k in samples.places])
        groups = samples.groups(self.key)
        centred, _ = _centred(samples.values, groups, weights)
        if not self.divide_by_deviation:
            return samples.spread(centred)
        variance = _deviation(centred, groups, weights, self.ddof) ** 2
        return samples.spread(centred / np.sqrt(variance + self.epsilon))


def generalized_advantages(
    rewards: np.ndarray, values: np.ndarray, mask: np.ndarray, discount: float, decay: float
) -> np.ndarray:
    """[T] advantages by GAE (Schulman et al. 2016), zero where the mask is zero:

        delta(t) = r(t) + discount * V(t') - V(t),   A(t) = delta(t) + discount * decay * A(t')

    where t' is the next position within the mask: positions between are skipped, so that the
    discount counts the policy's own positions only and values elsewhere are not read. After the last one the
    value is zero, since the episode is over. `rewards`, `values` and `mask` are [T].
    """
    assert not np.any(rewards[~mask.astype(bool)]), "a reward outside the mask would be lost"
    advantages = np.zeros(len(rewards))
    next_value, next_advantage = 0.0, 0.0
    for t in reversed(np.flatnonzero(mask)):
        delta = rewards[t] + discount * next_value - values[t]
        next_value, next_advantage = values[t], delta + discount * decay * next_advantage
        advantages[t] = next_advantage
    return advantages


@dataclass(frozen=True)
class GeneralizedAdvantage:
    """GAE over the turns of a seat, with a critic's values before each of them.

    `discount` is gamma and `decay` lambda, both per turn. With both at one it is reward-to-go minus the critic's value.
    """

    critic: Critic
    discount: float = 1.0
    decay: float = 1.0

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        return self.with_targets(trajectories)[0]

    def with_targets(self, trajectories: Sequence[Trajectory]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The advantages, and the targets for `Critic.update` (advantage plus value, never whitened), [N] each
        for each trajectory. The critic is called once; `Whitened(lambda _: advantages)` whitens the result."""
        values = self.critic.values(trajectories)
        advantages = [
            generalized_advantages(
                trajectory.rewards, value, np.ones(len(value), dtype=bool), self.discount, self.decay
            )
            for trajectory, value in zip(trajectories, values, strict=True)
        ]
        known = [np.nan_to_num(advantage) for advantage in advantages]  # without a verdict a critic stays as it is
        return advantages, [advantage + value for advantage, value in zip(known, values, strict=True)]


class WithCritic:
    """Advantages by GAE over a critic that is taught what each batch came to: PPO's estimator.

    `whiten` shifts and scales them over the tokens of the batch. The critic is asked once a batch; `update` moves it
    towards the targets of the trajectories whose advantages were estimated last.
    """

    def __init__(self, critic: Critic, discount: float = 1.0, decay: float = 1.0, whiten: bool = True) -> None:
        self.critic = critic
        self._inner = GeneralizedAdvantage(critic, discount, decay)
        self._whiten = whiten
        self._seen: tuple[Sequence[Trajectory], list[np.ndarray]] = ((), [])

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        expected, targets = self._inner.with_targets(trajectories)
        self._seen = (trajectories, targets)
        return Whitened(lambda _: expected)(trajectories) if self._whiten else expected

    def update(self) -> Metrics:
        """One step of the critic; returns what to log."""
        return self.critic.update(*self._seen)

    def state(self) -> State:
        return self.critic.state()

    def restore(self, state: State) -> None:
        self.critic.restore(state)
