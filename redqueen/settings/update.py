"""What turns rewarded trajectories into one step of a policy, as flags that mean the same in every recipe.

@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    update: Update = Update()
    paper = Update(estimator="group", loss="ppo", clip_low=0.2, clip_high=0.2)

`None` is the value of the recipe's paper (`Config.paper`). `check_settings` refuses a flag without effect before
anything is trained; `settings.learning_step.LearningStep` does what the flags say. docs/update.md lists them.

What a flag can do depends on the loop of the recipe, which says so beside `paper`, each False where it is left out:

    draws_anew         its loop draws more tasks where groups are even (`LearningStep.rounds`)
    batch              the settings whose product is the number of trajectories in a batch, one tuple for each kind of
                       them; () where it is known only once they are played
    gives_hints        its loop attempts a task again with a hint (`LearningStep.hinted`)
    drops_even_groups  it leaves them out itself, before the step
    learns_from_older  the tokens of a batch were sampled by older weights
    listed             all replies are chosen from lists, whatever the settings
    pays_in_parts      its own reward has several parts
    of_its_estimator   the settings of its own estimator, () where it has none or they do more
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import prod
from types import MappingProxyType
from typing import Annotated, Any, Literal

import tyro

from redqueen.players.tinker.connection import is_on_server
from redqueen.settings.chosen_replies import lists_replies
from redqueen.settings.learner import TABULAR, Learner
from redqueen.settings.limits import Rising, Within, _flag, refuse_unused, unset
from redqueen.types import RedQueenError

Estimator = Literal["group", "leave-one-out", "batch", "moving", "gae", "gdpo", "opo", "pass-at-k"]
Scale = Literal["none", "group", "batch"]
Loss = Literal["reinforce", "ppo", "cispo", "gspo", "sapo", "gmpo"]
Aggregate = Literal["token", "row", "trajectory", "constant", "sum"]
KLEstimator = Literal["k1", "k2", "k3", "exact"]
Correct = Literal["none", "tis", "mask", "row"]
TruncatedLoss = Literal["keep", "mute", "price"]
EvenGroups = Literal["keep", "drop", "refill", "replay", "hint"]

CLIPS: Mapping[str, tuple[float | None, float | None]] = MappingProxyType(
    {
        "reinforce": (None, None),
        "ppo": (0.2, 0.2),
        "cispo": (None, 4.0),
        "gspo": (3e-4, 4e-4),
        "sapo": (None, None),
        "gmpo": (0.4, 0.4),
    }
)
"""Below and above one, by loss: where a flag chooses another loss than the paper's."""
OF_ROWS = ("gspo", "gmpo")  # losses of a row's own ratio, right only where all tokens of a row weigh the same
AGGREGATES: Mapping[str, Aggregate] = MappingProxyType({"cispo": "token", "gspo": "row", "sapo": "row", "gmpo": "row"})
"""What counts the same in a loss's own paper, where that is not the recipe's to say."""
SCALES: Mapping[str, tuple[Scale, ...]] = MappingProxyType(
    {
        "group": ("group", "none", "batch"),
        "leave-one-out": ("none", "batch"),
        "batch": ("batch", "none"),
        "moving": ("none", "batch"),
        "gae": ("batch", "none"),
        "gdpo": ("batch", "none"),
        "opo": ("none", "batch"),
        "pass-at-k": ("none", "group"),
    }
)
"""What the advantages of each estimator may be divided by, its own paper's first."""
LISTED = "where replies are chosen from a list"
OF_GROUPS = ("group", "leave-one-out", "gdpo", "opo", "pass-at-k")  # estimators that compare the attempts of a group
PRICED_PART = 0.2  # of the longest reply, over which its price grows from 0 to 1 (DAPO: 4096 of 20480)


