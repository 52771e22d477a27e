"""Evolving prompts (eva, arXiv:2411.00062): how they are rewritten, mixed with the seeds, rewarded and compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import isfinite
from random import Random

import numpy as np

from redqueen.credit.rewards import marked
from redqueen.games.single_reply import SingleReply
from redqueen.questions.asking import said
from redqueen.questions.small.growing import BROADER, DEEPER, Evolving, RewardModel
from redqueen.types import Episode, RedQueenError, Task

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
