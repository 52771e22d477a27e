"""The first variant of every experiment runs, with small models and few steps: what it imports, replaces and reads is
there, from its warm starts to its figures."""

from dataclasses import fields, is_dataclass, replace

import pytest

from redqueen.trials.experiment import Experiment, changed, figure
from redqueen.trials.shipped import experiments_of, shipped
from redqueen.trials.starts import Start

TINY = "tiny:hidden=16,heads=2,layers=1"
FEWER = {
    "steps": lambda own: min(own, 2),
    "updates": lambda own: 1,
    "problems": lambda own: min(own, 2),
    "measured": lambda own: min(own, 2),
    "demonstrations_per_step": lambda own: 8,
    "max_completion_length": lambda own: min(own, 8),
}
FURTHER = {  # what else must change where steps are few, and where the figures need more of them
    "drive:graded": {"first_stage": 1},
    "mirror_descent:language": {"learner.optimization.lora_layers": None},
    "sec:sums": {"steps": 12},
    "sec:under_grpo": {"steps": 12},
}
LEFT_OUT = {
    "label_free:smollm2",  # its model stands in no config
    "peers:leduc",  # lists all of Leduc poker
    "promptcot2:rationales",  # its figures are those after rounds of many steps
}


def small(config):
    """The config with a tiny model for whichever it has, and few steps."""
    found = {}
    for each in fields(config):
        own = getattr(config, each.name)
        if is_dataclass(own) and not isinstance(own, type):
            own = small(own)
        elif each.name == "model" and str(own).startswith(("smollm2", "tiny")):
            own = TINY
        elif each.name in FEWER and isinstance(own, int):
            own = FEWER[each.name](own)
        if each.init:
            found[each.name] = own
    return type(config)(**found)


def made(start, folder):
    """The folder of a warm start, made in two steps."""
    before = made(start.after, folder / "before") if start.after else ""
    return replace(start, config=small(start.config), after=None).make(folder, 0, {}, before)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        f"{file}:{key}"
        for file in shipped()
        for key, each in experiments_of(file).items()
        if isinstance(each, Experiment) and f"{file}:{key}" not in LEFT_OUT
    ],
)
def test_an_experiment_runs_from_its_starts_to_its_figures(name, tmp_path):
    file, key = name.split(":")
    experiment = experiments_of(file)[key]
    variant = next(iter(experiment.variants))
    starts = {place: each for place, each in experiment.settings(variant).items() if isinstance(each, Start)}
    folders = {place: made(each, tmp_path / str(number)) for number, (place, each) in enumerate(starts.items())}
    config = changed(small(experiment.config_of(variant, folders)), FURTHER.get(name, {}))
    trial = experiment.trial(config, 0, tmp_path / "run")
    for each in experiment.figures:
        assert isinstance(float(figure(trial, each, experiment.derived)), float)
