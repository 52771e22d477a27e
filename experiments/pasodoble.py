"""PasoDoble on facts and sums: without labels, without its gate, and in turns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from redqueen.protocols import Policy
from redqueen.recipes.proposers.pasodoble import recipe
from redqueen.recipes.proposers.pasodoble.steps import Rewards
from redqueen.recipes.self_training import cold_start
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import Start, warmed

FACTS = cold_start.Config(
    learner=Learner(model="tiny:hidden=64,layers=3", max_completion_length=20),
    questions="facts",
    steps=1200,
    rest=400,
    demonstrations_per_step=96,
    problems=24,
)
REWARD = "proposer/reward/proposer"
STEPS = 150


@dataclass(frozen=True)
class Controlled:
    """The method, or rewards without its gates."""

    method: recipe.Config
    steps: int
    gate: bool = True


def train(config: Controlled, run: Run) -> Policy:
    """The method with the rewards that the variant asks for."""
    method = replace(config.method, steps=config.steps)
    return recipe.train(
        method,
        run,
        Rewards(method.floor, method.diverse, method.diversity, method.window, config.gate, method.truncated_score),
    )


def rewards_of(trial: Trial) -> list[float]:
    """Returns the proposer's mean reward in each step in which it learned."""
    return [float(line[REWARD]) for line in trial.lines if REWARD in line]


def unsteady(trial: Trial) -> float:
    """Returns the deviation of the change of the proposer's mean reward from one step in which it learned to the next,
    over the square root of two: what is left of its variance when the trend is taken out."""
    rewards = rewards_of(trial)
    return float(np.diff(rewards).std() / np.sqrt(2.0)) if len(rewards) > 1 else float("nan")


def late_reward(trial: Trial) -> float:
    """Returns the proposer's mean reward in the last fifth of the steps in which it learned."""
    rewards = rewards_of(trial)
    return float(np.mean(rewards[-max(1, len(rewards) // 5) :])) if rewards else float("nan")


def early_reward(trial: Trial) -> float:
    """Returns the proposer's mean reward in the first fifth of the steps in which it learned."""
    rewards = rewards_of(trial)
    return float(np.mean(rewards[: max(1, len(rewards) // 5)])) if rewards else float("nan")


DUAL_PLAY = Experiment(
    title="PasoDoble on facts and sums, with its controls",
    asked="Without labels, what is a proposer that learns worth, what does its gate prevent, and are turns steadier?",
    trial=Training(train, evaluate_every=STEPS),
    config=Controlled(recipe.Config(learner=warmed(3e-4, max_completion_length=20), passages=6), steps=STEPS),
    starts={"method.learner.model": Start(FACTS)},
    variants={
        "online": {},
        "online, no gate": {"gate": False},
        "offline, 10 steps each": {
            "method.phase": 10,
            "steps": 2 * STEPS,
        },  # each of the two learns in half of the steps
        "proposer frozen": {"method.proposer.player": "frozen"},
    },
    figures=(
        *("first accuracy", "accuracy", "first valid_share", "late valid_share", "late label_accuracy"),
        *("late proposals/solve_rate", "late diversity", "proposer's reward, late", "proposer's reward, unsteadiness"),
    ),
    compared=(
        *versus("online", ("proposer frozen", "offline, 10 steps each"), ("accuracy",)),
        *versus("online", ("online, no gate",), ("late valid_share",)),
        Difference("online, no gate", "online, no gate", "proposer's reward, late", "proposer's reward, early"),
        *versus("offline, 10 steps each", ("online",), ("proposer's reward, unsteadiness",)),
    ),
    controls=("proposer frozen",),
    derived={
        "proposer's reward, late": late_reward,
        "proposer's reward, early": early_reward,
        "proposer's reward, unsteadiness": unsteady,
    },
    notes=("No label is used.",),
)
