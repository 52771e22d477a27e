"""The step that the settings of an `Update` describe, in the order of its stages.

step = LearningStep(config, [learner])

for _ in run.steps(config.steps, [learner], step.parts, measures):
    groups = list[Group]()
    for missing in step.rounds(groups, config.tasks):                       # play
        groups += judged(attempts(game, draw(missing), learner, config.attempts, run.rng))
    trajectories = step.shaped(score(groups, reward))                       # score
    advantages = step.estimate(trajectories)                                # estimate
    batch = step.pack(trajectories, advantages)                             # pack
    metrics = step.update(learner, batch, run.rng)                          # update
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np

from redqueen.credit.advantages.keys import by_game_and_role, by_group, everything
from redqueen.credit.advantages.statistics import (
    BestOnly,
    EachPart,
    GroupRelative,
    LeaveOneOut,
    LengthWeighted,
    MovingBaseline,
    RewardToGo,
    Unbaselined,
    Whitened,
    WithCritic,
)
from redqueen.credit.filters import drop_even_groups, even, mute_truncated
from redqueen.credit.rewards import OverlongPenalty, kl_in_reward, with_reward
from redqueen.measures.recitations import reference_logprobs
from redqueen.objectives.additive import Sum
from redqueen.objectives.batch import (
    ConstantMean,
    EachRow,
    Shares,
    beside,
    minibatches,
    pack,
    reweighed,
    row_mean,
    token_mean,
    trajectory_mean,
)
from redqueen.objectives.batch import Weigh as WeighRows
from redqueen.objectives.mismatch import RowMasked, TokenMasked, TokenTruncated, Vetoed, Weigh, corrected, figures
from redqueen.objectives.policy_gradient import Cispo, ClippedRatio, Gmpo, Gspo, Reinforce, Sapo
from redqueen.objectives.regularizers import ExactKL, KLPenalty, k2, k3, with_entropy
from redqueen.players.language.writing import on_this_machine
from redqueen.players.tabular import TabularPolicy
from redqueen.players.tabular_critic import TabularCritic
from redqueen.players.transformer.critic import ValueHead
from redqueen.protocols import AdvantageEstimator, Critic, Key, Objective, Policy, Resumable
from redqueen.settings.update import OF_ROWS, PRICED_PART, Update
from redqueen.types import Batch, Group, Metrics, Trajectory

MOST_ROUNDS = 3  # of drawing tasks anew for one step
CRITIC_RATES = (1e-3, 0.1)  # learning rates of a value head and of a table of values
MOVING_DECAY = 0.95  # SPIRAL's
ESTIMATORS = {"k2": k2, "k3": k3}


class LearningStep:
    """One step of the `policies` as `config.update` says, where it says nothing as `config.paper`. See the module.

    `key` says which results an estimator compares; `estimate` is the recipe's own estimator, which an `--estimator`
    replaces. `listed` says whether the legal replies are listed, so that the longest is one choice.
    """

    def __init__(
        self,
        config: Any,
        policies: Sequence[Policy],
        *,
        key: Key = by_group,
        estimate: AdvantageEstimator | None = None,
        listed: bool = False,
    ) -> None:
        config.update.check(config)
        self.settings: Update = config.update.over(type(config).paper)
        longest = config.learner.longest_reply(listed)
        self._key = key
        self._price = OverlongPenalty(longest, max(round(PRICED_PART * longest), 1))
        self._shares = shares_of(self.settings, longest)
        self._objective = objective_of(self.settings)
        self._estimate = estimate
        self.parts: list[Resumable] = []  # what the step keeps from batch to batch: a moving baseline, a critic
        if self.settings.estimator is not None:
            self._estimate, self.parts = estimator_of(self.settings, policies[0], key)
        self._critics = [each for each in self.parts if isinstance(each, WithCritic)]
        self._starts = {policy.name: policy.freeze() for policy in policies} if self.settings.kl else {}

    def rounds(self, groups: Sequence[Group], count: int) -> Iterator[int]:
        """How many tasks to draw: `count`, and with `--even-groups refill` again as many as there are even groups among
        the `groups` so far, in at most 3 rounds."""
        yield count
        for _ in range(MOST_ROUNDS - 1 if self.settings.even_groups == "refill" else 0):
            if missing := count - sum(not even(group) for group in groups):
                yield missing

    def shaped(self, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
        """The trajectories with all that they are paid: less the price of a long reply and of the distance from the
        start, as the settings say."""
        found = list(trajectories)
        if self.settings.truncated_loss == "price":
            found = with_reward(found, self._price, "overlong")
        if self.settings.kl and self.settings.kl_in == "reward":
            found = self._near_start(found, self.settings.kl)
        return found

    def _near_start(self, trajectories: Sequence[Trajectory], kl: float) -> list[Trajectory]:
        found = list(trajectories)
        for name, start in self._starts.items():
            places = [at for at, each in enumerate(found) if each.turns[0].reply.player == name]
            own = [found[at] for at in places]
            priced = kl_in_reward(own, reference_logprobs(start, own), kl) if own else []
            for at, each in zip(places, priced, strict=True):
                found[at] = each
        return found

    def estimate(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        """[N] for each trajectory: its advantages, muted and clipped as the settings say. Zero in an even group that is
        dropped, which is in no mean and no deviation."""
        assert self._estimate is not None, "a recipe names an estimator in Config.paper, or gives its own"
        kept = self._kept(trajectories)
        credited = dict(zip(map(id, kept), self._estimate(kept), strict=True))
        found = [credited[id(each)] if id(each) in credited else np.zeros(len(each.turns)) for each in trajectories]
        if self.settings.truncated_loss == "mute":
            found = mute_truncated(trajectories, found)
        if (most := self.settings.advantage_clip) is not None:
            found = [np.clip(each, -most, most) for each in found]
        return found

    def pack(self, trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray]) -> Batch:
        """The batch of one player's trajectories, with the loss weights that the settings say; without those of even
        groups that are dropped."""
        kept = set(map(id, self._kept(trajectories)))
        pairs = [pair for pair in zip(trajectories, advantages, strict=True) if id(pair[0]) in kept]
        return reweighed(pack([each for each, _ in pairs], [credit for _, credit in pairs]), self._shares)

    def _kept(self, trajectories: Sequence[Trajectory]) -> Sequence[Trajectory]:
        """The trajectories that are compared and learned from."""
        dropped = self.settings.even_groups in ("drop", "refill")
        return drop_even_groups(trajectories, self._key) if dropped else trajectories

    def update(self, policy: Policy, batch: Batch, rng: Random) -> Metrics:
        """Metrics of the last of `updates_per_batch` passes over the batch, in `minibatches` parts each; minibatches
        are drawn from `rng`. Where tokens are corrected, also how far their writer is (`mismatch.figures`)."""
        chosen, far = self.settings, dict[str, float]()
        if len(batch) and chosen.correct not in (None, "none"):
            start = policy.likelihoods(batch)
            far = figures(batch, start)
            batch = corrected(batch, start, weigh_of(chosen))
        if len(batch) and chosen.kl and chosen.kl_in != "reward":
            batch = beside(batch, self._starts[policy.name].likelihoods(batch))
        metrics: Metrics = {}
        for _ in range(chosen.updates_per_batch or 1):
            for part in minibatches(batch, chosen.minibatches or 1, self._shares, rng):
                metrics = policy.update(part, self._objective)
        return metrics | far

    def taught(self, trajectories: Sequence[Trajectory]) -> Metrics:
        """Metrics of the critic's step towards what the trajectories came to; empty without a critic."""
        found: Metrics = {}
        for critic in self._critics:
            found |= critic.update(self._kept(trajectories))
        return found


