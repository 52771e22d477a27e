"""KnowRL on tables and by a tiny transformer: agreement sharpens every verdict to its own majority, true or not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Literal

import numpy as np

from experiments._starts import imitating
from redqueen.credit.group_rewards import OfGroup
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Key, Player
from redqueen.questions.small.sums import Sums
from redqueen.questions.taught import Taught, TaughtProposable, taught
from redqueen.recipes.labels.knowrl import recipe, steps
from redqueen.recipes.labels.knowrl.steps import (
    ASSESS,
    FEASIBLE,
    INFEASIBLE,
    Consensus,
    Pay,
    about_reach,
    both_ways,
)
from redqueen.settings.learner import Learner
from redqueen.settings.learning_step import LearningStep
from redqueen.trials.controls import swapped
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import warmed
from redqueen.trials.tables import asked, beginning
from redqueen.types import Demonstration, Group, Metrics, Refusal, Task

NAME = "experiments.knowrl:reach"
WITHIN, DIGITS, COPIES = 3, 6, 10  # digits that can be added; of the longest; tasks of each
Paid = Literal["consensus", "dealt anew", "truth"]
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
    paid: Paid = "consensus"


@dataclass(frozen=True)
class Otherwise:
    """The reward of verdicts by what is true, or that of the method dealt anew within the group."""

    pay: Pay
    paid: Literal["dealt anew", "truth"]
    within: Callable[[Task], bool]  # whether what is assessed can be done

    def of_group(self, group: Group) -> OfGroup:
        ((name, by_seat),) = Consensus(self.pay).of_group(group).items()
        ((seat, own),) = by_seat.items()
        if self.paid == "dealt anew":
            return {name: {seat: np.array(Random(group.number).sample(own.tolist(), len(own)))}}
        truth = FEASIBLE if self.within(group.task) else INFEASIBLE
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
        with swapped(recipe, parts), swapped(steps, rewarded(config.paid, short)):
            return Training(recipe.train, read=exact)(config.method, seed, folder)


def rewarded(paid: Paid, within: Callable[[Task], bool]) -> Mapping[str, Any]:
    """What verdicts are paid by, where the recipe asks for `Consensus`."""
    otherwise = {"dealt anew": partial(Otherwise, paid="dealt anew", within=within)}
    otherwise["truth"] = partial(Otherwise, paid="truth", within=within)
    return {"Consensus": otherwise.get(paid, Consensus)}


def short(task: Task) -> bool:
    """Whether what a listed task asks for can be done."""
    return int(task.id.split()[2]) <= WITHIN


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


ASSESSED = "experiments.knowrl:assessed"
ADDED, LONGEST = 2, 4  # digits that the start adds, and that are asked for
MEANT, FROZEN = 0.8, "proposer frozen"  # how often a demonstrated task is what was wished for


@dataclass(frozen=True)
class Assessing:
    """Makes demonstrations of assessments, a sum of d digits called feasible with chance sigmoid(2.5 - d + bias), and
    of tasks that were wished for."""

    bias: float

    def __call__(
        self, solved: Sequence[Demonstration], right: Sequence[bool], count: int, rng: Random
    ) -> list[Demonstration]:
        sums, found = Sums(digits=LONGEST), list[Demonstration]()
        for number in range(count):
            task = sums.problems(f"{rng.randint(1, LONGEST)}_digits", 1, rng)[0]
            if number % 2:
                sure = 1.0 / (1.0 + math.exp(digits_of(task) - ADDED - 0.5 - self.bias))
                shown = about_reach(task, "listed")
                assert isinstance(shown, Task)
                found.append(Demonstration(ASSESS.role, shown, FEASIBLE if rng.random() < sure else INFEASIBLE))
            else:
                feasible = added(task) == (rng.random() < MEANT)
                wished = both_ways([sums.invite("sum", (), number)])[0 if feasible else 1]
                found.append(Demonstration("proposer", wished, task.id))
        return found


def digits_of(task: Task) -> int:
    """The digits of the longer number of a sum, or of the sum that is assessed."""
    return max(map(len, task.id.removeprefix("reach of ").split("+")))


def added(task: Task) -> bool:
    """Whether the start adds sums as long as this one."""
    return digits_of(task) <= ADDED


def assessed(bias: float = 0.0) -> Taught | TaughtProposable:
    """Returns sums of up to four digits, of which those of one and two alone are demonstrated, with assessments of all
    and tasks that were wished for."""
    return taught(Sums(digits=LONGEST, lengths=(0.2, 0.8), slips=(0.0, 0.0)), Assessing(bias), "assessed")


@dataclass(frozen=True)
class OneModel:
    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        with swapped(steps, rewarded(config.paid, added)):
            return Training(recipe.train, evaluate_every=15)(config.method, seed, folder)


SUMS = Experiment(
    title="KnowRL on sums",
    asked="Does a model that can add two digits learn from its own agreement which sums it can do?",
    trial=OneModel(),
    config=Method(recipe.Config(warmed(3e-4, max_completion_length=12), questions=ASSESSED, steps=150, problems=16)),
    starts={"method.learner.model": imitating(ASSESSED, 12, 2000, 600)},
    variants={
        "KnowRL": {},
        SURE: {"method.learner.model": imitating(f"{ASSESSED}:bias=0.8", 12, 2000, 600)},
        DEALT: {"paid": "dealt anew"},
        TRUE: {"paid": "truth"},
        FROZEN: {"method.proposer.player": "frozen"},
    },
    figures=(
        *("first boundary_accuracy", "late boundary_accuracy", "first boundary_f1", "late boundary_f1"),
        *("first consistency", "late consistency", "late feasible", "late as_intended", "late written"),
        *("first accuracy", "late accuracy"),
    ),
    compared=(
        *(Difference(name, name, "late boundary_f1", "first boundary_f1") for name in ("KnowRL", SURE)),
        *versus("KnowRL", (SURE, DEALT, TRUE, FROZEN), ("late boundary_accuracy",)),
        Difference("KnowRL", "KnowRL", "late consistency", "first consistency"),
        Difference("KnowRL", "KnowRL", "late accuracy", "first accuracy"),
    ),
    controls=(DEALT, TRUE, FROZEN),
    seeds=10,
    one_start=True,
    notes=(
        "Sums of one to four digits; solutions of three and four are not demonstrated. A sum of d "
        "digits is demonstrated to be feasible with chance sigmoid(2.5 - d), or sigmoid(3.3 - d) (over-confident), "
        "where three digits are called feasible more often than not; of the tasks that are wished for .8 are what was "
        "wished for. Paid by what is true: up to two digits are feasible. The boundary is measured against eight "
        "solutions of each held-out sum. Late: the mean of the last fifth.",
    ),
)
