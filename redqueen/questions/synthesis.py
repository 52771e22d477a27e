"""New problems from what failed: who is asked for what, and the labels and the difficulty that come from attempts.

aims     = aimed(weak_counts(curves), 640)                            # a category for each new problem
written  = read(domain, play(alone(PROPOSE, aimed_at(domain, aims, failed, rng), proposer), rng))
tasks    = elected(tasks_among(written), labeller, 8, rng)            # with labels on which more than half agree
kept     = within(tasks, tried(tasks, solver, 8, rng), 0.25, 0.75)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import numpy as np

from redqueen.credit.learnability import solve_rate
from redqueen.curricula.weaknesses import budgets
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.protocols import Domain, Player
from redqueen.questions.asking import SOLVE, by_task
from redqueen.questions.labels import held_to_label, majorities
from redqueen.types import Task, Trajectory


def aimed(failures: Mapping[str, float], total: int) -> list[str]:
    """The category of each of `total` new problems, in proportion to failures; none where nothing fails."""
    if not any(failures.values()):
        return []
    return [category for category, count in budgets(failures, total).items() for _ in range(count)]


def aimed_at(domain: Domain, categories: Sequence[str], failed: Sequence[Task], rng: Random) -> list[Task]:
    """An invitation for each category, its reference one of the failed problems at random: a concept that fails often
    stands often beside another."""
    return [domain.invite(category, [rng.choice(failed)], number) for number, category in enumerate(categories)]


def elected(tasks: Sequence[Task], labeller: Player, votes: int, rng: Random, above: float = 0.5) -> list[Task]:
    """The tasks with the labeller's most common answer as theirs; only those on which more than this share of all its
    attempts agree, whatever answer they had."""
    counted = majorities(play(alone(SOLVE, tasks, labeller, votes), rng), votes)
    return [
        replace(task, answer=vote.answer)
        for task, vote in zip(tasks, counted, strict=True)
        if vote.answer and vote.share > above
    ]


def tried(tasks: Sequence[Task], solver: Player, attempts: int, rng: Random) -> np.ndarray:
    """[tasks] how often the solver gives their labels, NaN where too few attempts were finished to tell."""
    episodes = held_to_label(play(alone(SOLVE, tasks, solver, attempts), rng))
    return np.array([solve_rate(scores).mean for scores in by_task(episodes, attempts)])


def within(tasks: Sequence[Task], rates: np.ndarray, lowest: float, highest: float) -> list[Task]:
    """The tasks whose solve rate lies between the two, both included; an unknown one does not."""
    return [task for task, rate in zip(tasks, rates.tolist(), strict=True) if lowest <= rate <= highest]


def verified_pairs(
    trajectories: Sequence[Trajectory], times: int, below: float = 0.5
) -> tuple[list[Trajectory], list[Trajectory]]:
    """The right attempts and, one for each, wrong ones at the same task, from attempts that lie task by task. Only of
    tasks of which less than this share was solved; as many pairs of a task as it has right attempts."""
    chosen, rejected = list[Trajectory](), list[Trajectory]()
    for start in range(0, len(trajectories), times):
        group = trajectories[start : start + times]
        right = [each for each in group if each.rewards.sum() >= 1.0]
        wrong = [each for each in group if each.rewards.sum() < 1.0]
        if len(right) < below * times:
            pairs = list(zip(right, wrong, strict=False))
            chosen += [pair[0] for pair in pairs]
            rejected += [pair[1] for pair in pairs]
    return chosen, rejected
