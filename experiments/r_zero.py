"""R-Zero on eight concepts: what labels by majority teach, how right they are, and what the proposer adds."""

from __future__ import annotations

from experiments.sws import EXPERT
from redqueen.questions.small.concepts import Concepts
from redqueen.recipes.proposers.r_zero.recipe import Config, train
from redqueen.settings.roles import Role
from redqueen.trials.experiment import Changes, Difference, Experiment, Training, versus
from redqueen.trials.starts import further, warmed

UNSTEADY = "experiments.r_zero:unsteady"


def unsteady() -> Concepts:
    """Returns the concepts, every other answer at random on six of eight: there majorities are right where single
    answers are not. The other two are mistaken for others, and most answers agree on it."""
    return Concepts(skill=0.5)


OTHERS: dict[str, Changes] = {
    "proposer frozen": {"proposer": Role("frozen"), "steps": 80},  # as many updates of the solver
    "reward as coded": {"as_coded": True},
    "every question kept": {"band": (0.0, 1.0)},
}
MAJORITIES = Experiment(
    title="R-Zero on eight concepts, with its controls",
    asked="Without any answer, what does the solver gain, and is it more than with a proposer that does not learn?",
    trial=Training(train),
    config=Config(learner=warmed(3e-4, max_completion_length=12), questions=UNSTEADY, steps=100, tasks=32),
    starts={"learner.model": further(EXPERT, UNSTEADY, 150, 50, max_completion_length=12)},
    variants={"R-Zero": {}, **OTHERS},
    figures=(
        *("first accuracy", "accuracy", "pass@8", "first label_accuracy", "late label_accuracy"),
        "late proposals/solve_rate",
    ),
    compared=(
        Difference("R-Zero", "R-Zero", "accuracy", "first accuracy"),
        *versus("R-Zero", tuple(OTHERS), ("accuracy",)),
    ),
    controls=("proposer frozen",),
    notes=("No answer reaches a reward.",),
)
