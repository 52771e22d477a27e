"""What every recipe keeps, and a user's own should: it says where it comes from, reads in one screen, does the
same twice, and goes on after a kill as if nothing had happened."""

import ast
import dataclasses
import inspect
from pathlib import Path

import pytest

from redqueen.config import RECIPES, Learner, check_settings, find_recipe
from redqueen.run import Run, Schedule, read_metrics

SMALL = {
    "steps": 2,
    "matches_per_step": 6,
    "matches_per_game": 4,
    "pool_size": 2,
    "magnet_every": 2,
    "games": ("kuhn_poker", "iterated_dilemma:rounds=2"),
    "largest_scores": (2.0, 10.0),
}
LONGEST_FILE = {"spiral": 100}
LONGEST_TRAIN = 60
# what `train` does at a step depends on how many there will be
ANNEALED = ("magnetic",)

every_recipe = pytest.mark.parametrize("name", RECIPES)


def small(name, **changes):
    """The recipe's defaults, but few matches and steps."""
    config = find_recipe(name).Config()
    fields = {field.name for field in dataclasses.fields(config)}
    return dataclasses.replace(config, **{key: value for key, value in (SMALL | changes).items() if key in fields})


def trained(name, folder, seed=0, watchers=(), **changes):
    """The finished run."""
    run = Run(folder, seed, Schedule(evaluate_every=2, checkpoint_every=2, record_episodes=2), watchers)
    find_recipe(name).train(small(name, **changes), run)
    return run


def metrics(run):
    """All lines without what differs between equal runs."""
    return [{key: value for key, value in line.items() if key != "time"} for line in read_metrics(run.folder)]


def left_behind(run):
    """Everything a run wrote but for its clock: metrics, the last word, records, weights and optimiser."""
    files = [run.folder / "final.json", *sorted((run.folder / "episodes").iterdir())]
    newest = sorted((run.folder / "checkpoints").iterdir())[-1]
    files += [path for path in sorted((newest / "learner").rglob("*")) if path.suffix != ".md"]
    return metrics(run), {str(path.relative_to(run.folder)): path.read_bytes() for path in files}


class Killer:
    """Raises once a step has been written, before it is saved."""

    def __init__(self, step):
        self.when = step

    def begin(self, run, start, count):
        pass

    def step(self, line):
        if line["step"] == self.when:
            raise KeyboardInterrupt

    def end(self, run):
        pass


@every_recipe
def test_a_recipe_names_its_paper_or_says_that_there_is_none(name):
    doc = find_recipe(name).__doc__
    assert "arXiv:" in doc or "et al., " in doc or "There is no paper" in doc
    assert doc.splitlines()[0].endswith("."), "the first line stands alone in `redqueen list recipes`"
    assert len(doc.splitlines()[0]) < 120


@every_recipe
def test_a_recipe_fits_on_a_screen_or_two(name):
    module = find_recipe(name)
    assert len(Path(module.__file__).read_text().splitlines()) < LONGEST_FILE.get(name, 130)
    assert len(inspect.getsource(module.train).splitlines()) < LONGEST_TRAIN


@every_recipe
def test_the_loop_of_a_recipe_is_visible(name):
    (train,) = [
        node
        for node in ast.parse(inspect.getsource(find_recipe(name))).body
        if isinstance(node, ast.FunctionDef) and node.name == "train"
    ]
    (loop,) = [node for node in train.body if isinstance(node, ast.For)]
    calls = {ast.unparse(node.func) for node in ast.walk(loop) if isinstance(node, ast.Call)}
    assert "run.steps" in calls
    assert {"play", "score", "estimate", "pack", "learner.update", "run.report"} <= calls


@every_recipe
def test_a_config_is_a_few_settings_with_defaults(name):
    config = find_recipe(name).Config
    assert dataclasses.is_dataclass(config)
    assert config.__dataclass_params__.frozen
    fields = dataclasses.fields(config)
    assert (3 if name == "first_steps" else 5) <= len(fields) <= 15
    check_settings(config())


@every_recipe
def test_a_recipe_runs_two_steps(name, tmp_path):
    run = trained(name, tmp_path)
    assert [line["step"] for line in metrics(run)] == [0, 1]
    assert all("loss" in line and "turns_per_episode" in line for line in metrics(run))


@pytest.mark.parametrize("name", [name for name in RECIPES if name != "first_steps"])
def test_a_recipe_runs_two_steps_with_a_language_model(name, tmp_path):
    run = trained(
        name, tmp_path, learner=Learner(model="tiny"), matches_per_step=2, games=("kuhn_poker",), largest_scores=(2.0,)
    )
    assert [line["step"] for line in metrics(run)] == [0, 1]
    assert (run.folder / "checkpoints" / "step_000002" / "learner" / "model.safetensors").exists()


@pytest.mark.parametrize("name", [name for name in RECIPES if name != "first_steps"])
def test_a_recipe_runs_two_steps_with_a_model_that_answers_in_free_text(name, tmp_path):
    learner = Learner(model="tiny", answer="boxed", max_completion_length=4)
    games = {"games": ("kuhn_poker",), "largest_scores": (2.0,)}
    run = trained(name, tmp_path, learner=learner, matches_per_step=2, matches_per_game=2, **games)
    assert [line["malformed"] for line in metrics(run)] == [1.0, 1.0]


@every_recipe
def test_the_same_seed_trains_the_same_and_another_does_not(name, tmp_path):
    runs = [trained(name, tmp_path / str(number), seed) for number, seed in enumerate((3, 3, 4))]
    first, again, other = (left_behind(run) for run in runs)
    assert first == again
    assert first[0] != other[0]


@every_recipe
def test_a_recipe_goes_on_after_a_kill_as_if_nothing_had_happened(name, tmp_path):
    whole = trained(name, tmp_path / "whole", steps=6)
    with pytest.raises(KeyboardInterrupt):
        trained(name, tmp_path / "killed", steps=6, watchers=[Killer(2)])
    with pytest.raises(KeyboardInterrupt):
        trained(name, tmp_path / "killed", steps=6, watchers=[Killer(4)])
    assert left_behind(trained(name, tmp_path / "killed", steps=6)) == left_behind(whole)


@pytest.mark.parametrize("name", ["fictitious_self_play", "magnetic", "mars"])
def test_a_language_model_goes_on_after_a_kill_as_if_nothing_had_happened(name, tmp_path):
    settings = {"learner": Learner(model="tiny"), "steps": 4, "games": ("kuhn_poker",), "largest_scores": (2.0,)}
    whole = trained(name, tmp_path / "whole", **settings)
    with pytest.raises(KeyboardInterrupt):
        trained(name, tmp_path / "killed", watchers=[Killer(3)], **settings)
    assert left_behind(trained(name, tmp_path / "killed", **settings)) == left_behind(whole)


@pytest.mark.parametrize("name", [name for name in RECIPES if name not in ANNEALED])
def test_a_finished_run_can_be_made_longer(name, tmp_path):
    whole = trained(name, tmp_path / "whole", steps=6)
    trained(name, tmp_path / "short", steps=3)
    assert left_behind(trained(name, tmp_path / "short", steps=6)) == left_behind(whole)
