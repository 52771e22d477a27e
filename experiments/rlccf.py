"""RLCCF on tables: what several minds add where they err apart, and where they share their mistakes; and readers of a
noisy channel, of whose texts the one nearest to the others is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from redqueen.chance import derive
from redqueen.checks.consensus import apart, distances, nearest
from redqueen.measures.judges import auc
from redqueen.players.tabular import TabularPolicy
from redqueen.questions.small.listed import Listed
from redqueen.recipes.labels.rlccf import recipe
from redqueen.settings.learner import Learner
from redqueen.trials.controls import CONTROLS, Controlled, ControlledTraining
from redqueen.trials.experiment import Difference, Experiment, Trial, versus
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


def exact(policy: Any, seed: int) -> Metrics:
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


DIGITS, READERS = "0123456789", 3
APART, ALIKE = "errors of their own", "errors shared"


@dataclass(frozen=True)
class Channel:
    """Strings of five digits, each digit taken for another by a reader with the chance `slips`: for which other, each
    reader has a table of its own, or all have `shared` one and the same slips."""

    shared: bool = False
    strings: int = 400
    slips: float = 0.12


def printed(texts: Sequence[str]) -> np.ndarray:
    """[n] the entropy that the paper of Consensus Entropy prints: of the likenesses of a text to all."""
    like = 1.0 - apart(texts)
    shares = like / like.sum(axis=1, keepdims=True)
    return np.asarray(-(np.where(shares > 0, shares, 1.0) * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1))


@dataclass(frozen=True)
class Read:
    """What the distances of the readings of one seed say; nothing is trained."""

    def __call__(self, config: Channel, seed: int, folder: Path) -> Trial:
        rng = Random(derive(seed, "channel"))
        takes = [dict(zip(DIGITS, rng.sample(DIGITS, len(DIGITS)), strict=True)) for _ in range(READERS)]
        rows = [self._read(config, takes, rng) for _ in range(config.strings)]
        wrong = [text != truth for truth, said in rows for text in said]
        far = [each for _, said in rows for each in distances(said).tolist()]
        entropy = [each for _, said in rows for each in printed(said).tolist()]
        right = [[text == truth for text in said] for truth, said in rows]
        return Trial(
            ({"step": 0.0},),
            {
                "errors_auc": auc(far, wrong) or 0.5,
                "printed_auc": auc(entropy, wrong) or 0.5,
                "chosen": float(np.mean([nearest(said) == truth for truth, said in rows])),
                "best reader": float(np.mean(right, axis=0).max()),
            },
            updates=0,
        )

    def _read(self, config: Channel, takes: Sequence[Mapping[str, str]], rng: Random) -> tuple[str, list[str]]:
        truth = "".join(rng.choices(DIGITS, k=5))
        slips = [[rng.random() < config.slips for _ in truth] for _ in range(READERS)]
        of = [0] * READERS if config.shared else range(READERS)
        said = ["".join(takes[who][d] if slip else d for d, slip in zip(truth, slips[who], strict=True)) for who in of]
        return truth, said


CHANNEL = Experiment(
    title="The nearest of three readings",
    asked="Does the distance of a reading to the others say that it is wrong, and is the nearest one right?",
    trial=Read(),
    config=Channel(),
    variants={APART: {}, ALIKE: {"shared": True}},
    figures=("errors_auc", "printed_auc", "chosen", "best reader"),
    compared=(
        *versus(APART, (ALIKE,), ("errors_auc", "chosen")),
        Difference(APART, APART, "chosen", "best reader"),
        Difference(APART, APART, "errors_auc", "printed_auc"),
    ),
    controls=(ALIKE,),
    seeds=10,
    notes=(
        "400 strings of five digits a seed, three readers that take each digit for another with the chance .12. "
        "`printed_auc` has the entropy that the paper prints in place of the mean distance.",
    ),
)
