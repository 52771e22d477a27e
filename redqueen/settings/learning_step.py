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

Where several policies learn, the last three are done for each with what it spoke:

    for policy, own in cast.spoken(step.shaped(trajectories)):
        advantages = step.estimate(own)
        batch = step.pack(own, advantages)
        metrics = step.update(policy, batch, run.rng)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
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
from redqueen.credit.durations import weighed_by_duration
from redqueen.credit.filters import drop_even_groups, even, in_band, mute_truncated, paid_or_score
from redqueen.credit.nearness import with_progress
from redqueen.credit.rewards import FormatBonus, OverlongByTurn, RepetitionPrice, kl_in_reward, with_reward
from redqueen.curricula.experience import Experience, informative, replays
from redqueen.curricula.hints import LEVELS, Attempt, Helped, share_hinted, with_hints
from redqueen.measures.recitations import Rates, reference_logprobs
from redqueen.objectives.additive import Sum, own_tokens
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
from redqueen.objectives.demonstrations import BesideDemonstrations, in_parts, sampled_alone
from redqueen.objectives.mismatch import (
    RowMasked,
    TokenMasked,
    TokenTruncated,
    Vetoed,
    Weigh,
    corrected,
    figures,
    refreshed_rows,
)
from redqueen.objectives.muted import top_entropy, without_covariance
from redqueen.objectives.policy_gradient import Cispo, ClippedRatio, Gmpo, Gspo, Reinforce, Sapo
from redqueen.objectives.regularizers import (
    EntropyTarget,
    ExactKL,
    KLPenalty,
    covariance_pull,
    k2,
    k3,
    with_entropy,
)
from redqueen.players.language.writing import Writer, on_this_machine
from redqueen.players.tabular import TabularPolicy
from redqueen.players.tabular_critic import TabularCritic
from redqueen.players.transformer.critic import ValueHead
from redqueen.protocols import AdvantageEstimator, Critic, Key, Objective, Policy, Resumable, State, has
from redqueen.schedules import linear
from redqueen.settings.chosen_replies import lists_replies
from redqueen.settings.update import OF_ROWS, PRICED_PART, Update
from redqueen.types import Batch, Group, Metrics, Trajectory, Turn

MOST_ROUNDS = 3  # of drawing tasks anew for one step
CRITIC_RATES = (1e-3, 0.1)  # learning rates of a value head and of a table of values
MOVING_DECAY = 0.95  # SPIRAL's
ESTIMATORS = {"k2": k2, "k3": k3}


