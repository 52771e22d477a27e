"""KnowRL on tables: agreement sharpens every verdict to its own majority, whether that is true or not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Literal

import numpy as np

from redqueen.credit.group_rewards import OfGroup
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Key, Player
from redqueen.recipes.labels.knowrl import recipe, steps
from redqueen.recipes.labels.knowrl.steps import ASSESS, FEASIBLE, INFEASIBLE, Consensus, Pay, about_reach
from redqueen.settings.learner import Learner
from redqueen.settings.learning_step import LearningStep
from redqueen.trials.controls import swapped
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.tables import asked, beginning
from redqueen.types import Group, Metrics, Refusal, Task

NAME = "experiments.knowrl:reach"
WITHIN, DIGITS, COPIES = 3, 6, 10  # digits that can be added; of the longest; tasks of each
DEALT, TRUE, SURE = "verdicts dealt anew", "paid by what is true", "over-confident"


@dataclass(frozen=True)
class Reach:
    """Tasks of one to six digits, of which those up to three can be done."""

    name: str = "reach"
    kinds: tuple[str, ...] = ("task",)
    levels: tuple[str, ...] = ("task",)

    def tasks(self) -> list[Task]:
        return [self._task(digits, copy) for digits in range(1, DIGITS + 1) for copy in range(COPIES)]

    def _task(self, digits: int, copy: int) -> Task:
        within = "done" if digits <= WITHIN else ""
        return Task(f"{digits} digits, {copy}", "task", f"Task {digits}.{copy}", within, choices=("done", "not"))

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return rng.sample(self.tasks(), min(count, DIGITS * COPIES))

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [bool(task.answer) and answer == task.answer for task, answer in zip(tasks, answers, strict=True)]

    def seeds(self) -> list[Task]:
        return [Task("seed", "task", "Task 0.0", "done", choices=("done", "not"))]

    def sources(self, kind: str) -> tuple[str, ...]:
        return self.kinds

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        """An invitation whose legal replies are a few tasks of each length."""
        names = tuple(task.prompt for task in self.tasks()[number % COPIES :: COPIES])
        return Task(f"invitation {number}", kind, f"Write a task ({number % COPIES}).", choices=names)

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        known = {task.prompt: task for task in self.tasks()}
        return [known[reply] for reply in replies]


def reach() -> Reach:
    """Returns the tasks, as a question set that is found by name."""
    return Reach()


@dataclass(frozen=True)
class Method:
    """KnowRL with an assessor that calls a task of d digits feasible with chance sigmoid(3.5 - d + bias) at first, and
    what its verdicts are paid by."""

    method: recipe.Config
    bias: float = 0.0
    paid: Literal["consensus", "dealt anew", "truth"] = "consensus"


@dataclass(frozen=True)
class Otherwise:
    """The reward of verdicts by what is true, or that of the method dealt anew within the group."""

    pay: Pay
    paid: Literal["dealt anew", "truth"]

    def of_group(self, group: Group) -> OfGroup:
        ((name, by_seat),) = Consensus(self.pay).of_group(group).items()
        ((seat, own),) = by_seat.items()
        if self.paid == "dealt anew":
            return {name: {seat: np.array(Random(group.number).sample(own.tolist(), len(own)))}}
        truth = FEASIBLE if int(group.task.id.split()[2]) <= WITHIN else INFEASIBLE
        said = [each.outcome.facts["verdict"] == truth for each in group.attempts]
        return {name: {seat: np.array(said, dtype=np.float64)}}


def start_of(bias: float, rate: float) -> TabularPolicy:
    """The table as it begins."""
    shown = [about_reach(task, "listed") for task in Reach().tasks()]
    posed = [each for each in shown if isinstance(each, Task)]
    sure = [1.0 / (1.0 + math.exp(-(WITHIN + 0.5 - int(task.id.split()[2]) + bias))) for task in posed]
    return beginning(posed, [{FEASIBLE: chance} for chance in sure], "learner", rate, ASSESS)


@dataclass(frozen=True)
class Seats:
    """The table that learns, where the recipe asks for its players."""

    config: Any
    learner: TabularPolicy

    def __getitem__(self, role: str) -> Player:
        return self.learner

    @property
    def learning(self) -> list[TabularPolicy]:
        return [self.learner]

    def spoken(self, trajectories: Sequence[Any]) -> list[tuple[TabularPolicy, Sequence[Any]]]:
        return [(self.learner, trajectories)]

    def learning_step(self, key: Key) -> LearningStep:
        return LearningStep(self.config, [self.learner], key=key, listed=True)


def accuracy_of(feasible: Sequence[float]) -> float:
    """The mean chance of a true verdict, where tasks of each length are called feasible with these chances."""
    return float(np.mean([p if digits <= WITHIN else 1.0 - p for digits, p in enumerate(feasible, 1)]))


def exact(policy: Any, seed: int) -> Metrics:
    """The exact accuracy of a verdict, and the mean share of the commoner one."""
    tasks = [each for each in (about_reach(task, "listed") for task in Reach().tasks()) if isinstance(each, Task)]
    rows = policy.probabilities([asked(task, ASSESS) for task in tasks])
    chances = np.array([row[0] for row in rows]).reshape(DIGITS, COPIES)
    return {
        "verdict accuracy": float(np.mean([accuracy_of(column) for column in chances.T.tolist()])),
        "agreement": float(np.maximum(chances, 1.0 - chances).mean()),
        "four digits feasible": float(chances[WITHIN].mean()),
    }


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        table = start_of(config.bias, config.method.learner.learning_rate or 0.0)
        parts: Mapping[str, Any] = {
            "Cast": lambda settings, run: Seats(settings, table),
            "without_format": lambda learner, roles: learner,
        }
        otherwise = partial(Otherwise, paid="truth" if config.paid == "truth" else "dealt anew")
        reward = {"Consensus": Consensus if config.paid == "consensus" else otherwise}
        with swapped(recipe, parts), swapped(steps, reward):
            return Training(recipe.train, read=exact)(config.method, seed, folder)


TABLES = Experiment(
    title="KnowRL with verdicts of known bias",
    asked="Does agreement make verdicts true, or does it make them certain?",
    trial=OneSeed(),
    config=Method(
        recipe.Config(
            learner=Learner("tabular", learning_rate=40.0),
            questions=NAME,
            steps=100,
            proposals=30,
            references=1,
            capacity=1,  # so that a task may be written again in a later step
            problems=1,
        )
    ),
    variants={
        "KnowRL": {},
        SURE: {"bias": 0.8},
        f"{SURE}, paid as intended": {"bias": 0.8, "method.pay": "intended"},
        DEALT: {"paid": "dealt anew"},
        TRUE: {"paid": "truth"},
        f"{SURE}, {TRUE}": {"bias": 0.8, "paid": "truth"},
    },
    figures=(
        "verdict accuracy",
        "agreement",
        "four digits feasible",
        "first consistency",
        "late consistency",
        "late feasible",
        "late as_intended",
    ),
    compared=(
        *versus("KnowRL", (SURE, DEALT, TRUE), ("verdict accuracy", "agreement")),
        Difference(SURE, f"{SURE}, {TRUE}", "verdict accuracy"),
        Difference(SURE, f"{SURE}, paid as intended", "verdict accuracy"),
        Difference(SURE, SURE, "late consistency", "first consistency"),
    ),
    controls=(DEALT, TRUE),
    seeds=10,
    notes=(
        "Sixty tasks of one to six digits, of which those of up to three can be done. At the start a task of d digits "
        "is called feasible with chance sigmoid(3.5 - d), accuracy .788, or sigmoid(4.3 - d) (over-confident), .766, "
        "where four digits are called feasible more often than not. Rollouts and updates are the same everywhere. "
        "Accuracy and agreement are exact.",
    ),
)
