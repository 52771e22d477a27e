"""The flags of an update: what is left out is the paper's; what has no effect is refused before training."""

from dataclasses import dataclass, replace
from typing import get_args

import pytest

from redqueen.cli.training import training_options
from redqueen.cli.words import parse
from redqueen.settings.finding import find_recipe
from redqueen.settings.learner import Learner
from redqueen.settings.limits import check_settings
from redqueen.settings.placement import PlayedAhead
from redqueen.settings.update import CLIPS, SCALES, Estimator, Loss, Update, flags
from redqueen.types import RedQueenError

GRPO = Update(estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token")


@dataclass(frozen=True)
class Config:
    learner: Learner = Learner(model="tiny")
    update: Update = Update()
    tasks: int = 4
    attempts: int = 4
    truncated_score: str = "wrong"
    paper = GRPO
    draws_anew = True
    batch = (("tasks", "attempts"),)


def refusal(config):
    with pytest.raises(RedQueenError) as caught:
        check_settings(config)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def said_of(learner=Learner(model="tiny"), **chosen):
    return refusal(Config(learner, Update(**chosen)))


def test_what_is_left_out_is_the_papers():
    assert Update().over(GRPO) == GRPO
    assert Update(clip_high=0.28).over(GRPO) == replace(GRPO, clip_high=0.28)


def test_another_loss_brings_its_own_clips_and_aggregate():
    assert Update(loss="gspo").over(GRPO) == replace(GRPO, loss="gspo", clip_low=3e-4, clip_high=4e-4, aggregate="row")
    assert Update(loss="cispo", clip_high=1.0).over(GRPO) == replace(GRPO, loss="cispo", clip_low=None, clip_high=1.0)
    assert Update(loss="gmpo").over(GRPO) == replace(GRPO, loss="gmpo", clip_low=0.4, clip_high=0.4, aggregate="row")
    assert Update(loss="reinforce").over(GRPO) == replace(GRPO, loss="reinforce", clip_low=None, clip_high=None)


def test_another_estimator_brings_its_own_scale():
    assert Update(estimator="leave-one-out").over(GRPO).scale == "none"
    assert Update(estimator="batch").over(GRPO).scale == "batch"
    assert Update(estimator="group").over(GRPO).scale == "group"
    assert Update(kl_in="reward", kl=0.1).over(GRPO).kl_estimator == "k1"


def test_the_tables_of_losses_and_estimators_name_each_of_them():
    assert tuple(CLIPS) == get_args(Loss)
    assert tuple(SCALES) == get_args(Estimator)


@pytest.mark.parametrize("name", ["clip_low", "clip_high"])
def test_a_clip_is_refused_at_one_update_on_fresh_tokens(name):
    flag = "--" + name.replace("_", "-")
    assert said_of(**{name: 0.3}) == (
        f"{flag} has no effect at one update on fresh tokens, where every ratio is 1 and all losses have one gradient: "
        "add --updates-per-batch 2 or --minibatches 2"
    )
    check_settings(Config(update=Update(**{name: 0.3}, updates_per_batch=2)))
    check_settings(Config(update=Update(**{name: 0.3}, minibatches=2)))
    check_settings(Config(Learner(model="smollm2-135m", dtype="bfloat16"), Update(**{name: 0.3})))


def test_a_loss_is_refused_at_one_update_on_fresh_tokens():
    assert said_of(loss="cispo").startswith("--loss has no effect at one update on fresh tokens")


@pytest.mark.parametrize(
    ("chosen", "complaint"),
    [
        (
            {"loss": "reinforce", "clip_high": 0.3},
            "--clip-high has no effect with --loss reinforce, which clips no ratio",
        ),
        ({"loss": "cispo", "dual_clip": 3.0}, "--dual-clip has no effect with --loss cispo, which has no such bound"),
        ({"dual_clip": 1.1}, "--dual-clip must be above 1 + --clip-high = 1.2, not 1.1"),
        ({"dual_clip": 0.9}, "--dual-clip must be above 1, not 0.9"),
        ({"clip_low": -0.1}, "--clip-low must be above 0 and at most 1, not -0.1"),
        ({"clip_high": -0.1}, "--clip-high must be above 0, not -0.1"),
        ({"loss": "gspo", "aggregate": "token"}, "--aggregate token does not go with --loss gspo"),
        ({"kl_estimator": "k2"}, "--kl-estimator has no effect without a coefficient: add --kl"),
        ({"kl_in": "reward"}, "--kl-in has no effect without a coefficient"),
        ({"kl": 0.1, "kl_in": "reward", "kl_estimator": "k3"}, "--kl-estimator k3 does not belong in a reward: k1"),
        ({"kl": 0.1, "kl_estimator": "k1"}, "--kl-estimator k1 in a loss has an expected gradient of zero"),
        ({"correct": "tis"}, "--correct has no effect where the learner itself samples"),
        ({"estimator": "moving", "scale": "group"}, "--scale group does not go with --estimator moving: none or batch"),
        (
            {"minibatches": 3, "updates_per_batch": 1},
            "--minibatches 3 does not divide --tasks x --attempts = 16: one of 1, 2, 4, 8, 16",
        ),
        ({"estimator": "gdpo"}, "--estimator gdpo compares each part of a reward by itself, and this reward has one"),
        ({"estimator": "pass-at-k", "scale": "batch"}, "--scale batch does not go with --estimator pass-at-k"),
        ({"loss": "sapo", "clip_high": 0.2}, "--clip-high has no effect with --loss sapo"),
        (
            {"estimator": "batch", "even_groups": "replay"},
            "--even-groups has no effect as replay, since no attempts at one task are compared",
        ),
        ({"estimator": "moving", "amplify": 4.0}, "--amplify has no effect where no attempts at one task are compared"),
        ({"amplify": 1.0}, "--amplify must be above 1, not 1"),
        ({"group_band": (0.9, 0.1)}, "--group-band must be two shares from 0 to 1, the lower one first"),
        (
            {"updates_per_batch": 1, "kl_covariance": 0.002},
            "--kl-covariance has no effect at one update on fresh tokens",
        ),
        ({"loss": "reinforce", "clip_high_end": 0.3}, "--clip-high-end has no effect with --loss reinforce"),
        (
            {"estimator": "batch", "progress": 0.6},
            "--progress has no effect where no attempts at",
        ),
        (
            {"format_gate": 1.0},
            "--format-gate has no effect without a bonus that waits behind it: add --format-bonus 0.1",
        ),
        ({"advantage_clip": 0.0}, "--advantage-clip must be above 0, not 0"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(chosen, complaint):
    assert said_of(**{"updates_per_batch": 2} | chosen).startswith(complaint)


def test_what_is_cut_off_is_refused_where_nothing_is():
    assert "on a table, whose replies are never cut off" in said_of(Learner(), truncated_loss="mute")
    unknown = Config(update=Update(truncated_loss="price"), truncated_score="unknown")
    assert "with --truncated-score unknown" in refusal(unknown)


def test_a_scale_needs_an_estimator():
    @dataclass(frozen=True)
    class Own:
        update: Update = Update(scale="batch")
        paper = Update(loss="ppo", clip_low=0.2, clip_high=0.2)

    assert refusal(Own()) == "--scale has no effect without an --estimator: this recipe has its own"


def test_settings_are_written_as_flags():
    assert flags(Update(loss="gspo", clip_low=3e-4, updates_per_batch=2)) == (
        "--loss gspo --clip-low 0.0003 --updates-per-batch 2"
    )


@pytest.mark.parametrize(
    ("name", "count", "complaint"),
    [
        ("spiral", 3, "--minibatches 3 does not divide --matches-per-step = 128: one of 1, 2, 4, 8, 16, 32, 64, 128"),
        ("r_zero", 5, "--minibatches 5 does not divide --proposals = 32: one of 1, 2, 4, 8, 16"),
        ("r_zero", 32, "--minibatches 32 does not divide --tasks x --attempts = 80: one of 1, 2, 4, 8, 16"),
        ("rise", 256, "--minibatches 256 does not divide --tasks x --attempts = 128: one of 1, 2, 4,"),
    ],
)
def test_minibatches_divide_every_kind_of_trajectory_whose_number_is_known(name, count, complaint):
    config = find_recipe(name).Config(update=Update(minibatches=count))
    with pytest.raises(RedQueenError) as caught:
        config.update.check(config)
    assert str(caught.value).startswith(complaint)


def test_the_recipes_take_the_flags_on_the_command_line():
    for name in ("grpo", "sec"):
        config = find_recipe(name).Config
        words = ["--estimator", "leave-one-out", "--clip-high", "0.3", "--minibatches", "2", "--even-groups", "drop"]
        found = parse(training_options(config), words, name).config
        assert found.update == Update(estimator="leave-one-out", clip_high=0.3, minibatches=2, even_groups="drop")


def test_an_exact_divergence_takes_listed_replies():
    written = Learner(model="tiny", answer="boxed")
    spiral = find_recipe("spiral")
    with pytest.raises(RedQueenError, match=r"--kl-estimator exact is over all legal replies .* --kl-estimator k3"):
        check_settings(spiral.Config(written, update=Update(kl=0.1, kl_estimator="exact")))
    check_settings(spiral.Config(Learner(model="tiny"), update=Update(kl=0.1, kl_estimator="exact")))
    check_settings(spiral.Config(written, update=Update(kl=0.1, kl_estimator="k3")))


def of_recipe(name, learner=Learner(model="tiny"), **chosen):
    return find_recipe(name).Config(learner=learner, update=Update(**chosen))


def test_the_divergence_in_the_loss_is_where_it_is_by_default():
    """ReMix takes k2 and HCSP the exact divergence, in the loss, as --kl-in loss says too."""
    for name, estimator in (("remix", "k2"), ("hcsp", "exact")):
        paper = find_recipe(name).Config.paper
        assert Update(kl_in="loss").over(paper) == replace(paper, kl_in="loss")
        assert Update(kl_in="loss").over(paper).kl_estimator == estimator
    assert Update(kl_in="loss").over(find_recipe("rlsp").Config.paper).kl_estimator == "k3"


def test_a_loss_brings_the_aggregate_of_its_own_paper():
    rows = replace(GRPO, aggregate="row")
    assert Update(loss="sapo").over(GRPO).aggregate == "row"
    assert Update(loss="cispo").over(rows).aggregate == "token"
    assert Update(loss="reinforce").over(rows).aggregate == "row"


@pytest.mark.parametrize("flag", ["truncated_loss", "repetition"])
def test_the_length_of_a_reply_from_a_list_is_neither_priced_nor_muted(flag):
    value = {"truncated_loss": "price", "repetition": 1.0}[flag]
    words = "has no effect where replies are chosen from a list"
    for name in ("spiral", "league", "mars", "hcsp", "epo", "ppdpp", "vision_zero"):
        assert words in refusal(of_recipe(name, **{flag: value}))
    grpo = find_recipe("grpo").Config(Learner(model="tiny"), game="tic_tac_toe", update=Update(**{flag: value}))
    assert words in refusal(grpo)
    check_settings(replace(grpo, game="", questions="sums"))
    check_settings(of_recipe("spiral", Learner(model="tiny", answer="boxed"), **{flag: value}))
    talk = find_recipe("spiral").Config(Learner(model="tiny"), game="taboo", update=Update(**{flag: value}))
    check_settings(talk)


def test_a_loss_of_ratios_has_no_effect_where_each_is_measured_from_the_start_of_one_update():
    stale = find_recipe("spiral").Config(Learner(model="tiny"), ahead=PlayedAhead(staleness=1))

    def with_update(**chosen):
        return replace(stale, update=Update(**chosen))

    check_settings(with_update(loss="ppo"))
    check_settings(with_update(correct="tis"))
    check_settings(with_update(loss="ppo", correct="tis", updates_per_batch=2))
    assert refusal(with_update(loss="ppo", correct="tis")) == (
        "--loss has no effect at one update with --correct tis, from whose start every ratio is measured: add "
        "--updates-per-batch 2 or --minibatches 2, or --correct none"
    )
    assert refusal(of_recipe("remix", updates_per_batch=1, clip_high=0.3)).startswith(
        "--clip-high has no effect at one update with --correct tis"
    )


def test_amplification_has_no_effect_where_even_groups_are_left_out():
    why = "--amplify has no effect where even groups are left out"
    for how in ("drop", "refill"):
        assert said_of(amplify=4.0, even_groups=how).startswith(why)
    assert refusal(of_recipe("svs", amplify=4.0)).startswith(why)
    check_settings(Config(update=Update(amplify=4.0, even_groups="replay")))


def test_a_dual_clip_stays_above_the_upper_clip_to_its_end():
    said = said_of(minibatches=2, dual_clip=1.4, clip_high=0.2, clip_high_end=0.5)
    assert said == "--dual-clip must be above 1 + --clip-high-end = 1.5, not 1.4"
    words = "must be below --dual-clip - 1 = 0.4 of this recipe's paper, not 0.5: or add --dual-clip 2"
    assert refusal(of_recipe("mars", clip_high=0.5)) == f"--clip-high {words}"
    assert refusal(of_recipe("mars", clip_high_end=0.5)) == f"--clip-high-end {words}"
    check_settings(of_recipe("mars", clip_high=0.5, dual_clip=2.0))


def test_rewards_of_several_parts_are_compared_by_part():
    for name in ("r3", "sar", "spear"):
        check_settings(of_recipe(name, estimator="gdpo"))
    check_settings(of_recipe("rlsp", estimator="gdpo", kl_in="loss"))


def test_a_divergence_in_the_reward_is_no_part_to_be_compared_by_itself():
    words = "--estimator gdpo divides each part of a reward by its own deviation, so the coefficient of a divergence"
    assert said_of(estimator="gdpo", format_bonus=0.1, kl=0.1, kl_in="reward").startswith(words)
    assert refusal(of_recipe("rlsp", estimator="gdpo")).startswith(words)
    check_settings(Config(update=Update(estimator="gdpo", format_bonus=0.1, kl=0.1)))


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("spiral", {"baseline_decay": 0.5}),
        ("league", {"baseline_decay": 0.5}),
        ("vision_zero", {"baseline_decay": 0.5}),
        ("hcsp", {"discount": 0.5}),
        ("epo", {"discount": 0.5}),
        ("ppdpp", {"normalise": "episode"}),
        ("rise", {"critic_learning_rate": 0.5}),
    ],
)
def test_a_setting_of_an_estimator_that_is_replaced_is_refused(name, setting):
    config = replace(of_recipe(name, estimator="gae"), **setting)
    (flag,) = setting
    assert refusal(config) == (
        f"--{flag.replace('_', '-')} has no effect with --estimator gae, in place of this recipe's own: leave it out"
    )
    check_settings(replace(config, update=Update()))
