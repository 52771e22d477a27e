"""SwS beside more of the same data, and beside new problems that aim at nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean

from redqueen.protocols import Policy
from redqueen.questions.catalogue import find_proposable
from redqueen.questions.small.concepts import Concepts
from redqueen.recipes.proposers.sws import recipe
from redqueen.recipes.proposers.sws.steps import Aim
from redqueen.recipes.self_training import cold_start
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Experiment, Training, Trial, versus
from redqueen.trials.starts import Start, warmed

SCHOOL = cold_start.Config(
    Learner(model="tiny:hidden=64,layers=2", learning_rate=2e-3),
    questions="concepts",
    steps=1000,
    rest=300,
    demonstrations_per_step=96,
    problems=32,
)
EXPERT = Start(replace(SCHOOL, questions="experiments.sws:expert"))


@dataclass(frozen=True)
class Controlled:
    """The method, or a control that shares new problems out over all concepts alike."""

    method: recipe.Config
    steps: int
    aimed: bool = True


def train(config: Controlled, run: Run) -> Policy:
    """The method, aimed as the variant asks for."""
    even = () if config.aimed else tuple(find_proposable(config.method.questions).kinds)
    return recipe.train(replace(config.method, steps=config.steps), run, Aim(config.method.slope, even))


def expert() -> Concepts:
    """Returns the same questions, nearly all answered as one should: what a stronger labeller was shown."""
    return Concepts(skill=0.97, skill_small=0.97, skill_weak=0.97)


def weak_accuracy(trial: Trial) -> float:
    """Returns the accuracy on the concepts that the start is weak in."""
    return fmean(trial.final[f"accuracy/{concept}"] for concept in Concepts().weak)


def kept(trial: Trial) -> float:
    """Returns how many problems were kept."""
    return float(sum(line.get("kept", 0.0) for line in trial.lines))


WEAKNESSES = Experiment(
    title="Weakness-driven synthesis",
    asked="Is more of what is found weak worth more than more of the same data, or than new problems of all concepts?",
    trial=Training(train),
    config=Controlled(
        recipe.Config(warmed(2e-4), questions=SCHOOL.questions, preliminary=64, synthesis=16, data=24, slope=0.02),
        steps=500,
    ),
    starts={"method.learner.model": Start(SCHOOL), "method.labeller.player": EXPERT},
    variants={
        "SwS": {},
        "new problems of all concepts": {"aimed": False},
        "more of the same data": {"method.synthetic": 0.0},
    },
    figures=("accuracy on weak concepts", "accuracy", "problems kept", "late label_accuracy"),
    compared=versus(
        "SwS",
        ("more of the same data", "new problems of all concepts"),
        ("accuracy on weak concepts", "accuracy"),
    ),
    controls=("more of the same data", "new problems of all concepts"),
    derived={"accuracy on weak concepts": weak_accuracy, "problems kept": kept},
    notes=(
        "slope is 0.02: how fast a concept's accuracy has to rise not to count as weak. The labels are a stronger "
        "model's.",
    ),
)
