"""Evolving prompts (eva, arXiv:2411.00062): how they are rewritten, mixed with the seeds, rewarded and compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from math import isfinite
from random import Random

import numpy as np

from redqueen.domains.growing import BROADER, DEEPER, Evolving, RewardModel
from redqueen.games.single_reply import SingleReply
from redqueen.protocols import Key
from redqueen.rewards import marked
from redqueen.rollout.questions import said
from redqueen.types import Episode, RedQueenError, Task, Trajectory

REWRITE = SingleReply("rewriter")


def evolutions(domain: Evolving, parents: Sequence[Task], rng: Random) -> list[Task]:
    """For each parent one invitation to rewrite it: deeper or broader, as chance will."""
    return [domain.evolve(parent, rng.choice((DEEPER, BROADER)), number) for number, parent in enumerate(parents)]


def mixed(children: Sequence[Task], seeds: Sequence[Task], count: int, most: int, rng: Random) -> list[Task]:
    """`count` different prompts: up to `most` children, and for the rest a uniform draw from the seeds, so that their
    share never falls below 1 - most / count. Fewer where the seeds run out."""
    evolved = list({child.id: child for child in children}.values())[:most]
    known = {child.id for child in evolved}
    others = [seed for seed in seeds if seed.id not in known]
    return evolved + rng.sample(others, min(count - len(evolved), len(others)))


def rewarded(model: RewardModel, attempts: Sequence[Episode]) -> list[Episode]:
    """The attempts with what a reward model thinks of them as their scores. Raises RedQueenError where it does not
    give each a finite number."""
    rewards = model([episode.task for episode in attempts], said(attempts))
    if len(rewards) != len(attempts) or not all(isfinite(reward) for reward in rewards):
        raise RedQueenError(
            f"the reward model must give {len(attempts)} finite numbers, one for each answer, not {rewards!s:.60}"
        )
    return marked(attempts, rewards)


def by_prompt(attempts: Sequence[Episode]) -> list[np.ndarray]:
    """[n] the scores of the attempts at each task, in the order in which the tasks were first tried."""
    scores: dict[str, list[float]] = defaultdict(list)
    for episode in attempts:
        scores[episode.task.id].append(next(iter(episode.outcome.scores.values())))
    return [np.array(each) for each in scores.values()]


def best_and_worst(trajectories: Sequence[Trajectory], key: Key) -> tuple[list[Trajectory], list[Trajectory]]:
    """Of each group the best and the worst rewarded, the first of equals; a group in which all are equal has none."""
    groups: dict[Hashable, list[Trajectory]] = defaultdict(list)
    for trajectory in trajectories:
        groups[key(trajectory, 0)].append(trajectory)
    ends = [(max(group, key=_reward), min(group, key=_reward)) for group in groups.values()]
    pairs = [(best, worst) for best, worst in ends if _reward(best) > _reward(worst)]
    return [best for best, _ in pairs], [worst for _, worst in pairs]


def _reward(trajectory: Trajectory) -> float:
    return float(trajectory.rewards.sum())
