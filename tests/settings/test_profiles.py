"""What a profile sets, what it leaves to the user, and what it says."""

import pytest

from redqueen.cli.training import training_options
from redqueen.cli.words import parse
from redqueen.recipes.adversaries.self_redteam.recipe import Config as RedTeam
from redqueen.recipes.credit.grpo.recipe import Config as Grpo
from redqueen.recipes.games.spiral import Config as Spiral
from redqueen.recipes.preferences.dpo.recipe import Config as Dpo
from redqueen.recipes.proposers.multi_agent_evolve.recipe import Config as Mae
from redqueen.recipes.proposers.r_zero.recipe import Config as RZero
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.settings.limits import check_settings
from redqueen.settings.profiles import profiled
from redqueen.types import RedQueenError


@pytest.mark.parametrize(
    "words",
    [
        ["--tasks", "3", "--model", "tiny:hidden=8"],
        ["--tasks", "3", "--model", "tabular"],
        ["--tasks", "3", "--device", "cuda"],
        ["--model=tinker:Qwen/Qwen3-8B"],
        ["--like", "outputs/grpo-0", "--device", "cpu"],
    ],
)
def test_without_a_profile_nothing_changes_but_for_a_pretrained_model_on_a_cpu(words):
    assert profiled(words, Grpo) == (words, "")


def test_a_pretrained_model_on_a_cpu_has_the_sizes_of_a_laptop_and_is_told_so():
    words, said = profiled(["--device", "cpu", "--attempts", "4"], Mae)
    options = parse(training_options(Mae), words, "train")
    assert (options.config.proposals, options.config.tasks, options.config.attempts) == (4, 16, 4)
    assert options.schedule.test_replies == 64
    assert said == (
        "profile laptop: --test-replies 64 (no limit), --proposals 4 (32), --tasks 16 (32); --profile own takes the "
        "recipe's own"
    )
    assert profiled(["--device", "cpu", "--profile", "own"], Mae) == (
        ["--device", "cpu"],
        "profile own: the defaults as they are",
    )


def test_the_pool_of_a_round_is_smaller_on_a_laptop_too():
    """Ten votes at each of 256 proposals took SmolLM2 more than three minutes, in one step."""
    assert "--pool 64 (256), --proposals 4 (32), --tasks 12 (16)" in profiled(["--device", "cpu"], RZero)[1]


def test_who_says_how_much_is_measured_has_no_limit_on_it():
    for flags in (["--test-attempts", "8"], ["--problems", "16"]):
        words, said = profiled(["--device", "cpu", *flags], Grpo)
        assert (words, said) == (["--device", "cpu", *flags], "")


def test_a_laptop_leaves_tables_and_games_of_listed_replies_as_they_are():
    assert profiled(["--profile", "laptop"], Spiral) == ([], "profile laptop: the defaults as they are")
    assert profiled(["--model", "smollm2-135m", "--device", "cpu"], Spiral)[1] == ""
    assert "--matches-per-step 16 (128)" in profiled(["--device", "cpu"], RedTeam)[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_takes_the_profile_of_a_laptop(name):
    config = find_recipe(name).Config
    check_settings(parse(training_options(config), profiled(["--profile", "laptop"], config)[0], "train").config)


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


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_takes_the_profile_of_a_gpu(name):
    config = find_recipe(name).Config
    check_settings(parse(training_options(config), profiled(["--profile", "gpu"], config)[0], "train").config)


def test_an_unknown_profile_is_refused_in_one_line():
    with pytest.raises(RedQueenError, match=r"^unknown profile 'cloud': laptop, gpu or own$"):
        profiled(["--profile", "cloud"], Grpo)


def test_a_model_as_small_as_a_warm_start_is_no_slow_one_but_an_adapter_may_be_of_any(tmp_path):
    words = ["--device", "cpu", "--model", str(tmp_path)]
    (tmp_path / "model.safetensors").write_bytes(bytes(100))
    assert profiled(words, Grpo) == (words, "")
    (tmp_path / "adapter_config.json").write_text("{}")
    assert "--test-replies 64" in profiled(words, Grpo)[1]
