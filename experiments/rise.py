"""RISE on sums: what verifying one's own solutions teaches beside solving alone."""

from __future__ import annotations

from experiments.absolute_zero import SUMS
from redqueen.questions.small.sums import Sums
from redqueen.questions.taught import Taught
from redqueen.questions.verifying import Verifying
from redqueen.recipes.self_training.rise.recipe import Config, train
from redqueen.trials.experiment import Difference, Experiment, Training, versus
from redqueen.trials.starts import further, warmed

DOMAIN = "experiments.rise:sums"
BALANCED = "late verification/balanced_accuracy"
ALONE, AS_MANY = "solving alone", "solving alone, as many rollouts"


def sums() -> Taught:
    """Returns sums of one and two digits, and demonstrated verdicts on them that are hardly better than chance."""
    inner = Sums(digits=2, lengths=(0.3, 0.7), slips=(0.3, 0.6), name="slipping_sums")
    return Taught(inner, Verifying(0.6), "verified_sums")


VERIFIED_SUMS = Experiment(
    title="RISE on sums",
    asked="At equal updates, does it verify better, solve as well, and vote better than by majority?",
    trial=Training(train, evaluate_every=12),
    config=Config(warmed(3e-4), questions=DOMAIN, steps=250, tasks=8, verifications=64),
    starts={"learner.model": further(SUMS, DOMAIN, 300, 100, demonstrations=64)},
    variants={"RISE": {}, ALONE: {"verifications": 0}, AS_MANY: {"verifications": 0, "tasks": 16}},
    figures=(
        *(BALANCED, "late verification/accepted_right", "late verification/refused_wrong"),
        *("late accuracy", "late majority", "late weighted_vote"),
    ),
    compared=(
        *versus("RISE", (ALONE, AS_MANY), (BALANCED, "late accuracy")),
        Difference("RISE", "RISE", "late weighted_vote", "late majority"),
    ),
    controls=(ALONE, AS_MANY),
    notes=("64 solutions and 64 verdicts a step. Late: the mean of the last four of twenty measurements.",),
)
