"""What every recipe keeps, and a user's own should: it says where it comes from, reads in one screen, does the
same twice, and goes on after a kill as if nothing had happened."""

import ast
import dataclasses
import inspect
from pathlib import Path

import numpy as np
import pytest
import torch

from redqueen.runs.checkpoints import facts_of
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.settings.learner import Learner
from redqueen.settings.limits import check_settings

SMALL = {
    "steps": 2,
    "matches_per_step": 6,
    "matches_per_game": 4,
    "snapshot_every": 2,
    "pool_size": 2,
    "magnet_every": 2,
    "games": ("kuhn_poker", "iterated_dilemma:rounds=2"),
    "largest_scores": (2.0, 10.0),
    "demonstrations_per_step": 6,
    "proposals": 2,
    "tries": 2,
    "attempts": 2,
    "problems": 2,
    "challenger_steps": 1,
    "solver_steps": 1,
    "curriculum_steps": 1,
    "executor_steps": 1,
    "questions": 2,
    "votes": 2,
    "group": 2,
    "tasks": 2,
    "pool": 4,
    "responses": 2,
    "variants": 2,
    "labelled": 4,
    "seeds": 2,
    "prompts": 2,
    "evolved": 2,
    "clusters": 1,
    "passages": 2,
    "phase": 1,
    "corpus": 2,
    "candidates": 2,
    "preliminary": 2,
    "synthesis": 2,
    "data": 4,
    "planted": 2,
    "natural": 2,
    "round": 1,
    "updates": 1,
    "updates_per_batch": 1,
    "rivals": 2,
    "pairs": 4,
    "pairs_per_update": 2,
    "first_stage": 1,
    "verifications": 2,
}
TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
LONGEST_FILE = {"spiral": 100}
LONGEST_TRAIN = 60
# what `train` does at a step depends on how many there will be
ANNEALED = ("magnetic", "league", "cold_start")

every_recipe = pytest.mark.parametrize("name", RECIPES)
OF_GAMES = [
    name for name in RECIPES if {"game", "games"} & {f.name for f in dataclasses.fields(find_recipe(name).Config)}
]
OF_QUESTIONS = [name for name in RECIPES if name not in (*OF_GAMES, "first_steps")]  # these need a language model
# all credit is the same where a model imitates, and is in the pairs and win rates where it prefers
WITHOUT_ESTIMATE = ("cold_start", "promptcot2", "spin", "sppo", "nash_md", "iterative_dpo", "dpo", "spc")
SAME_VERB = {
    "attempts": "play",
    "objective.pack": "pack",
    "pack_pairs": "pack",
    "pack_samples": "pack",
    "flow.play": "play",
}


def small(name, **changes):
    """The recipe's defaults, but few matches and steps."""
    config = find_recipe(name).Config()
    fields = {field.name for field in dataclasses.fields(config)}
    fitting = {
        key: value for key, value in SMALL.items() if key in fields and type(getattr(config, key)) is type(value)
    }
    settings = fitting | ({"learner": TINY} if name in OF_QUESTIONS else {}) | changes
    return dataclasses.replace(config, **{key: value for key, value in settings.items() if key in fields})


def trained(name, folder, seed=0, watchers=(), record_episodes=2, **changes):
    """The finished run."""
    run = Run(folder, seed, Schedule(evaluate_every=2, checkpoint_every=2, record_episodes=record_episodes), watchers)
    find_recipe(name).train(small(name, **changes), run)
    return run


def metrics(run):
    """All lines without what differs between equal runs."""
    return [{key: value for key, value in line.items() if key != "time"} for line in read_metrics(run.folder)]


def left_behind(run):
    """Everything a run wrote but for its clock: metrics, the last word, records, weights, optimisers and parts."""
    files = [run.folder / "final.json", *sorted((run.folder / "episodes").glob("*"))]
    newest = sorted((run.folder / "checkpoints").iterdir())[-1]
    files += [path for path in sorted(newest.rglob("*")) if path.is_file() and path.suffix not in (".md", "")]
    uneven = ("parts.pt", "manifest.json")  # the bytes of the one tell which equal strings are one, and their number
    contents = {str(path.relative_to(run.folder)): path.read_bytes() for path in files if path.name not in uneven}
    parts = torch.load(newest / "parts.pt", weights_only=False)
    return metrics(run), contents, without_tensors(parts), facts_of(newest)["collapse"]


def without_tensors(value):
    """Nested lists of numbers and strings, which can be compared."""
    if isinstance(value, dict):
        return {key: without_tensors(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_tensors(item) for item in value]
    return value.tolist() if isinstance(value, torch.Tensor | np.ndarray | np.generic) else value


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
    assert len(Path(module.__file__).read_text().splitlines()) < LONGEST_FILE.get(name, 140)
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
    verbs = {"play", "score", "estimate", "pack", "run.report"} - ({"estimate"} if name in WITHOUT_ESTIMATE else set())
    calls = {SAME_VERB.get(call, call) for call in calls}
    assert "run.steps" in calls
    assert verbs <= calls
    assert any(call.endswith(".update") for call in calls)


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
    for figure in ("loss",) if name in OF_QUESTIONS else ("loss", "turns_per_episode"):
        assert all(any(key.split("/")[-1] == figure for key in line) for line in metrics(run))


@pytest.mark.parametrize("name", OF_GAMES)
def test_a_recipe_runs_two_steps_with_a_language_model(name, tmp_path):
    run = trained(
        name, tmp_path, learner=Learner(model="tiny"), matches_per_step=2, games=("kuhn_poker",), largest_scores=(2.0,)
    )
    assert [line["step"] for line in metrics(run)] == [0, 1]
    assert (run.folder / "checkpoints" / "step_000002" / "learner" / "model.safetensors").exists()


@pytest.mark.parametrize("name", OF_GAMES)
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
    assert first != other


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
