"""RLCCF on tables: what a vote of several minds adds where they err apart, and where they share their mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from redqueen.chance import derive
from redqueen.players.tabular import TabularPolicy
from redqueen.questions.small.listed import Listed
from redqueen.recipes.labels.rlccf import recipe
from redqueen.settings.learner import Learner
from redqueen.trials.controls import CONTROLS, Controlled, ControlledTraining
from redqueen.trials.experiment import Difference, Experiment, versus
from redqueen.trials.tables import beginning, exact_accuracy
from redqueen.types import Metrics, Task

TASKS = Listed().tasks()
MEMBERS = 4
OWN, ALONE, SHARED = {"right": 0.7}, "each by its own majority", "mistakes shared"
ELSEWHERE = {"right": 0.33, "wrong": 0.4}


@dataclass(frozen=True)
class Apart(Controlled):
    """The method, with members whose mistakes are their own or `shared`."""

    shared: bool = False


def knowing(task: Task, member: int, shared: bool) -> dict[str, float]:
    """How a member begins: good at a quarter of the questions, and with a favourite wrong answer to the others."""
    if task.facts["number"] % MEMBERS == member:
        return {task.answer: OWN["right"]}
    wrong = [choice for choice in task.choices if choice != task.answer]
    own = Random(derive(member, "wrong", task.facts["number"])).choice(wrong)
    return {task.answer: ELSEWHERE["right"], task.facts["tempting"] if shared else own: ELSEWHERE["wrong"]}


def council(config: Apart, seed: int) -> Mapping[str, Any]:
    """The members of a run on tables."""

    def members(learner: Learner, *rest: Any) -> list[TabularPolicy]:
        return [
            beginning(
                TASKS,
                [knowing(task, number, config.shared) for task in TASKS],
                "learner" if not number else f"member{number + 1}",
                learner.learning_rate or 0.0,
            )
            for number in range(config.method.members)
        ]

    return {"members_of": members}


def exact(policy: Any) -> Metrics:
    """The exact accuracy of the first member at the end."""
    return {"exact accuracy": exact_accuracy(policy, TASKS)}


TABLES = Experiment(
    title="The vote of four minds",
    asked="Do four tables correct one another where their mistakes differ, and what are the weights worth?",
    trial=ControlledTraining(recipe, read=exact, parts=council),
    config=Apart(
        recipe.Config(
            learner=Learner("tabular", learning_rate=20.0),
            questions="redqueen.questions.small.listed:Listed",
            members=MEMBERS,
            steps=40,
            tasks=30,
            problems=1,
        )
    ),
    variants={
        "RLCCF": {},
        "all votes alike": {"method.weigh": False},
        SHARED: {"shared": True},
        ALONE: {"paid": "the majority"},
        **{name: changes for name, changes in CONTROLS.items() if name != "the majority"},
    },
    figures=("exact accuracy", "first label_accuracy", "late label_accuracy", "late majority_share"),
    compared=(
        *versus(
            "RLCCF", ("all votes alike", SHARED, ALONE, "rewards dealt anew", "known answers"), ("exact accuracy",)
        ),
        Difference("RLCCF", "RLCCF", "late label_accuracy", "first label_accuracy"),
    ),
    controls=(ALONE, SHARED, "rewards dealt anew", "known answers"),
    seeds=10,
    notes=(
        "60 questions of six listed answers; each member is right with chance .7 on its own quarter, elsewhere with "
        ".33, and says one wrong answer with .40. Updates and attempts are the same everywhere. The accuracy is exact, "
        "and that of the first member.",
    ),
)