@tyro.conf.configure(tyro.conf.arg(name=""))  # its flags stand among the recipe's own: not --update.clip-high
@dataclass(frozen=True)
class Update:
    """Settings of one step of the policy; what is left out is as in the recipe's paper. A flag without effect is
    refused."""

    estimator: Annotated[Estimator | None, unset("{group,leave-one-out,batch,moving,gae,gdpo,opo,pass-at-k}")] = None
    """what a result is compared with: the mean of its group (GRPO), of the others in it (RLOO), of the batch over its
    tokens (REINFORCE++), a moving average (RAE), a critic (PPO), the mean of its group for each part of the reward
    (GDPO) or weighted by length (OPO), the second best of its group for the best (pass@k)"""
    scale: Annotated[Scale | None, unset("{none,group,batch}")] = None
    """what advantages are divided by: nothing (Dr. GRPO), the deviation of the group (GRPO), or of the batch (Lite
    PPO with group, else over tokens as in REINFORCE++)"""
    loss: Annotated[Loss | None, unset("{reinforce,ppo,cispo,gspo,sapo,gmpo}")] = None
    """of a token or a row; all are alike at one update on fresh tokens"""
    clip_low: Annotated[float | None, Within(0.0, 1.0, above=True), unset("FLOAT")] = None
    """the ratio is held above 1 minus this (gmpo: its logarithm above minus this)"""
    clip_high: Annotated[float | None, Within(0.0, above=True), unset("FLOAT")] = None
    """the ratio is held below 1 plus this (TRL states cispo's bound itself: its 5.0 is 4.0 here)"""
    dual_clip: Annotated[float | None, Within(1.0, above=True), unset("FLOAT")] = None
    """with ppo: the loss of a token with a negative advantage A is at most this times -A"""
    aggregate: Annotated[Aggregate | None, unset("{token,row,trajectory,constant,sum}")] = None
    """what counts the same: every token (DAPO), row (GRPO; a conversation, or a turn where each has a fresh prompt),
    or trajectory; or tokens weigh 1 / (rows x longest reply) (Dr. GRPO; 1 for a choice from a list), or 1 / rows"""
    kl: Annotated[float | None, Within(0.0), unset("FLOAT")] = None
    """coefficient of the KL divergence from the start"""
    kl_estimator: Annotated[KLEstimator | None, unset("{k1,k2,k3,exact}")] = None
    """k3 in the loss and k1 in the reward by default; exact where replies are listed"""
    kl_in: Annotated[Literal["reward", "loss"] | None, unset("{reward,loss}")] = None
    """loss by default"""
    entropy: Annotated[float | None, Within(0.0), unset("FLOAT")] = None
    """coefficient of an entropy bonus"""
    correct: Annotated[Correct | None, unset("{none,tis,mask,row}")] = None
    """weights of tokens that another engine, precision or older weights sampled: cut off at 2 (TIS), zero outside
    0.5 to 2 (IcePop), or the same for the geometric mean of a row, none for one with a token below 1e-4"""
    updates_per_batch: Annotated[int | None, Within(1), unset("INT")] = None
    """passes over a batch"""
    minibatches: Annotated[int | None, Within(1), unset("INT")] = None
    """parts of a batch, each with a step of its own"""
    truncated_loss: Annotated[TruncatedLoss | None, unset("{keep,mute,price}")] = None
    """a reply that was cut off: learned from as its reward says, not learned from, or (with all long replies) priced
    by its length over the last fifth of what its role may write (DAPO)"""
    even_groups: Annotated[EvenGroups | None, unset("{keep,drop,refill,replay,hint}")] = None
    """groups whose attempts are all alike: kept in the means, dropped, dropped and drawn anew (DAPO), at most 3 rounds
    in all, joined by an earlier attempt at the task that fared otherwise (R3, RAPO), or, where nobody is right,
    attempted again with a hint (SAGE)"""
    amplify: Annotated[float | None, Within(1.0, above=True), unset("FLOAT")] = None
    """where few groups have attempts that differ, advantages times groups / groups that do (RAPO), at most this"""
    group_band: Annotated[tuple[float, float] | None, Rising(), unset("FLOAT FLOAT")] = None
    """groups are learned from whose mean result lies strictly between these (ROLL: 0.1 0.95)"""
    top_entropy: Annotated[float | None, Within(0.0, 1.0, above=True), unset("FLOAT")] = None
    """share of the tokens that have an advantage, those with the most entropy (0.2 in arXiv:2506.01939)"""
    mute_covariance: Annotated[float | None, Within(0.0, 1.0, above=True), unset("FLOAT")] = None
    """share of the tokens that lose their advantage, drawn from those whose advantage and log-probability go together
    most (Clip-Cov: 2e-4; SPEAR: 0.02)"""
    kl_covariance: Annotated[float | None, Within(0.0, 1.0, above=True), unset("FLOAT")] = None
    """share of the tokens that are held near their writer, those whose advantage and log-probability go together most
    (KL-Cov: 2e-3)"""
    entropy_target: Annotated[float | None, Within(0.0, above=True), unset("FLOAT")] = None
    """nats a token, below which an entropy bonus comes in: its coefficient changes by 0.005 an update (Skywork-OR1)"""
    clip_high_end: Annotated[float | None, Within(0.0, above=True), unset("FLOAT")] = None
    """--clip-high at the end of the run, to which it goes on a line"""
    format_bonus: Annotated[float | None, Within(0.0), unset("FLOAT")] = None
    """paid for each turn in the stated format with a legal reply (MARS: 0.05)"""
    format_gate: Annotated[float | None, unset("FLOAT")] = None
    """the least result of an attempt at which --format-bonus is paid for its turns, so that form cannot buy a failure
    (G-RA)"""
    progress: Annotated[float | None, Within(0.0, 1.0, above=True), unset("FLOAT")] = None
    """the most that a failed attempt is paid for how near its words come to the successes of its group (SRPO: 0.6)"""
    repetition: Annotated[float | None, Within(0.0, above=True), unset("FLOAT")] = None
    """price of a reply that is all repeats, by the share of its tokens in a run of 4 that was said before"""
    weigh_durations: Annotated[float | None, Within(0.0, above=True), unset("FLOAT")] = None
    """advantages times the seconds that the action took over their mean, at most this (arXiv:2509.01684); for games
    that state durations"""
    advantage_clip: Annotated[float | None, Within(0.0, above=True), unset("FLOAT")] = None
    """advantages are held between minus and plus this"""

    def over(self, paper: Update) -> Update:
        """These settings, with those of `paper` where they are None. Another estimator than the paper's brings its own
        scale along, another loss its clips, and its aggregate where it has one (`AGGREGATES`)."""
        usual = paper
        if self.loss not in (None, paper.loss):
            low, high = CLIPS[str(self.loss)]
            counted = AGGREGATES.get(str(self.loss), paper.aggregate)
            usual = replace(usual, loss=self.loss, clip_low=low, clip_high=high, dual_clip=None, aggregate=counted)
        if self.estimator not in (None, paper.estimator):
            usual = replace(usual, estimator=self.estimator, scale=SCALES[str(self.estimator)][0])
        if self.kl_in not in (None, paper.kl_in or "loss"):
            usual = replace(usual, kl_in=self.kl_in, kl_estimator="k1" if self.kl_in == "reward" else "k3")
        return replace(usual, **{name: value for name, value in vars(self).items() if value is not None})

    def check(self, config: Any) -> None:
        """Raises RedQueenError for a flag that has no effect with the others, or that its other parts refuse, and for a
        setting of an estimator that --estimator replaces. `config` holds these settings."""
        _refuse(self.without_effect(config) | self.wrong(config))
        if self.estimator is not None:
            own = vars(type(config)).get("of_its_estimator", ())
            refuse_unused(config, own, f"--estimator {self.estimator}, in place of this recipe's own")

    def wrong(self, config: Any) -> dict[str, str]:
        """By the name of each of these settings whose value does not go with the others, what is wrong with it."""
        return _wrong(self, self.over(vars(type(config)).get("paper", Update())), config)

    def without_effect(self, config: Any) -> dict[str, str]:
        """By the name of each of these settings that changes nothing with the others, that it has none and why."""
        found = self.over(vars(type(config)).get("paper", Update()))
        learner = vars(config).get("learner", Learner())
        faults: dict[str, str] = {}
        older = _says(config, "learns_from_older") or _is_stale(config)
        for names, why in (
            (
                ("clip_low", "clip_high", "clip_high_end", "dual_clip", "loss", "kl_covariance"),
                _without_ratio(found, learner, older),
            ),
            (("clip_low", "clip_high", "clip_high_end"), _without_clip(found)),
        ):
            if why:
                faults |= dict.fromkeys(names, why)
        if found.loss != "ppo":
            faults["dual_clip"] = f"with --loss {found.loss}, which has no such bound: --loss ppo"
        if not found.kl:
            faults |= dict.fromkeys(("kl_estimator", "kl_in"), "without a coefficient: add --kl 0.01 or the like")
        if not found.format_bonus:
            faults["format_gate"] = "without a bonus that waits behind it: add --format-bonus 0.1 or the like"
        if found.estimator not in OF_GROUPS:
            faults |= dict.fromkeys(("amplify", "group_band", "progress"), "where no attempts at one task are compared")
        if not (_other_sampler(learner) or older or found.even_groups == "replay"):
            faults["correct"] = (
                "where the learner itself samples with the weights that are updated, so that every weight is 1: it is "
                "for --sampler vllm, a model on a server, --dtype bfloat16, --staleness 1 or --even-groups replay"
            )
        if found.even_groups in ("drop", "refill") or _says(config, "drops_even_groups"):
            faults["amplify"] = "where even groups are left out: what is left counts for the whole batch already"
        if learner.model == TABULAR and not learner.answer:
            faults["truncated_loss"] = "on a table, whose replies are never cut off"
            faults["repetition"] = "on a table, whose replies are one choice each"
        elif (self.truncated_loss or self.repetition) and lists_replies(config):
            faults["truncated_loss"] = f"{LISTED}: none is cut off"
            faults["repetition"] = f"{LISTED}: each is one choice"
        if _says(config, "drops_even_groups"):
            faults["even_groups"] = "in this recipe, which leaves even groups out before the update, as its paper does"
        elif found.even_groups == "replay" and older:
            faults["even_groups"] = "as replay where batches hold older tokens already"
        elif found.even_groups == "replay" and found.estimator not in OF_GROUPS:
            faults["even_groups"] = (
                "as replay, since no attempts at one task are compared: it is for --estimator group, leave-one-out, opo"
            )
        elif found.even_groups == "hint" and not _says(config, "gives_hints"):
            faults["even_groups"] = "as hint, since this recipe has no hints to give: train grpo or sage"
        elif found.even_groups == "refill" and not _says(config, "draws_anew"):
            faults["even_groups"] = "as refill, since this recipe draws its tasks once a step: drop, or train grpo"
        if vars(config).get("truncated_score") == "unknown":
            faults["truncated_loss"] = "with --truncated-score unknown: a reply without a verdict has no loss"
        if found.estimator is None:
            faults["scale"] = "without an --estimator: this recipe has its own"
        return {name: f"has no effect {why}" for name, why in faults.items() if getattr(self, name) is not None}


