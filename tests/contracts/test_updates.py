"""Every recipe that takes an `Update` takes all of its flags, or says in one line why one has no effect."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from redqueen.contracts import recipes as contract
from redqueen.contracts.recipes import TINY, metrics
from redqueen.players.tabular import TabularPolicy
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.settings.learner import Learner
from redqueen.settings.presets import PRESETS, expanded
from redqueen.settings.update import CLIPS, SCALES, Update
from redqueen.types import RedQueenError

TAKES = [name for name in RECIPES if "paper" in vars(find_recipe(name).Config)]
# a value of each flag, with what it needs to have an effect
VALUES = {
    **{f"estimator {name}": {"estimator": name, "format_bonus": 0.1} for name in SCALES},
    "scale": {"estimator": "group", "scale": "batch"},
    **{f"loss {name}": {"loss": name, "minibatches": 2} for name in CLIPS},
    "clips": {"loss": "ppo", "clip_low": 0.1, "clip_high": 0.3, "dual_clip": 3.0, "updates_per_batch": 2},
    **{f"aggregate {name}": {"loss": "ppo", "updates_per_batch": 2, "aggregate": name} for name in ("token", "row")},
    "kl in the loss": {"kl": 0.1, "kl_in": "loss", "kl_estimator": "k2"},
    "kl in the reward": {"kl": 0.1, "kl_in": "reward", "kl_estimator": "k1"},
    "entropy": {"entropy": 0.01},
    "mute": {"truncated_loss": "mute"},
    "drop": {"even_groups": "drop"},
    "refill": {"even_groups": "refill"},
    "hint": {"even_groups": "hint"},
    "advantage_clip": {"advantage_clip": 1.0},
    "the pull of covariance": {"loss": "ppo", "clip_low": 0.2, "kl_covariance": 0.002, "updates_per_batch": 2},
    "entropy target": {"entropy_target": 0.5},
    "clip to its end": {"loss": "ppo", "clip_high_end": 0.3, "updates_per_batch": 2},
    "form behind a gate": {"format_bonus": 0.1, "format_gate": 1.0},
    "progress and repeats": {"estimator": "group", "progress": 0.6, "repetition": 1.0},
}
DRAWS_ANEW = {"evol_rl", "grpo", "rlsp", "sar", "sec"}
LEAVES_OUT = {"svs", "spell"}
IN_LISTS = {"agentgym_rl", "starling", "epo", "hcsp", "league", "mars", "ppdpp", "spiral", "vision_zero"}
NEAR_BY_REWARD = {"self_redteam", "rlsp", "comas"}  # whose papers take the divergence from the reward
LISTED = f"{Path(__file__).parent.parent / 'golden' / 'coin.py'}:CoinOfList"
# in free text all votes of models that were never trained are ties
OWN = {name: {"questions": LISTED} for name in ("rlccf", "evol_rl")}


def config_of(name, learner=TINY, **chosen):
    config = contract.small(find_recipe(name), learner=learner)
    return replace(config, update=Update(**chosen))


def refused(config):
    try:
        config.update.check(config)
    except RedQueenError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", TAKES)
def test_a_recipe_takes_every_flag_or_says_why_not(name):
    told = {label: refused(config_of(name, **chosen)) for label, chosen in VALUES.items()}
    expected = {"drop", "refill"} if name in LEAVES_OUT else set() if name in DRAWS_ANEW else {"refill"}
    expected |= set() if name == "grpo" else {"hint"}
    assert all("--even-groups has no effect" in told[label] for label in expected)
    if name in IN_LISTS:
        expected |= {"mute", "progress and repeats"}
        assert "has no effect where replies are chosen from a list" in told["mute"]
        assert "has no effect where replies are chosen from a list" in told["progress and repeats"]
    if name in NEAR_BY_REWARD:
        expected |= {"estimator gdpo"}
        assert "gdpo divides each part of a reward by its own deviation" in told["estimator gdpo"]
    assert {label for label, said in told.items() if said} == expected, told


@pytest.mark.parametrize("name", TAKES)
def test_every_preset_goes_with_a_recipe(name):
    for preset in PRESETS:
        words, chosen = expanded(["--preset", preset])
        config = config_of(name, **_as_settings(words))
        for names in vars(type(config)).get("batch", ()):  # of which 16 minibatches can be made
            config = replace(config, **dict(zip(names, (8, 2) if len(names) == 2 else (16,), strict=True)))
        fitted, said = chosen.fitted(config)
        assert refused(fitted) == ""
        left = {line.split()[2] for line in said[1:]}
        no_refill = "refill" in words and name not in DRAWS_ANEW
        no_replay = "replay" in words and name in (
            *LEAVES_OUT,
            "spc",
            "spear",
            "remix",
            "verltool",
        )  # with tokens of older selves
        assert ("--even-groups" in left) == (no_refill or no_replay)
        assert ("--truncated-loss" in left) == ("price" in words and name in IN_LISTS)
        assert ("--amplify" in left) == ("--amplify" in words and name in LEAVES_OUT)
        assert left <= {"--even-groups", "--loss", "--truncated-loss", "--amplify"}


def _as_settings(words):
    names = {field.name for field in fields(Update)}
    pairs = {flag[2:].replace("-", "_"): value for flag, value in zip(words[::2], words[1::2], strict=True)}
    assert pairs.keys() <= names
    return {name: _number(value) for name, value in pairs.items()}


def _number(value):
    try:
        return int(value)
    except ValueError:
        try:
            return float(value)
        except ValueError:
            return value


@pytest.mark.slow
@pytest.mark.parametrize("name", TAKES)
def test_a_recipe_trains_with_another_update_than_its_paper_s(name, tmp_path):
    """Two passes over two minibatches, another estimator, a penalty, a bonus, a bound and a price; and one alone with a
    critic."""
    chosen = Update(
        estimator="leave-one-out",
        scale="batch",
        loss="cispo",
        clip_high=3.0,
        updates_per_batch=2,
        minibatches=2,
        kl=0.1,
        kl_in="loss",
        kl_estimator="k3",
        entropy=0.01,
        truncated_loss=None if name in IN_LISTS else "price",
        advantage_clip=1.0,
    )
    recipe = find_recipe(name)
    own = OWN.get(name, {})
    config = contract.small(recipe, learner=TINY, update=chosen, truncated_score="graded", **own)
    run = contract.trained(recipe, config, tmp_path / "a")
    keys = {key.split("/")[-1] for line in metrics(run) for key in line}
    assert "reference_kl" in keys or name == "svs"  # of which no group differs with a model that was never trained
    critic = contract.small(
        recipe, learner=TINY, update=Update(estimator="gae", scale="batch"), truncated_score="graded", **own
    )
    run = contract.trained(recipe, critic, tmp_path / "b")
    assert name == "svs" or "value_loss" in {key.split("/")[-1] for line in metrics(run) for key in line}


def test_a_table_takes_an_update_too(tmp_path):
    """SPIRAL with a table of values and an exact divergence from the start."""
    recipe = find_recipe("spiral")
    chosen = Update(estimator="gae", loss="ppo", updates_per_batch=2, clip_high=0.3, kl=0.1, kl_estimator="exact")
    run = contract.trained(recipe, contract.small(recipe, learner=Learner(), update=chosen), tmp_path)
    assert isinstance(run.policies[0], TabularPolicy)
    assert {"value_loss", "clip_fraction"} <= metrics(run)[-1].keys()
