"""Every shipped experiment loads, sets settings that exist, and names a control that decides."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

from redqueen.measures import accuracy
from redqueen.questions.catalogue import find_questions
from redqueen.settings.finding import RECIPES
from redqueen.trials.experiment import Experiment
from redqueen.trials.shipped import experiments_of, shipped
from redqueen.trials.starts import Start

ROOT = Path(__file__).parents[2]
EXPERIMENTS = [
    pytest.param(each, id=f"{name}:{key}")
    for name in shipped()
    for key, each in experiments_of(name).items()
    if isinstance(each, Experiment)
]


def test_there_are_experiments_and_each_file_of_a_method_bears_its_name():
    methods = {name for name in shipped() if "/" not in name} - {
        "agents",
        "durations",
        "exact",
        "families",
        "frontier",
        "gated",
        "label_free",
        "learnability",
        "peers",
        "repair",
        "shelf",
        "tricks",
    }
    assert len(methods) > 20
    # of `spin` with other sides, of `self_rewarding`, of questions for `cold_start`, and of games that train nothing
    without_recipe = {"anyprefer", "ditto", "self_reinforcement", "self_prompt_tuning", "game_interpreter", "pro_agent"}
    assert methods - without_recipe <= set(RECIPES)


def test_an_experiment_is_of_one_file():
    """Another file that imports it by name would run it too."""
    places: dict[int, list[str]] = {}
    for name in shipped():
        for key, each in experiments_of(name).items():
            places.setdefault(id(each), []).append(f"{name}:{key}")
    assert [each for each in places.values() if len(each) > 1] == []


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_variants_set_what_exists_and_a_control_decides(experiment):
    experiment.check()
    assert experiment.asked.endswith("?")
    assert set(experiment.controls) & {name for each in experiment.compared for name in (each.one, each.other)}
    assert len({repr(sorted(map(str, each.items()))) for each in experiment.variants.values()}) == len(
        experiment.variants
    ), "no two variants are the same"


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_question_sets_that_are_named_are_found(experiment):
    for variant in experiment.variants:
        settings = experiment.settings(variant)
        starts = [value for value in settings.values() if isinstance(value, Start)]
        folders = {name: "tabular" for name, value in settings.items() if isinstance(value, Start)}
        for config in (experiment.config_of(variant, folders), *(start.config for start in starts)):
            spec = vars(config).get("questions")
            assert not spec or find_questions(spec)


def swaps(path):
    """(module, name) of all that `swapped` replaces in the experiments of a file, where they stand there as text."""
    tree = ast.parse(path.read_text())
    values = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in calls(path, "swapped"):
        module, parts = call.args
        parts = values.get(parts.id) if isinstance(parts, ast.Name) else parts
        for key in parts.keys if isinstance(parts, ast.Dict) else ():
            if isinstance(key, ast.Constant) and isinstance(module, ast.Name):
                yield module.id, key.value


@pytest.mark.parametrize("name", [name for name in shipped() if "/" not in name])
def test_what_an_experiment_replaces_is_there(name):
    module = import_module(f"experiments.{name}")
    missing = [(of, part) for of, part in swaps(Path(module.__file__)) if part not in vars(vars(module)[of])]
    assert missing == []


def calls(path, name):
    tree = ast.parse(path.read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == name]


@pytest.mark.parametrize("path", sorted((ROOT / "redqueen/recipes").rglob("*.py")), ids=lambda path: path.stem)
def test_recipes_deal_their_test_problems_by_the_run(path):
    """Else the trials of all seeds would be measured on the same problems."""
    for name in (accuracy.held_out.__name__, accuracy.HeldOut.__name__):
        for call in calls(path, name):
            words = [ast.unparse(each) for each in (*call.args, *(keyword.value for keyword in call.keywords))]
            assert "run.tests" in words or "seed" in words, f"{path.name}: {ast.unparse(call)} takes seed=run.tests"
