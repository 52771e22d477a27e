"""R3: what replay and its alpha do on locks, and what R3 teaches a model that is seldom right."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from random import Random

from experiments.repair import chance_to_open, replayed
from redqueen.curricula.held_out import HELD_OUT
from redqueen.questions.dataset import Dataset
from redqueen.recipes.credit.r3.recipe import Config, train
from redqueen.settings.learner import Learner
from redqueen.settings.update import Update
from redqueen.trials.experiment import Experiment, Training, versus
from redqueen.types import Task

FILE = Path(__file__).parents[1] / "examples" / "arithmetic.jsonl"
RARE = f"{Path(__file__)}:Rare"
TWO_DIGITS = re.compile(r"\b\d\d [+-] \d\d =")
AGAIN = 32  # problems to train on, so that each is met some seven times
REPLAY, NO_RANKING, MORE = "R3, alpha 1", "R3, no ranking", "GRPO, as many attempts or more"
MIXED = Experiment(
    title="Replay and its alpha on locks, tabular",
    asked="Where a group is right once in 1,296 attempts, does an earlier success in the group teach, at any alpha?",
    trial=Training(train, read=chance_to_open),
    config=Config(
        Learner(learning_rate=8.0),
        game="experiments.repair:Locks",
        steps=200,
        tasks=16,
        attempts=8,
        update=Update(aggregate="sum"),
    ),
    variants={
        REPLAY: {},
        "R3, alpha 2": {"alpha": 2.0},
        "R3, alpha 1/2": {"alpha": 0.5},
        "no replay": {"update": Update(aggregate="sum", even_groups="keep")},
    },
    figures=("opens", "never", "replayed in a step"),
    compared=versus(REPLAY, ("R3, alpha 2", "R3, alpha 1/2", "no replay"), ("opens",)),
    controls=("no replay",),
    derived={"replayed in a step": replayed},
    notes=("`opens` is exact, from the table: see [repair](repair.md). 25,600 attempts each, but for those replayed.",),
)


@dataclass(frozen=True)
class Rare(Dataset):
    """Sums and differences of two digits in the file, of which SmolLM2 gets one reply in a hundred right: a few to
    train on, all that are held out to measure."""

    path: str = str(FILE)
    held_out: float = 0.3

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        rare = [one.task for one in self.gold(level) if TWO_DIGITS.search(one.task.prompt)]
        kept = rare if level == HELD_OUT else rare[:AGAIN]
        return rng.sample(kept, min(count, len(kept)))


PLAIN = {"update": Update(even_groups="keep"), "reflect_below": 0.0, "rank": 0.0, "brevity": 0.0}
SCARCE = Experiment(
    title="Where one reply in a hundred is right, SmolLM2",
    asked="Where most groups are all wrong, does R3 teach what plain GRPO does not, in as many steps?",
    trial=Training(train, evaluate_every=20),
    config=Config(
        Learner(model="smollm2-135m", max_completion_length=32, learning_rate=2e-4, dtype="bfloat16"),
        questions=RARE,
        steps=60,
        tasks=4,
        attempts=8,
    ),
    variants={
        NO_RANKING: {"rank": 0.0},
        "R3": {},
        "GRPO": PLAIN,
        MORE: {**PLAIN, "tasks": 8},
    },
    figures=("first accuracy", "accuracy", "pass@8", "late truncated", "late reflecting", "late ranked"),
    compared=versus(NO_RANKING, ("R3", "GRPO", MORE), ("accuracy", "pass@8")),
    controls=("GRPO", MORE),
    seeds=3,
    notes=(
        f"The sums and differences of two numbers of two digits in examples/arithmetic.jsonl: {AGAIN} to train on, and "
        "those that are held out measure. A task that is shown with a mistake is one group more of the step: twice the "
        "tasks are as many as that can come to.",
    ),
)
