"""SSR-Zero on tables, where a judge is right to a known degree, and by a tiny transformer that judges its own
translations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

import numpy as np

from experiments._starts import imitating
from redqueen.chance import derive
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Key
from redqueen.questions.judging import Scoring
from redqueen.questions.small.listed import Listed
from redqueen.questions.small.translation import Translation
from redqueen.questions.taught import Taught, TaughtProposable, taught
from redqueen.recipes.labels.ssr_zero import recipe
from redqueen.settings.learner import Learner
from redqueen.settings.learning_step import LearningStep
from redqueen.trials.controls import CONTROLS, Controlled, ControlledTraining
from redqueen.trials.experiment import Difference, Experiment, versus
from redqueen.trials.starts import warmed
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


NAME = "experiments.ssr_zero:spoken"
SELF, FIRST = "SSR-Zero", "the first judge"


@dataclass(frozen=True)
class Short(Translation):
    """Sentences of three words."""

    @property
    def levels(self) -> tuple[str, ...]:
        return ("3_words",)


def spoken() -> Taught | TaughtProposable:
    """Returns translations, .6 of them demonstrated rightly, and scores of such translations, .95 of them true."""
    return taught(Short(), Scoring(0.95), "spoken")


TRANSLATED = Experiment(
    title="SSR-Zero on translations",
    asked="Does a model that was taught to translate and to score translations come to translate better by its scores?",
    trial=ControlledTraining(recipe, evaluate_every=15),
    config=Controlled(recipe.Config(warmed(3e-4, max_completion_length=16), questions=NAME, steps=60)),
    starts={"method.learner.model": imitating(NAME, 16, 2000, 600)},
    variants={SELF: {}, FIRST: {"method.judge.player": "frozen"}, **CONTROLS},
    figures=(
        *("first accuracy", "accuracy", "pass@8", "first judge_auc", "late judge_auc", "late judge_drift"),
        *("first room", "late reward_auc", "late distinct", "late contrast"),
    ),
    compared=(
        *versus(SELF, (FIRST, *CONTROLS), ("accuracy", "pass@8")),
        Difference(SELF, SELF, "accuracy", "first accuracy"),
        Difference(SELF, SELF, "late judge_auc", "first judge_auc"),
    ),
    controls=tuple(CONTROLS),
    seeds=5,
    one_start=True,
    notes=(
        "Sentences of three words of one toy language in another, .6 of them demonstrated rightly: a wrong "
        "one has its verb where it was in the first language, or another verb. A third of the demonstrations "
        "are scores, .95 of them true. 60 steps of 16 x 8 attempts. Late: the mean of the last fifth.",
    ),
)
