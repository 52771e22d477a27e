"""Warm starts that several experiments share."""

from __future__ import annotations

from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.starts import Start


def imitating(questions: str, longest: int) -> Start:
    """A tiny transformer that imitated solutions for 1,500 steps, replies of `longest` tokens; its rate falls over the
    last 500."""
    return Start(
        cold_start.Config(
            Learner(model="tiny:hidden=96,layers=3", max_completion_length=longest, learning_rate=2e-3),
            questions=questions,
            steps=1500,
            demonstrations_per_step=96,
            rest=500,
            problems=32,
        )
    )
