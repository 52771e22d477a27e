"""What a profile sets, what it leaves to the user, and what it says."""

import pytest

from redqueen.cli.training import training_options
from redqueen.cli.words import parse
from redqueen.recipes.credit.grpo.recipe import Config as Grpo
from redqueen.recipes.games.spiral import Config as Spiral
from redqueen.recipes.preferences.dpo.recipe import Config as Dpo
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.settings.limits import check_settings
from redqueen.settings.profiles import profiled
from redqueen.types import RedQueenError


def test_without_a_profile_nothing_changes():
    assert profiled(["--tasks", "3"], Grpo) == (["--tasks", "3"], "")


def test_a_laptop_has_the_defaults():
    assert profiled(["--profile", "laptop"], Grpo) == ([], "profile laptop: the defaults as they are")


def test_a_gpu_has_larger_sizes_and_a_flag_of_ones_own_stands_above_them():
    words, said = profiled(["--tasks", "16", "--profile=gpu", "--cache-gigabytes=4"], Grpo)
    options = parse(training_options(Grpo), words, "train")
    found = options.config
    assert (found.tasks, found.attempts, found.learner.max_completion_length) == (16, 16, 1024)
    assert found.learner.cache_gigabytes == 4.0
    assert found.learner.optimization.gradient_checkpointing
    assert "--tasks" not in said
    assert said.startswith("profile gpu: --attempts 16 (8), ")
    assert "--max-completion-length 1024 (64)" in said


def test_a_table_is_given_no_settings_of_a_model():
    words, said = profiled(["--profile", "gpu"], Spiral)
    assert parse(training_options(Spiral), words, "train").config.learner.model == "tabular"
    assert "completion" not in said
    assert "--max-completion-length 1024 (64)" in profiled(["--profile", "gpu", "--model", "tiny"], Spiral)[1]


def test_a_default_that_is_larger_stays():
    words, _ = profiled(["--profile", "gpu"], Dpo)
    assert parse(training_options(Dpo), words, "train").config.pairs == 60_000
    assert "--steps" not in words


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_takes_the_profile_of_a_gpu(name):
    config = find_recipe(name).Config
    check_settings(parse(training_options(config), profiled(["--profile", "gpu"], config)[0], "train").config)


def test_an_unknown_profile_is_refused_in_one_line():
    with pytest.raises(RedQueenError, match=r"^unknown profile 'cloud': laptop or gpu$"):
        profiled(["--profile", "cloud"], Grpo)
