"""eva: what evolving prompts teaches, in both its forms, and whether a prompt's info foretells progress."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

import numpy as np

from redqueen.credit.advantages.statistics import LeaveOneOut
from redqueen.credit.outcomes import numbers
from redqueen.credit.rewards import score
from redqueen.curricula.draws import Uniform, best_minus_worst
from redqueen.curricula.held_out import Apart
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play import groups
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.growing import Growing
from redqueen.recipes.proposers.eva import recipe
from redqueen.recipes.proposers.eva.steps import Rewards
from redqueen.recipes.self_training import cold_start
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Changes, Experiment, Measuring, Training, versus
from redqueen.trials.starts import Start, measuring, warmed
from redqueen.types import Group, Metrics

WARM = Start(
    cold_start.Config(
        learner=Learner(model="tiny:hidden=96,layers=3", max_completion_length=16, learning_rate=2e-3),
        questions="growing",
        steps=800,
        demonstrations_per_step=96,
        rest=250,
        problems=32,
    )
)
HARD = "late accuracy/5_numbers"
OTHERS: dict[str, Changes] = {
    "evolved uniformly": {"by_info": False},
    "uniform seeds": {"method.evolved": 0.0},
}


@dataclass(frozen=True)
class Controlled:
    """The method, and whether info says which prompts evolve, or chance alone."""

    method: recipe.Config
    steps: int
    by_info: bool = True


def train(config: Controlled, run: Run) -> Policy:
    """The method with the weights of parents that the variant asks for."""
    method = replace(config.method, steps=config.steps)
    return recipe.train(method, run, None if config.by_info else Uniform())


EVOLVING_PROMPTS = Experiment(
    title="Evolving prompts",
    asked="Does choosing prompts by their info before evolving them teach more on the hard split than evolving any?",
    trial=Training(train, evaluate_every=5),
    # what people ask is easy; the hard split is never among the seeds
    config=Controlled(recipe.Config(learner=warmed(3e-4), levels=("2_numbers", "3_numbers")), steps=100),
    starts={"method.learner.model": WARM},
    variants={
        f"{name}, {inner}": {**changes, "method.inner": inner}
        for inner in ("dpo", "rloo")
        for name, changes in {"eva": {}, **OTHERS}.items()
    },
    figures=(
        *("first accuracy/5_numbers", HARD, "late pass@8/5_numbers", "late accuracy/2_numbers", "late info"),
        "late proposals/valid_share",
    ),
    compared=tuple(
        each
        for inner in ("dpo", "rloo")
        for each in versus(f"eva, {inner}", tuple(f"{name}, {inner}" for name in OTHERS), (HARD,))
    ),
    controls=tuple(f"{name}, {inner}" for inner in ("dpo", "rloo") for name in OTHERS),
    notes=("The rewriter is the warm start, frozen; it was shown rewritings of which nine in ten are as asked.",),
)

# --- what info foretells ---------------------------------------------------------------------


@dataclass(frozen=True)
class Foretelling:
    """What `info_and_progress` is asked."""

    learner: Learner
    shuffled: bool = False  # the info of another prompt


def unseen(config: object, seed: int) -> Apart:
    """The test problems of the comparison, which the warm start was not shown; none twice."""
    found = measuring(EVOLVING_PROMPTS.config, seed)
    return {level: list({task.id: task for task in tasks}.values()) for level, tasks in found.items()}


@lru_cache(maxsize=1)  # both variants read the same one
def info_and_progress(
    learner: Learner, seed: int, of_each: int = 40, steps: int = 20, attempts: int = 6, probes: int = 48
) -> tuple[np.ndarray, np.ndarray]:
    """[P] the info of prompts of all levels that the warm start was not shown, from `attempts` attempts each, and [P]
    how much their mean reward rises when all of them are trained on alike. The means are from other attempts."""
    domain, policy, rng = Growing(), learner.build_model(seed), Random(seed)
    rewards = Rewards(domain.rewards)
    prompts = [task for tasks in unseen(None, seed).values() for task in tasks[:of_each]]

    def responses(count: int) -> list[Group]:
        return rewards.given(groups.attempts(SOLVE, prompts, policy, count, rng))

    info = np.array([best_minus_worst(numbers(group, "reward")) for group in responses(attempts)])
    before = np.array([numbers(group, "reward").mean() for group in responses(probes)])
    for _ in range(steps):
        trajectories = score(responses(attempts), rewards.solver)
        policy.update(pack(trajectories, LeaveOneOut()(trajectories)), ClippedRatio())
    after = np.array([numbers(group, "reward").mean() for group in responses(probes)])
    return info, after - before


def spearman(one: np.ndarray, other: np.ndarray) -> float:
    """The correlation of the ranks, equals sharing theirs; NaN where one of them has no spread."""
    first, second = _ranks(one), _ranks(other)
    if first.std() == 0.0 or second.std() == 0.0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    """[n] from 0, the mean of their places for equals."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts + 1) / 2)[places])


def foretold(config: Foretelling, seed: int) -> Metrics:
    """Returns the rank correlation of a prompt's info with what training teaches on it."""
    info, progress = info_and_progress(config.learner, seed)
    if config.shuffled:
        info = np.random.default_rng(seed).permutation(info)
    return {"spearman": spearman(info, progress)}


FORETOLD = Experiment(
    title="What info foretells",
    asked="Does the info of a prompt under the warm start foretell how much training on all prompts alike raises it?",
    trial=Measuring(foretold),
    config=Foretelling(warmed(3e-4)),
    starts={"learner.model": WARM},
    measured=unseen,
    variants={"info": {}, "info of another prompt": {"shuffled": True}},
    figures=("spearman",),
    compared=versus("info", ("info of another prompt",), ("spearman",)),
    controls=("info of another prompt",),
)
