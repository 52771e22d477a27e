"""Presets: what each sets, and how flags of one's own stand above it."""

from dataclasses import replace

import pytest

from redqueen.cli.training import training_options
from redqueen.cli.words import parse
from redqueen.recipes.credit.grpo import recipe as grpo
from redqueen.recipes.proposers.absolute_zero import recipe as absolute_zero
from redqueen.settings.limits import check_settings
from redqueen.settings.presets import PRESETS, expanded, shown
from redqueen.settings.update import Update
from redqueen.types import RedQueenError


def chosen(*words):
    flags, _ = expanded(words)
    return parse(training_options(grpo.Config), flags, "train grpo").config


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_allowed_in_grpo(name):
    flags, preset = expanded(["--preset", name, "--model", "tiny"])
    config, said = preset.fitted(parse(training_options(grpo.Config), flags, "train grpo").config)
    assert config.update != Update()
    check_settings(config)
    unheard = ["left out: --loss has no effect at one update on fresh tokens"] if name == "rloo" else []
    assert [line.partition(",")[0] for line in said[1:]] == unheard


def test_dapo_is_clip_higher_with_refilled_groups_and_a_price_of_length():
    assert chosen("--preset=dapo").update == Update(
        estimator="group",
        scale="group",
        loss="ppo",
        clip_low=0.2,
        clip_high=0.28,
        dual_clip=10.0,
        aggregate="token",
        truncated_loss="price",
        even_groups="refill",
        minibatches=16,
    )


def test_a_flag_of_ones_own_stands_above_the_preset():
    flags, said = expanded(["--clip-high", "0.3", "--preset", "gspo", "--minibatches=2"])
    assert "--clip-high 0.0004" not in " ".join(flags)
    assert str(said) == "preset gspo: --estimator group --scale group --loss gspo --clip-low 0.0003 --aggregate row"
    assert chosen("--clip-high", "0.3", "--preset", "gspo", "--minibatches=2").update.minibatches == 2


def test_without_a_preset_nothing_changes():
    assert expanded(["--steps", "2"]) == (["--steps", "2"], None)


def test_an_unknown_preset_is_told_the_nearest():
    with pytest.raises(RedQueenError, match=r"unknown preset 'dapoo': did you mean dapo\? \(redqueen list presets\)"):
        expanded(["--preset", "dapoo"])
    with pytest.raises(RedQueenError, match="unknown preset '': there are cispo, dapo"):
        expanded(["--preset"])


def test_presets_are_listed_with_their_flags_and_papers():
    lines = shown()
    assert len(lines) == len(PRESETS)
    assert any(line.startswith("dr-grpo") and "--scale none --aggregate constant" in line for line in lines)


def test_what_has_no_effect_is_left_out_of_a_preset_and_said():
    """A table has no replies that are cut off; a recipe that proposes its tasks draws none again."""
    flags, preset = expanded(["--preset", "dapo", "--model", "tabular", "--game", "kuhn_poker"])
    config, said = preset.fitted(parse(training_options(grpo.Config), flags, "train grpo").config)
    check_settings(config)
    assert config.update.truncated_loss is None
    assert said[1:] == ["left out: --truncated-loss has no effect on a table, whose replies are never cut off"]
    flags, preset = expanded(["--preset", "dapo", "--model", "tiny"])
    config, said = preset.fitted(parse(training_options(absolute_zero.Config), flags, "train absolute_zero").config)
    check_settings(config)
    assert config.update == replace(chosen("--preset", "dapo").update, even_groups=None)
    assert said[1:] == [
        "left out: --even-groups has no effect as refill, since this recipe draws its tasks once a step: drop, or "
        "train grpo"
    ]


def test_a_flag_of_ones_own_is_refused_where_a_preset_s_would_be_left_out():
    flags, preset = expanded(["--preset", "dapo", "--model", "tiny", "--even-groups", "refill"])
    config, said = preset.fitted(parse(training_options(absolute_zero.Config), flags, "train absolute_zero").config)
    assert len(said) == 1
    with pytest.raises(RedQueenError, match="--even-groups has no effect as refill"):
        check_settings(config)


def test_a_preset_that_does_not_fit_the_sizes_of_a_step_is_named():
    flags, preset = expanded(["--preset", "dapo", "--model", "tiny", "--tasks", "2", "--proposals", "2"])
    config = parse(training_options(absolute_zero.Config), flags, "train absolute_zero").config
    with pytest.raises(RedQueenError) as caught:
        preset.fitted(config)
    assert str(caught.value) == (
        "--minibatches, which --preset dapo sets: 16 does not divide --tasks = 2: one of 1, 2; give your own "
        "--minibatches"
    )
    flags, preset = expanded(
        ["--preset", "dapo", "--model", "tiny", "--tasks", "2", "--proposals", "2", "--minibatches", "2"]
    )
    config, _ = preset.fitted(parse(training_options(absolute_zero.Config), flags, "train absolute_zero").config)
    check_settings(config)


def test_a_preset_leaves_out_the_price_of_length_where_replies_are_listed():
    flags, preset = expanded(["--preset", "dapo", "--model", "tiny", "--game", "tic_tac_toe"])
    config, said = preset.fitted(parse(training_options(grpo.Config), flags, "train grpo").config)
    check_settings(config)
    assert config.update.truncated_loss is None
    assert said[1:] == [
        "left out: --truncated-loss has no effect where replies are chosen from a list: none is cut off"
    ]
