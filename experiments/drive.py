"""DRIVE: whether many attempts at the hardest problems open locks that few attempts at all of them do not."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import numpy as np

from experiments.repair import Locks, lock_opens
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Play, Policy
from redqueen.recipes.curricula.drive.recipe import Config, train
from redqueen.settings.learner import Learner
from redqueen.settings.update import Update
from redqueen.trials.experiment import Experiment, Training, versus
from redqueen.types import Metrics, Task

EACH, LONGEST = 4, 4  # locks of each length, and the most symbols
STEPS = 300


@dataclass(frozen=True)
class GradedLocks:
    """Locks of one to four symbols, as many of each: see `experiments.repair.Locks`."""

    name: str = field(default="graded_locks", init=False)
    roles: tuple[str, ...] = field(default=("solver",), init=False)

    def tasks(self) -> list[Task]:
        return [
            Task(f"lock {number}", "lock", facts={"lock": number, "symbols": symbols_of(number)})
            for number in range(EACH * LONGEST)
        ]

    def play(self, task: Task, rng: Random) -> Play:
        return (yield from Locks(symbols=task.facts["symbols"]).play(task, rng))


def symbols_of(lock: int) -> int:
    """How many symbols the code of a lock has."""
    return 1 + lock // EACH


def chances_to_open(learner: Policy, seed: int) -> Metrics:
    """The exact chances to open a lock, the means over all and over those of three and of four symbols."""
    assert isinstance(learner, TabularPolicy), "the chance is read from a table"
    found = [lock_opens(learner, Locks(symbols=symbols_of(lock)), lock) for lock in range(EACH * LONGEST)]
    return {
        "opens": float(np.mean(found)),
        "opens of the hard half": float(np.mean(found[EACH * LONGEST // 2 :])),
        "opens of four symbols": float(np.mean(found[-EACH:])),
    }


FIGURES = ("opens", "opens of the hard half", "opens of four symbols")
OTHERS = ("all alike, 8 attempts", "any, 64 attempts", "any, then any with 64")
GRADED = Experiment(
    title="DRIVE on locks of one to four symbols, tabular",
    asked="At equal attempts, do the hardest problems with many attempts each do better than all problems with few?",
    trial=Training(train, read=chances_to_open),
    config=Config(
        Learner(learning_rate=8.0),
        game="experiments.drive:GradedLocks",
        steps=STEPS,
        first_stage=STEPS // 2,
        update=Update(aggregate="sum"),
    ),
    variants={
        "any, then the hardest with 64": {},
        "all alike, 8 attempts": {"first_stage": STEPS},
        "any, 64 attempts": {"first_stage": 1, "focus": "any"},
        "any, then any with 64": {"focus": "any"},
        "the hardest with 64 nearly from the start": {"first_stage": 10},
    },
    figures=FIGURES,
    compared=versus(
        "any, then the hardest with 64", (*OTHERS, "the hardest with 64 nearly from the start"), FIGURES[1:]
    ),
    controls=("all alike, 8 attempts", "any, then any with 64"),
    notes=(
        "The chances are exact, from the table. 128 attempts in each step. A table shares nothing between locks, so "
        "that it cannot show what the first stage is for in a network.",
    ),
)
