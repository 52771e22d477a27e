"""Warm starts that several experiments share."""

from __future__ import annotations

from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.starts import Start


def imitating(
    questions: str,
    longest: int,
    steps: int = 1500,
    rest: int = 500,
    model: str = "tiny:hidden=96,layers=3,initializer_range=0.1",
) -> Start:
    """A tiny transformer that imitated solutions for some steps, replies of `longest` tokens; its rate falls over the
    last of them, the `rest`."""
    return Start(
        cold_start.Config(
            Learner(model=model, max_completion_length=longest, learning_rate=2e-3),
            questions=questions,
            steps=steps,
            demonstrations_per_step=96,
            rest=rest,
            problems=32,
        )
    )
