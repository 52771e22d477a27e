"""PromptCoT 2.0: what the E-step is worth to the prompter, and what its problems are worth to the solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import nan
from statistics import fmean

from redqueen.protocols import Policy
from redqueen.questions.small.templates import TEMPLATES
from redqueen.recipes.proposers.promptcot2 import recipe
from redqueen.recipes.proposers.promptcot2.questions import find_explained
from redqueen.recipes.proposers.promptcot2.steps import SelfPlay
from redqueen.recipes.self_training import cold_start
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import Start, further, warmed

ABLE = cold_start.Config(
    Learner(model="tiny:hidden=64,layers=2", learning_rate=2e-3),
    questions="templates:skill=1,skill_hard=1",
    steps=2400,
    rest=800,
    demonstrations_per_step=96,
    problems=32,
)
HARD = tuple(template.rationale for template in TEMPLATES if template.hard)
PHASE, ROUNDS, SELF_PLAY = 6, 3, 160
BY_ROUND = ("bound", "problem_logprob", "generated/valid_share", "generated/solve_rate", "generated/spread")


@dataclass(frozen=True)
class Controlled:
    """The method, or self-play on the question set's seeds in place of what the prompter writes."""

    method: recipe.Config
    steps: int
    on_seeds: bool = False


def train(config: Controlled, run: Run) -> Policy:
    """The method, with the problems of self-play that the variant asks for."""
    questions = find_explained(config.method.questions)
    self_play = SelfPlay(questions, questions.seeds() if config.on_seeds else ())
    return recipe.train(replace(config.method, steps=config.steps), run, self_play)


def hard_accuracy(trial: Trial) -> float:
    """Returns the accuracy on the hard templates."""
    return fmean(trial.final[f"accuracy/{kind}"] for kind in HARD)


def first_hard_accuracy(trial: Trial) -> float:
    """Returns the accuracy on the hard templates at the start."""
    return fmean(trial.first(f"accuracy/{kind}") for kind in HARD)


def after_rounds(trial: Trial, name: str, rounds: int = ROUNDS) -> float:
    """Returns a figure of the prompter after its last round, or after `rounds`; 0 is the start."""
    return float(trial.lines[2 * PHASE * rounds].get(name, nan))


RATIONALES = Experiment(
    title="Rationales for problems",
    asked="Is the E-step worth anything to the prompter, and are its problems worth more to the solver than the seeds?",
    trial=Training(train, evaluate_every=2 * PHASE),
    config=Controlled(
        recipe.Config(
            warmed(max_completion_length=24),
            questions="templates",
            rounds=ROUNDS,
            phase=PHASE,
            corpus=64,
            problems=16,  # more would hold out most easy problems, of which there are 36 of a kind
        ),
        steps=2 * PHASE * ROUNDS + SELF_PLAY,
    ),
    # a model that can solve the problems and was taught to say something else more often than not
    starts={"method.learner.model": further(Start(ABLE), "templates", 150, 50)},
    variants={
        "PromptCoT 2.0": {},
        "without the E-step": {"method.candidates": 1},
        "self-play on the seeds": {"on_seeds": True},
    },
    figures=(
        "first hard accuracy",
        "hard accuracy",
        *(f"bound after round {number}" for number in range(1, ROUNDS)),
        *(f"{when}{name}{then}" for name in BY_ROUND for when, then in (("first ", ""), ("", " after the rounds"))),
        *("late label_accuracy", "late posed"),
    ),
    compared=(
        *versus("PromptCoT 2.0", ("without the E-step",), ("hard accuracy", "bound after the rounds")),
        *versus("PromptCoT 2.0", ("self-play on the seeds",), ("hard accuracy",)),
        Difference("PromptCoT 2.0", "PromptCoT 2.0", "hard accuracy", "first hard accuracy"),
        Difference("PromptCoT 2.0", "PromptCoT 2.0", "bound after round 1", "first bound"),
        Difference("PromptCoT 2.0", "PromptCoT 2.0", "bound after round 2", "bound after round 1"),
        Difference("PromptCoT 2.0", "PromptCoT 2.0", "bound after the rounds", "bound after round 2"),
        *(
            Difference("PromptCoT 2.0", "PromptCoT 2.0", f"{name} after the rounds", f"first {name}")
            for name in BY_ROUND
            if name != "bound"
        ),
    ),
    controls=("without the E-step", "self-play on the seeds"),
    derived={
        "first hard accuracy": first_hard_accuracy,
        "hard accuracy": hard_accuracy,
        **{
            f"bound after round {number}": partial(after_rounds, name="bound", rounds=number)
            for number in range(1, ROUNDS)
        },
        **{f"{name} after the rounds": partial(after_rounds, name=name) for name in BY_ROUND},
    },
)
