"""SSR-Zero on tables: what a judge that is right to a known degree teaches, with the three controls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

import numpy as np

from redqueen.chance import derive
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Key
from redqueen.questions.small.listed import Listed
from redqueen.recipes.labels.ssr_zero import recipe
from redqueen.settings.learner import Learner
from redqueen.settings.learning_step import LearningStep
from redqueen.trials.controls import CONTROLS, Controlled, ControlledTraining
from redqueen.trials.experiment import Difference, Experiment, versus
from redqueen.trials.tables import beginning, exact_accuracy
from redqueen.types import Ask, Metrics, Reply

SET = Listed()
TASKS = SET.tasks()
START = {"right": 0.4, "tempting": 0.3}
ABOUT = re.compile(r"Question (\d+)\?\n=+\w+=+\n\nAnswer:\n=+\w+=+\n(\w)\n")


@dataclass(frozen=True)
class Judged(Controlled):
    """The method, with a judge that prefers the right answer of a question with chance `skill`, else the tempting
    one."""

    skill: float = 0.9


@dataclass(frozen=True)
class KnownJudge:
    """A judge whose probabilities of the digits have the mean 7 for the answer that it prefers, and 3 for others."""

    skill: float
    seed: int
    name: str = "judge"

    def probabilities(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        return [self._chances(ask) for ask in asks]

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        rows = zip(asks, self.probabilities(asks), strict=True)
        return [Reply(Random(ask.seed).choices(ask.choices, row.tolist())[0], self.name) for ask, row in rows]

    def _chances(self, ask: Ask) -> np.ndarray:
        found = ABOUT.search(ask.messages[-1].text)
        assert found, "the judge is shown a question and an answer"
        task = TASKS[int(found[1])]
        knows = Random(derive(self.seed, "knows", int(found[1]))).random() < self.skill
        liked = task.answer if knows else task.facts["tempting"]
        row = np.zeros(len(ask.choices))
        row[[6, 7, 8] if found[2] == liked else [2, 3, 4]] = 1.0 / 3.0
        return row


@dataclass(frozen=True)
class Seats:
    """The table that learns, and its judge, where the recipe asks for its players."""

    config: Any
    judge: KnownJudge
    learner: TabularPolicy

    def __getitem__(self, role: str) -> KnownJudge:
        return self.judge

    def learning_step(self, key: Key) -> LearningStep:
        return LearningStep(self.config, [self.learner], key=key, listed=True)


def seats(config: Judged, seed: int) -> Mapping[str, Any]:
    """The players of a run on tables."""
    chances = [{task.answer: START["right"], task.facts["tempting"]: START["tempting"]} for task in TASKS]
    rate = config.method.learner.learning_rate
    made = partial(Seats, judge=KnownJudge(config.skill, seed), learner=beginning(TASKS, chances, "learner", rate))
    return {"Cast": lambda settings, run: made(settings)}


def exact(policy: Any, seed: int) -> Metrics:
    """The exact accuracy at the end."""
    return {"exact accuracy": exact_accuracy(policy, TASKS)}


TABLES = Experiment(
    title="SSR-Zero with judges of known skill",
    asked="Does a table end at what its judge calls right, wherever it began, and at the start without a signal?",
    trial=ControlledTraining(recipe, read=exact, parts=seats),
    config=Judged(
        recipe.Config(
            learner=Learner("tabular", learning_rate=60.0),
            questions="redqueen.questions.small.listed:Listed",
            steps=40,
            tasks=30,
            problems=1,
        )
    ),
    variants={
        "judge right on 90 %": {},
        "judge right on 60 %": {"skill": 0.6},
        "judge right on 20 %": {"skill": 0.2},
        **CONTROLS,
    },
    figures=("exact accuracy", "late reward_auc", "late distinct", "late label_accuracy", "late alarm/parted"),
    compared=(
        *versus("judge right on 90 %", ("judge right on 60 %", "judge right on 20 %", *CONTROLS), ("exact accuracy",)),
        Difference("known answers", "the majority", "exact accuracy"),
    ),
    controls=tuple(CONTROLS),
    seeds=10,
    notes=(
        "61 questions of six listed answers; at the start the right one has chance .4, a tempting one .3. Updates and "
        "attempts are the same everywhere. The accuracy is exact.",
    ),
)
