"""How wide the first weights of a tiny model are, and how soon it learns from demonstrations.

transformers draws the first weights of a model of any width with a deviation of .02. Sums of 96 products with them are
small, so attention begins nearly even and its gradients are small too; 1 / sqrt(96) = .10 keeps the size of what is
multiplied.
"""

from __future__ import annotations

from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Flat
from redqueen.trials.experiment import Experiment, Training, versus

USUAL, WIDER, AS_WIDE, WIDEST = ".02", ".05", ".1", ".2"
MODEL = "tiny:hidden=96,layers=3,initializer_range="

WIDTH = Experiment(
    title="First weights of a tiny model",
    asked="From as many demonstrations, does a tiny model learn more with first weights as wide as 1 / sqrt(hidden)?",
    trial=Training(cold_start.train),
    config=cold_start.Config(Flat(model=MODEL + AS_WIDE, max_completion_length=12), steps=500),
    variants={width: {"learner.model": MODEL + width} for width in (AS_WIDE, USUAL, WIDER, WIDEST)},
    figures=("accuracy", "pass@8", "late loss"),
    compared=versus(AS_WIDE, (USUAL, WIDER, WIDEST), ("accuracy", "pass@8", "late loss")),
    controls=(USUAL,),
    notes=("Sums of one to four digits, 128 demonstrations a step, rate 1e-3 falling to a tenth.",),
    seeds=5,
)
