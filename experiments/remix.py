"""ReMix: how many attempts are saved by playing part of each batch again, on buttons, and what becomes of a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import numpy as np

from experiments.sage import WARM
from redqueen.chance import derive
from redqueen.games.talk import told
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Play, Policy
from redqueen.recipes.credit.remix.recipe import Config, train
from redqueen.settings.learner import Learner
from redqueen.settings.update import Update
from redqueen.trials.experiment import Experiment, Training, Trial, versus
from redqueen.trials.starts import Start, warmed
from redqueen.types import Ask, Metrics, Outcome, Seat, Task

NAMES = tuple("abcdefghij")
PRESSER = Seat("presser")
GOAL = 0.9


@dataclass(frozen=True)
class Buttons:
    """Each panel has ten buttons, of which one is right, which alone is scored."""

    panels: int = 32
    name: str = field(default="buttons", init=False)
    roles: tuple[str, ...] = field(default=("presser",), init=False)

    def tasks(self) -> list[Task]:
        return [Task(f"panel {number}", "panel", facts={"panel": number}) for number in range(self.panels)]

    def play(self, task: Task, rng: Random) -> Play:
        (reply,) = yield [self.asked(task.facts["panel"])]
        return Outcome({PRESSER: float(reply.text == self.right(task.facts["panel"]))})

    def right(self, panel: int) -> str:
        return NAMES[derive(panel, "button") % len(NAMES)]

    def asked(self, panel: int) -> Ask:
        return Ask(PRESSER, told(f"Panel {panel}. Which button?"), NAMES)


def presses_right(learner: Policy, seed: int) -> Metrics:
    """The exact chance to press the right button, the mean over all panels."""
    assert isinstance(learner, TabularPolicy), "the chance is read from a table"
    game = Buttons()
    chances = learner.probabilities([game.asked(panel) for panel in range(game.panels)])
    right = [float(each[NAMES.index(game.right(panel))]) for panel, each in enumerate(chances)]
    return {"right": float(np.mean(right))}


def until_goal(trial: Trial) -> float:
    """The thousands of attempts after which nine of ten in five steps are right; all of them where they never are."""
    right = [line["reward/presser"] for line in trial.lines]
    played = np.cumsum([line["episodes"] for line in trial.lines]) / 1000.0
    reached = [at for at in range(4, len(right)) if np.mean(right[at - 4 : at + 1]) >= GOAL]
    return float(played[reached[0] if reached else -1])


def attempts_in_all(trial: Trial) -> float:
    """Thousands of attempts that were played."""
    return float(np.sum([line["episodes"] for line in trial.lines]) / 1000.0)


REMIX = "ReMix"
ON_POLICY, TWICE, OLD_ONCE = "on-policy", "on-policy, two updates", "old, one update"
BUTTONS = Experiment(
    title="ReMix on buttons, tabular",
    asked="How many attempts does a table need until it presses the right one of ten buttons nine times of ten?",
    trial=Training(train, read=presses_right),
    config=Config(
        Learner(learning_rate=8.0), game="experiments.remix:Buttons", steps=120, tasks=8, attempts=8, rebirth=0
    ),
    variants={
        REMIX: {},
        ON_POLICY: {"old": 0.0, "update": Update(updates_per_batch=1)},
        TWICE: {"old": 0.0},
        OLD_ONCE: {"update": Update(updates_per_batch=1)},
        "clipped to the writer": {"update": Update(correct="none")},
        "p .75": {"old": 0.75},
    },
    figures=("thousands of attempts until .9", "right", "thousands of attempts"),
    compared=versus(
        REMIX, (ON_POLICY, TWICE, OLD_ONCE, "clipped to the writer", "p .75"), ("thousands of attempts until .9",)
    ),
    controls=(ON_POLICY, TWICE),
    derived={"thousands of attempts until .9": until_goal, "thousands of attempts": attempts_in_all},
    notes=(
        "No rebirth. A step of ReMix plays three fifths of what one on-policy plays. A table cannot collapse: that is "
        "asked of a model by `remix:sums`.",
        "Seed 100 alone was looked at while the learning rate was chosen, for the on-policy arm.",
    ),
)
SUMS = Experiment(
    title="ReMix on sums, a tiny transformer",
    asked="Does ReMix come as far as on-policy updates do, with half of the attempts, and what does without its parts?",
    trial=Training(train),
    config=Config(
        warmed(max_completion_length=12, learning_rate=3e-4), questions="sums", steps=150, tasks=16, attempts=8
    ),
    starts={"learner.model": Start(WARM)},
    variants={
        REMIX: {},
        "on-policy, equal updates": {"steps": 250, "old": 0.0, "update": Update(updates_per_batch=1)},
        "on-policy, equal attempts": {"steps": 110, "old": 0.0, "update": Update(updates_per_batch=1)},
        "no rebirth": {"rebirth": 0},
        "p .75, no rebirth, no pull": {"old": 0.75, "rebirth": 0, "update": Update(kl=0.0)},
    },
    figures=("first accuracy", "accuracy", "thousands of attempts", "late entropy", "late completion_length"),
    compared=versus(
        REMIX,
        (
            "on-policy, equal updates",
            "on-policy, equal attempts",
            "no rebirth",
            "p .75, no rebirth, no pull",
        ),
        ("accuracy",),
    ),
    controls=("on-policy, equal updates", "on-policy, equal attempts"),
    derived={"thousands of attempts": attempts_in_all},
    notes=(
        "250 updates are 100 steps of two and 50 of one. `thousands of attempts` says what each arm played.",
        "The start and the learning rate are those of `sage:hints`, chosen there on seed 100.",
    ),
)
