"""R3: what replay and its alpha do on locks, and what each of its parts does for a model on a file of sums."""

from __future__ import annotations

from pathlib import Path

from experiments.repair import chance_to_open, replayed
from redqueen.recipes.credit.r3.recipe import Config, train
from redqueen.settings.learner import Learner
from redqueen.settings.update import Update
from redqueen.trials.experiment import Experiment, Training, versus

SUMS = str(Path(__file__).parents[1] / "examples" / "arithmetic.jsonl")
REPLAY = "R3, alpha 1"
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
PARTS = Experiment(
    title="The parts of R3 on a file of sums, SmolLM2",
    asked="Which of replay, reflection and ranking teaches a model what plain GRPO does not, at equal updates?",
    trial=Training(train),
    config=Config(
        Learner(model="smollm2-135m", max_completion_length=32, learning_rate=2e-4),
        questions=SUMS,
        steps=60,
        tasks=8,
        attempts=8,
    ),
    variants={
        "R3": {},
        "no replay": {"update": Update(even_groups="keep")},
        "no reflection": {"reflect_below": 0.0},
        "no ranking": {"rank": 0.0},
        "GRPO": {"update": Update(even_groups="keep"), "reflect_below": 0.0, "rank": 0.0, "brevity": 0.0},
    },
    figures=("first accuracy", "accuracy", "late reflecting", "late ranked"),
    compared=versus("R3", ("no replay", "no reflection", "no ranking", "GRPO"), ("accuracy",)),
    controls=("GRPO",),
    seeds=3,
    notes=(
        "A task that is shown with a mistake is one group more of the step: compare `episodes`. The same file as "
        "[grpo](grpo.md).",
    ),
)
