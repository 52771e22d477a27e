"""Self-Prompt Tuning on questions whose cue says which of four tasks they are: do roles before answers help?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from redqueen.protocols import Policy
from redqueen.questions.roled import Roled, roled
from redqueen.questions.small.cued import CUES, Cued
from redqueen.recipes.self_training import cold_start
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Difference, Experiment, Training, versus
from redqueen.trials.starts import measuring
from redqueen.types import Demonstration, Task

ROLES, NONE, ONE, DEALT = "roles", "no roles", "one role for all", "roles dealt to other questions"


@dataclass(frozen=True)
class Dealt:
    """`Roled` with another role in demonstrations: the same for all, or that of another question."""

    one: bool = False
    inner: Roled = field(default_factory=lambda: roled("cued"), repr=False)
    name: str = field(default="dealt", repr=False)

    @property
    def levels(self) -> tuple[str, ...]:
        return self.inner.levels

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return self.inner.problems(level, count, rng)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> Sequence[bool | None]:
        return self.inner.right(tasks, answers)

    def remarks(self, tasks: Sequence[Task], replies: Sequence[str]) -> Sequence[Mapping[str, float | None]]:
        return self.inner.remarks(tasks, replies)

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        names = tuple(CUES)
        return [
            replace(shown, text=f"{names[0] if self.one else rng.choice(names)}\n{shown.text}")
            for shown in Cued().demonstrations(count, rng)
        ]


def taught(config: cold_start.Config, run: Run) -> Policy:
    """Imitation that is shown none of the questions that measure it."""
    return cold_start.train(config, run, measuring(config, run.tests))


ROLES_BEFORE_ANSWERS = Experiment(
    title="Self-Prompt Tuning on cued numbers",
    asked="Does a model that writes a role before its answer answer better than one that does not?",
    trial=Training(taught),
    config=cold_start.Config(
        Learner(model="tiny:hidden=64,layers=2", max_completion_length=12, learning_rate=2e-3),
        questions="roled:cued",
        steps=600,
        demonstrations_per_step=32,
        rest=200,
        problems=48,
    ),
    variants={
        ROLES: {},
        NONE: {"questions": "cued"},
        ONE: {"questions": "experiments.self_prompt_tuning:Dealt:one=True"},
        DEALT: {"questions": "experiments.self_prompt_tuning:Dealt"},
    },
    figures=("accuracy", *(f"accuracy/{role}" for role in CUES), "role_named", "role_right"),
    compared=(*versus(ROLES, (NONE, ONE, DEALT), ("accuracy",)), Difference(ROLES, DEALT, "role_right")),
    controls=(NONE, ONE, DEALT),
    notes=(
        "Two numbers below 10 and one of eight words, two a task: sum, difference, larger one, both exchanged. Held-"
        "out questions are not among the demonstrations. One role for all: as many tokens before the answer.",
    ),
)
