"""The grid of Tricks or Traps (arXiv:2508.08221) on sums: GRPO with each switch of the update thrown alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redqueen.recipes.credit.grpo.recipe import Config, train
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.settings.update import Update
from redqueen.trials.experiment import Experiment, Training, versus
from redqueen.trials.starts import Start, warmed

EASY, HARD = "sums:digits=2", "sums:digits=3"
SWITCHES: Mapping[str, Mapping[str, Any]] = {
    "group deviation off": {"scale": "none"},
    "deviation of the batch (Lite PPO)": {"scale": "batch"},
    "clip-higher": {"clip_high": 0.28},
    "rows weigh the same": {"aggregate": "row"},
    "tokens over a constant": {"aggregate": "constant"},
    "even groups left out": {"even_groups": "drop"},
    "advantages held to 2": {"advantage_clip": 2.0},
    "groups within .1 and .95": {"group_band": (0.1, 0.95)},
    "a fifth of the tokens": {"top_entropy": 0.2},
    "leave one out": {"estimator": "leave-one-out"},
}
"""By name, what each sets; all else is the recipe's, with four minibatches, so that a clip can count."""


def _thrown(**chosen: Any) -> dict[str, Any]:
    return {"update": Update(minibatches=4, **chosen)}


def _grid(questions: str, title: str) -> Experiment:
    able = Start(cold_start.Config(Learner(model="tiny:hidden=96,layers=3"), questions=questions, steps=1500, rest=500))
    return Experiment(
        title=f"The switches of the update, {title}",
        asked="Which switch of the update changes what GRPO learns at equal attempts?",
        trial=Training(train, evaluate_every=50),
        config=Config(warmed(), questions=questions, steps=150, tasks=16, attempts=8, update=Update(minibatches=4)),
        starts={"learner.model": able},
        variants={
            "GRPO": {},
            **{name: _thrown(**chosen) for name, chosen in SWITCHES.items()},
            "nothing learned": {"learner.learning_rate": 0.0},
        },
        figures=("accuracy", "pass@8"),
        compared=versus("GRPO", (*SWITCHES, "nothing learned"), ("accuracy", "pass@8")),
        controls=("nothing learned",),
        seeds=5,
        notes=(
            "A main effect is GRPO minus the one with the switch thrown, seed by seed. What becomes of replies "
            "that are cut off is no switch here: a sum is a few tokens long.",
            "Of twenty comparisons one stands apart from zero by chance. Of eight attempts a band of .1 to .95 leaves "
            "out the even groups alone, hence two equal rows.",
        ),
    )


TRICKS_EASY = _grid(EASY, "sums of up to two digits")
TRICKS_HARD = _grid(HARD, "sums of up to three digits")