def _refuse(faults: Mapping[str, str]) -> None:
    for name, why in faults.items():
        raise RedQueenError(f"{_flag(name)} {why}")


def _other_sampler(learner: Learner) -> bool:
    """Whether tokens are sampled otherwise than they are rated for an update."""
    return is_on_server(learner.model) or learner.dtype == "bfloat16" or learner.sampler == "vllm"


def _says(config: Any, name: str) -> bool:
    """What a recipe says of its loop beside `paper`."""
    return bool(vars(type(config)).get(name, False))


def _is_stale(config: Any) -> bool:
    """Whether steps are played before it is their turn (`settings.placement`)."""
    return bool(getattr(vars(config).get("ahead"), "staleness", 0))


def _without_ratio(found: Update, learner: Learner, older: bool) -> str:
    """Why every ratio is 1; "" where it may be another."""
    if (found.updates_per_batch or 1) * (found.minibatches or 1) > 1:
        return ""
    if found.correct not in (None, "none"):
        return (
            f"at one update with --correct {found.correct}, from whose start every ratio is measured: add "
            "--updates-per-batch 2 or --minibatches 2, or --correct none"
        )
    if older or _other_sampler(learner):
        return ""
    return (
        "at one update on fresh tokens, where every ratio is 1 and all losses have one gradient: add "
        "--updates-per-batch 2 or --minibatches 2"
    )


