"""What evolving prompts teach: eva beside uniform seeds, in both its forms, and whether info foretells progress."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Literal

import numpy as np
from rich.console import Console

from redqueen.credit.advantages.keys import by_group
from redqueen.credit.advantages.statistics import LeaveOneOut
from redqueen.credit.group_rewards import Stated
from redqueen.credit.outcomes import numbers
from redqueen.credit.rewards import score
from redqueen.curricula.sampling import best_minus_worst
from redqueen.measures.intervals import bootstrap_interval
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play import groups
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.growing import Growing
from redqueen.recipes.proposers.eva.recipe import Config
from redqueen.recipes.proposers.eva.steps import rewarded
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.trials.paired import difference, often, table, trained, warm, warmed
from redqueen.trials.sheets import Bench, Result
from redqueen.types import Group

STEPS = 100
LEARNING_RATE = 3e-4
WARM = cold_start.Config(
    learner=Learner(model="tiny:hidden=96,layers=3", max_completion_length=16, learning_rate=2e-3),
    questions="growing",
    steps=800,
    demonstrations_per_step=96,
    rest=250,
    problems=32,
)
SEEDS = ("2_numbers", "3_numbers")  # what people ask is easy; the hard split is never among the seeds
HARD = "accuracy/5_numbers"
INNER: tuple[Literal["dpo", "rloo"], ...] = ("dpo", "rloo")


def eva(options: Bench, console: Console) -> Result:
    """Evolved, uniformly evolved and uniform seed prompts, under DPO and RLOO, at equal updates and rollouts."""
    learner = warmed(warm(WARM), learning_rate=LEARNING_RATE)
    method = Config(learner=learner, rewriter=Role("rule"), levels=SEEDS, steps=options.steps or STEPS)
    kinds = {
        "eva": method,
        "evolved uniformly": replace(method, by_info=False),
        "uniform seeds": replace(method, rewriter=Role("frozen"), evolved=0.0),
    }
    variants = {f"{kind}, {inner}": replace(each, inner=inner) for inner in INNER for kind, each in kinds.items()}
    trials = trained("eva", variants, options.seeds, console, evaluate_every=often(method.steps))
    figures = ("first " + HARD, "late " + HARD, "late pass@8/5_numbers", "late accuracy/2_numbers", "late info")
    rows = table(trials, figures)
    compared = [
        difference(trials, f"eva, {inner}", f"{other}, {inner}", "late " + HARD)
        for inner in INNER
        for other in ("evolved uniformly", "uniform seeds")
    ]
    ranks = [info_and_progress(learner, seed) for seed in range(options.seeds)]
    found = bootstrap_interval([spearman(info, progress) for info, progress in ranks], seed=0)
    headings = ("prompts", "hard split, start", "hard split, late", "its pass@8", "easiest split, late", "info, late")
    return "Evolving prompts", headings, rows, f"{'. '.join(compared)}. Spearman of info with progress: {found}."


def info_and_progress(
    learner: Learner, seed: int, of_each: int = 40, steps: int = 20, attempts: int = 6, probes: int = 48
) -> tuple[np.ndarray, np.ndarray]:
    """[P] the info of prompts of all difficulties under the warm start, from so many attempts, and [P] how much their
    mean reward rises when all of them are trained on alike. The means are from other attempts than info."""
    domain, policy, rng = Growing(), learner.build_model(seed), Random(seed)
    tasks = {task.id: task for level in domain.levels for task in domain.problems(level, of_each, rng)}
    prompts = list(tasks.values())

    def responses(count: int) -> list[Group]:
        return rewarded(domain.rewards, groups.attempts(SOLVE, prompts, policy, count, rng))

    info = np.array([best_minus_worst(numbers(group, "reward")) for group in responses(attempts)])
    before = np.array([numbers(group, "reward").mean() for group in responses(probes)])
    for _ in range(steps):
        trajectories = score(responses(attempts), Stated("reward"))
        policy.update(pack(trajectories, LeaveOneOut(by_group)(trajectories)), ClippedRatio())
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