class LearningStep:
    """One step of the `policies` as `config.update` says, where it says nothing as `config.paper`. See the module.

    `key` says which results an estimator compares; `estimate` is the recipe's own estimator, which an `--estimator`
    replaces. `listed` says whether the legal replies are listed, so that the longest is one choice. With `imitation`
    there may be demonstrations in a batch, whose loss has this coefficient. `joined` multiplies the deviation by which
    the advantages of a group are divided that an earlier attempt joined (alpha of R3, arXiv:2601.19620).
    `reference` is what the policies are pulled to; where it is left out, each is pulled to its start.
    """

    def __init__(
        self,
        config: Any,
        policies: Sequence[Policy],
        *,
        key: Key = by_group,
        estimate: AdvantageEstimator | None = None,
        listed: bool = False,
        imitation: float | None = None,
        joined: float = 1.0,
        reference: Rates | None = None,
    ) -> None:
        config.update.check(config)
        self.settings: Update = config.update.over(type(config).paper)
        listed = listed or (self.settings.aggregate == "constant" and lists_replies(config))
        longest = config.learner.longest_reply(listed)
        self._key = key
        self._joined = joined
        self._writers = {each.name: each for each in policies if isinstance(each, Writer)}
        self._price = OverlongByTurn(partial(self._limit, longest), PRICED_PART)
        self._shares = shares_of(self.settings, longest)
        self._imitation = imitation
        loss = objective_of(self.settings)
        self._objective = loss if imitation is None else BesideDemonstrations(loss)
        self._steps = vars(config).get("steps", 1)
        self.parts: list[Resumable] = []  # what the step keeps from batch to batch: a moving baseline, a critic
        self._estimates: dict[str, AdvantageEstimator] = {}
        for policy in policies:
            self._estimates[policy.name] = self._estimator(policy, key, estimate)
        self._replayed: list[tuple[Trajectory, np.ndarray]] = []  # what joined those estimated last
        self._experience = Experience() if self.settings.even_groups == "replay" else None
        self._hinted: float | None = None  # the share of the last groups that had a hint
        if self._experience is not None:
            self.parts.append(self._experience)
        target = self.settings.entropy_target
        self._target = None if target is None else EntropyTarget(target, self.settings.entropy or 0.0)
        self._updates = Updates()
        self.parts += [self._target] if self._target is not None else []
        self.parts += [self._updates] if self.settings.clip_high_end is not None else []
        self._references: dict[str, Rates] = (
            {policy.name: reference or policy.freeze() for policy in policies} if self.settings.kl else {}
        )

    def rounds(self, groups: Sequence[Group], count: int) -> Iterator[int]:
        """How many tasks to draw: `count`, and with `--even-groups refill` again as many as there are even groups among
        the `groups` so far, in at most 3 rounds."""
        yield count
        for _ in range(MOST_ROUNDS - 1 if self.settings.even_groups == "refill" else 0):
            if missing := count - sum(not even(group) for group in groups):
                yield missing

    def hinted(self, groups: Sequence[Group], helped: Helped, attempt: Attempt) -> list[Group]:
        """The groups; with `--even-groups hint` those that nobody solved are attempted again, with a hint by `helped`
        of up to 3 levels."""
        if self.settings.even_groups != "hint":
            return list(groups)
        found = with_hints(groups, helped, LEVELS, attempt)
        self._hinted = share_hinted(found)
        return found

    def shaped(self, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
        """The trajectories with all that they are paid: less the price of a long reply and of the distance from the
        start, of repeats, and with what form and progress earn, as the settings say."""
        found = list(trajectories)
        if self.settings.progress is not None:
            found = with_progress(found, self._key, paid_or_score, self.settings.progress)
        if self.settings.format_bonus:
            earned = [
                self.settings.format_gate is None or paid_or_score(each) >= self.settings.format_gate
                for each in trajectories
            ]
            found = with_reward(found, FormatBonus(self.settings.format_bonus), "format", earned)
        if self.settings.repetition is not None:
            found = with_reward(found, RepetitionPrice(self.settings.repetition), "repetition")
        if self.settings.truncated_loss == "price":
            found = with_reward(found, self._price, "overlong")
        if self.settings.kl and self.settings.kl_in == "reward":
            found = self._near_reference(found, self.settings.kl)
        return found

    def _limit(self, longest: int, turn: Turn) -> int | None:
        """Tokens of the longest reply at a turn, that of its role; None for one that is chosen from a list, and for
        what no policy of this step spoke. `longest` for a policy without roles."""
        writer = self._writers.get(_player(turn))
        if writer is None:
            return None if self._writers else longest
        spoken = writer.spoken_in(turn.ask.seat.role)
        return None if turn.ask.choices and spoken.constrain else spoken.limit

    def _near_reference(self, trajectories: Sequence[Trajectory], kl: float) -> list[Trajectory]:
        found = list(trajectories)
        for name, reference in self._references.items():
            places = [at for at, each in enumerate(found) if _speaker(each) == name]
            own = [found[at] for at in places]
            priced = kl_in_reward(own, reference_logprobs(reference, own), kl) if own else []
            for at, each in zip(places, priced, strict=True):
                found[at] = each
        return found

    def estimate(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        """[N] for each trajectory of one player: its advantages, muted and clipped as the settings say. Zero in an even
        group that is dropped, which is in no mean and no deviation. Where even groups are replayed, those who join them
        are compared with them here, and packed with them."""
        kept = self._kept(trajectories)
        again = self._again(kept)
        mixed = [*kept, *again]
        estimated = self._estimate_of(mixed)(mixed)
        if self._joined != 1.0:
            repaired = {self._key(each, 0) for each in again}
            pairs = zip(mixed, estimated, strict=True)
            estimated = [own / self._joined if self._key(each, 0) in repaired else own for each, own in pairs]
        credited = dict(zip(map(id, mixed), self._scaled(mixed, estimated), strict=True))
        self._replayed = [(each, credited[id(each)]) for each in again]
        return [credited[id(each)] if id(each) in credited else np.zeros(len(each.turns)) for each in trajectories]

    def _again(self, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
        """Earlier attempts that join the even groups, after which these are kept too."""
        if self._experience is None:
            return []
        found = replays(trajectories, self._experience, self._key, paid_or_score)
        self._experience.add(trajectories, self._experience.next_step)
        return found

    def _scaled(self, trajectories: Sequence[Trajectory], advantages: Sequence[np.ndarray]) -> list[np.ndarray]:
        found = list(advantages)
        if (largest := self.settings.amplify) is not None:
            factor = min(informative(trajectories, self._key, paid_or_score), largest)
            found = [each * factor for each in found]
        if (longest := self.settings.weigh_durations) is not None:
            found = weighed_by_duration(trajectories, found, longest)
        if self.settings.truncated_loss == "mute":
            found = mute_truncated(trajectories, found)
        if (most := self.settings.advantage_clip) is not None:
            found = [np.clip(each, -most, most) for each in found]
        return found

    def pack(
        self,
        trajectories: Sequence[Trajectory],
        advantages: Sequence[np.ndarray],
        recited: Sequence[Trajectory] = (),
    ) -> Batch:
        """The batch of one player's trajectories, with the loss weights that the settings say; without those of even
        groups that are dropped. `recited` demonstrations stand below them, for the part of the loss that imitates."""
        kept = set(map(id, self._kept(trajectories)))
        pairs = [pair for pair in zip(trajectories, advantages, strict=True) if id(pair[0]) in kept]
        pairs += self._replayed
        own, credit = [each for each, _ in pairs], [given for _, given in pairs]
        ones = [np.ones(len(each.turns)) for each in recited]
        return self._weighed(pack([*own, *recited], [*credit, *ones]))

    def _weighed(self, batch: Batch) -> Batch:
        """The batch with loss weights as if it were a whole of its own: of what was sampled as the settings say, of
        demonstrations in the same proportions, their coefficient in all."""
        if self._imitation is None:
            return reweighed(batch, self._shares)
        return in_parts(batch, self._shares, self._imitation)

    def _estimator(self, policy: Policy, key: Key, own: AdvantageEstimator | None) -> AdvantageEstimator:
        if self.settings.estimator is not None:
            found, parts = estimator_of(self.settings, policy, key)
            self.parts += parts
            return found
        assert own is not None, "a recipe names an estimator in Config.paper, or gives its own"
        self.parts = [own] if has(own, Resumable) else []
        return own

    def _estimate_of(self, trajectories: Sequence[Trajectory]) -> AdvantageEstimator:
        """That of the player who spoke these trajectories; a past self has its policy's."""
        names = [*map(_speaker, trajectories[:1]), *self._estimates]
        return self._estimates[names[0]]

    def _kept(self, trajectories: Sequence[Trajectory]) -> Sequence[Trajectory]:
        """The trajectories that are compared and learned from."""
        if self.settings.even_groups in ("drop", "refill"):
            trajectories = drop_even_groups(trajectories, self._key, paid_or_score)
        if self.settings.group_band is not None:
            trajectories = in_band(trajectories, self.settings.group_band, self._key, paid_or_score)
        return trajectories

    @property
    def _looks_first(self) -> bool:
        """Whether an update needs the policy's likelihoods as it begins."""
        chosen = self.settings
        far = chosen.correct not in (None, "none") or bool(self._replayed)
        return far or any(
            each is not None for each in (chosen.top_entropy, chosen.mute_covariance, chosen.entropy_target)
        )

    def update(self, policy: Policy, batch: Batch, rng: Random, passes: int | None = None) -> Metrics:
        """Metrics of the last of `passes` (as many as `updates_per_batch` says) over the batch, in `minibatches` parts
        each; minibatches are drawn from `rng`. Where tokens are corrected, also how far their writer is
        (`mismatch.figures`). A critic then takes a step towards what the trajectories came to whose advantages were
        estimated last."""
        chosen, far = self.settings, dict[str, float]()
        coefficient = chosen.entropy
        if len(batch) and self._looks_first:
            start = policy.likelihoods(batch)
            if self._target is not None:
                entropies = start.entropies.detach()[own_tokens(sampled_alone(batch))]
                coefficient = self._target(policy.name, float(entropies.mean())) if len(entropies) else 0.0
                far["entropy_coefficient"] = coefficient
            if chosen.correct not in (None, "none"):
                far |= figures(sampled_alone(batch), start)
                batch = corrected(batch, start, weigh_of(chosen))
            elif self._replayed:
                batch = refreshed_rows(batch, start, policy.version)
            if chosen.top_entropy is not None:
                batch = top_entropy(batch, start, chosen.top_entropy)
            if chosen.mute_covariance is not None:
                batch = without_covariance(batch, start, chosen.mute_covariance, rng)
        if self._experience is not None:
            far["replayed"] = float(len(self._replayed))
        if self._hinted is not None:
            far["hinted"] = self._hinted
        if len(batch) and chosen.kl and chosen.kl_in != "reward":
            batch = beside(batch, self._references[policy.name].likelihoods(batch))
        objective = self._objective_of(policy, batch, coefficient)
        metrics: Metrics = {}
        for _ in range(passes or chosen.updates_per_batch or 1):
            for part in minibatches(batch, chosen.minibatches or 1, self._weighed, rng):
                metrics = policy.update(part, objective)
        critic = self._estimates[policy.name]
        return metrics | far | (critic.update() if isinstance(critic, WithCritic) else {})

    def _objective_of(self, policy: Policy, batch: Batch, entropy: float | None) -> Objective:
        """The loss of this update, where something of it is another at each."""
        chosen, high = self.settings, self.settings.clip_high
        if self._target is None and chosen.kl_covariance is None and chosen.clip_high_end is None:
            return self._objective
        if chosen.clip_high_end is not None and high is not None:
            gone = min(self._updates.counted(policy.name) / (self._steps - 1), 1.0)
            high = linear(high, chosen.clip_high_end, gone)
        loss = objective_of(replace(chosen, clip_high=high, entropy=entropy))
        if chosen.kl_covariance is not None:
            loss = Sum(loss, covariance_pull(sampled_alone(batch), chosen.kl_covariance))
        return loss if self._imitation is None else BesideDemonstrations(loss)


class Updates:
    """How many updates each policy has had."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}

    def counted(self, policy: str) -> int:
        """The number of updates before this one, which is counted."""
        self._count[policy] = self._count.get(policy, 0) + 1
        return self._count[policy] - 1

    def state(self) -> State:
        return {"updates": dict(self._count)}

    def restore(self, state: State) -> None:
        self._count = dict(state["updates"])


def _speaker(trajectory: Trajectory) -> str:
    """The name of the policy who spoke, then or at a past step."""
    return _player(trajectory.turns[0])


def _player(turn: Turn) -> str:
    return turn.reply.player.partition("@")[0]


def estimator_of(chosen: Update, learner: Policy, key: Key) -> tuple[AdvantageEstimator, list[Resumable]]:
    """The estimator that the settings name, and what of it keeps something between batches; where it needs a critic,
    that is one on top of the `learner`."""
    divides = chosen.scale not in (None, "none")
    if chosen.estimator == "gae":
        with_critic = WithCritic(critic_of(learner), whiten=divides)
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


def critic_of(learner: Policy) -> Critic:
    """A critic for a policy: a table of values for a table, else a value head on its hidden states. Raises
    RedQueenError for a policy on a server."""
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
