"""SvS: what variational synthesis keeps alive, beside plain reinforcement from the same labelled problems."""

from __future__ import annotations

from typing import Any

from redqueen.recipes.proposers.svs.recipe import Config, train
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Experiment, Training, Trial, versus
from redqueen.trials.starts import Start, warmed

WARM = cold_start.Config(  # so long that a sum is seldom wrong: what is wrong is the way that is taken
    learner=Learner(model="tiny:hidden=96,layers=3", max_completion_length=24, learning_rate=2e-3),
    questions="variants:skill=0.3,faithful=1",
    steps=2000,
    demonstrations_per_step=96,
    rest=700,
    problems=32,
)
UNVARIED: dict[str, Any] = {"middling": (0.0, 0.0)}  # no original of accuracy zero has a correct response to vary
PLAIN = {"plain RLVR, equal updates": UNVARIED, "plain RLVR, equal rollouts": UNVARIED | {"attempts": 14}}


def answers_kept(trial: Trial) -> float:
    """Returns the entropy of answers at the end, as a share of that at the start."""
    return float(trial.final["entropy/solver"] / trial.first("entropy/solver"))


def entropy_kept(trial: Trial) -> float:
    """Returns the entropy of all tokens learned from at the end, as a share of that at the start."""
    return trial.late("entropy") / trial.first("entropy")


VARIATIONAL = Experiment(
    title="Variational synthesis",
    asked="Do variants of the labelled problems keep pass@8 and entropy where plain reinforcement loses them?",
    trial=Training(train),
    config=Config(
        learner=warmed(max_completion_length=24),
        questions="variants",
        steps=200,
        labelled=12,  # of each level: so few that plain reinforcement comes to know them by heart
        tasks=16,
        responses=8,
        variants=6,
    ),
    starts={"learner.model": Start(WARM)},
    one_start=True,
    variants={"SvS": {}, **PLAIN},
    figures=(
        *("first accuracy", "accuracy", "first pass@8", "pass@8", "pass@8/turned"),
        *("answer entropy kept", "entropy kept", "late rollouts", "late accepted_true"),
    ),
    compared=versus("SvS", tuple(PLAIN), ("pass@8", "accuracy", "answer entropy kept")),
    controls=tuple(PLAIN),
    derived={"answer entropy kept": answers_kept, "entropy kept": entropy_kept},
)