def _without_clip(found: Update) -> str:
    return "" if CLIPS[str(found.loss)] != (None, None) else f"with --loss {found.loss}, which clips no ratio"


def _wrong(given: Update, found: Update, config: Any) -> dict[str, str]:
    """By the name of a field, what is wrong with its value beside the others."""
    wrong = _wrong_dual(given, found)
    if given.scale and found.estimator and given.scale not in SCALES[found.estimator]:
        allowed = " or ".join(SCALES[found.estimator])
        wrong["scale"] = f"{given.scale} does not go with --estimator {found.estimator}: {allowed}"
    if (
        given.estimator == "gdpo"
        and found.truncated_loss != "price"
        and not (found.repetition or found.progress or found.format_bonus or _says(config, "pays_in_parts"))
    ):
        wrong["estimator"] = (
            "gdpo compares each part of a reward by itself, and this reward has one part: add --format-bonus 0.1, "
            "--truncated-loss price, --repetition 1 or --progress 0.6, or take --estimator group"
        )
    if found.loss in OF_ROWS and found.aggregate != "row":
        wrong["aggregate"] = (
            f"{found.aggregate} does not go with --loss {found.loss}, whose gradient is that of a row's ratio only "
            "where all tokens of a row weigh the same: row"
        )
    if given.estimator == "gdpo" and found.kl and found.kl_in == "reward":
        wrong["estimator"] = (
            "gdpo divides each part of a reward by its own deviation, so the coefficient of a divergence in the reward "
            "would not count: --kl-in loss"
        )
    if given.clip_high_end is not None and vars(config).get("steps", 2) < 2:
        wrong["clip_high_end"] = "is where --clip-high goes over the run, which has one step: --steps 2 or more"
    learner = vars(config).get("learner", Learner())
    if found.kl and found.kl_estimator == "exact" and learner.answer:
        wrong["kl_estimator"] = (
            f"exact is over all legal replies where these are listed, and with --answer {learner.answer} they are "
            "written: --kl-estimator k3"
        )
    if found.kl and found.kl_in == "reward" and found.kl_estimator not in (None, "k1"):
        wrong["kl_estimator"] = f"{found.kl_estimator} does not belong in a reward: k1, or --kl-in loss"
    if found.kl and found.kl_in != "reward" and found.kl_estimator == "k1":
        wrong["kl_estimator"] = "k1 in a loss has an expected gradient of zero: k2 or k3, or --kl-in reward"
    kinds: tuple[tuple[str, ...], ...] = vars(type(config)).get("batch", ())
    counts = [prod(getattr(config, name) for name in names) for names in kinds]
    for names, samples in zip(kinds, counts, strict=True):
        if found.minibatches and samples % found.minibatches:
            fitting = [str(count) for count in range(1, min(counts) + 1) if not any(each % count for each in counts)]
            wrong["minibatches"] = (
                f"{found.minibatches} does not divide {' x '.join(map(_flag, names))} = {samples}: one of "
                f"{', '.join(fitting)}"
            )
    return wrong


def _wrong_dual(given: Update, found: Update) -> dict[str, str]:
    """What is wrong with a dual clip that bounds what the upper clip, now or at the end, leaves alone, by the name of
    the setting to change."""
    if found.loss != "ppo" or not found.dual_clip:
        return {}
    of = "--clip-high-end" if (found.clip_high_end or 0.0) > (found.clip_high or 0.0) else "--clip-high"
    high = max(found.clip_high_end or 0.0, found.clip_high or 0.0)
    if found.dual_clip > 1.0 + high:
        return {}
    if given.dual_clip:
        return {"dual_clip": f"must be above 1 + {of} = {1.0 + high:g}, not {given.dual_clip:g}"}
    name = of.removeprefix("--").replace("-", "_")
    return {
        name: f"must be below --dual-clip - 1 = {found.dual_clip - 1.0:g} of this recipe's paper, not {high:g}: or add "
        f"--dual-clip {1.5 + high:g}"
    }


def flags(update: Update) -> str:
    """The settings that are not None as flags: `--loss ppo --clip-low 0.2`."""
    given = ((each.name, getattr(update, each.name)) for each in fields(update))
    return " ".join(f"{_flag(name)} {_shown(value)}" for name, value in given if value is not None)


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