def estimator_of(chosen: Update, learner: Policy, key: Key) -> tuple[AdvantageEstimator, list[Resumable]]:
    """The estimator that the settings name, and what of it keeps something between batches; where it needs a critic,
    that is one on top of the `learner`."""
    divides = chosen.scale not in (None, "none")
    if chosen.estimator == "gae":
        with_critic = WithCritic(_critic(learner), whiten=divides)
        return with_critic, [with_critic]
    if chosen.estimator == "moving":
        moving = MovingBaseline(by_game_and_role, MOVING_DECAY)
        return (Whitened(moving) if divides else moving), [moving]
    return _without_memory(chosen, key, divides), []


def _without_memory(chosen: Update, key: Key, divides: bool) -> AdvantageEstimator:
    if chosen.estimator == "batch":
        return Whitened(Unbaselined(RewardToGo()), divide_by_deviation=divides)
    if chosen.estimator == "pass-at-k":
        return BestOnly(key, divide_by_deviation=divides)
    inner: dict[str, AdvantageEstimator] = {
        "leave-one-out": LeaveOneOut(key),
        "opo": LengthWeighted(key),
        "gdpo": EachPart(GroupRelative(key)),
    }
    if chosen.estimator in inner:
        found = inner[str(chosen.estimator)]
        return Whitened(found) if divides else found
    if chosen.scale == "batch":
        return GroupRelative(key, deviation_key=everything)
    return GroupRelative(key, divide_by_deviation=divides)


def _critic(learner: Policy) -> Critic:
    of_model, of_table = CRITIC_RATES
    if isinstance(learner, TabularPolicy):
        return TabularCritic(of_table)
    return ValueHead(on_this_machine(learner, "the critic reads its hidden states"), of_model)


def shares_of(chosen: Update, longest: int) -> Shares:
    """The loss weights that the settings name; `longest` is the most tokens of a reply."""
    rows: dict[str, WeighRows] = {"row": row_mean, "constant": ConstantMean(longest), "sum": ConstantMean(1)}
    if chosen.aggregate == "trajectory":
        return trajectory_mean
    return EachRow(rows.get(chosen.aggregate or "token", token_mean))


def objective_of(chosen: Update) -> Objective:
    """The loss that the settings name, with a KL penalty and an entropy bonus where they have a coefficient."""
    loss = _loss(chosen)
    if chosen.kl and chosen.kl_in != "reward":
        exact = chosen.kl_estimator == "exact"
        near = ExactKL(chosen.kl) if exact else KLPenalty(chosen.kl, ESTIMATORS[chosen.kl_estimator or "k3"])
        loss = Sum(loss, near)
    return with_entropy(loss, chosen.entropy or 0.0)


def _loss(chosen: Update) -> Objective:
    low, high = chosen.clip_low, chosen.clip_high
    if chosen.loss in ("reinforce", "sapo"):
        return Sapo() if chosen.loss == "sapo" else Reinforce()
    assert high is not None, f"the loss {chosen.loss} has an upper clip"
    if chosen.loss == "cispo":
        return Cispo(high, low)
    assert low is not None, f"the loss {chosen.loss} has a lower clip"
    if chosen.loss in OF_ROWS:
        return Gspo(low, high) if chosen.loss == "gspo" else Gmpo(low, high)
    return ClippedRatio(low, high, chosen.dual_clip)


def weigh_of(chosen: Update) -> Weigh:
    """The weights of tokens that were sampled otherwise than they are rated now."""
    found: dict[str, Weigh] = {"tis": TokenTruncated(), "mask": TokenMasked(), "row": Vetoed(RowMasked())}
    return found[str(chosen.correct)]
