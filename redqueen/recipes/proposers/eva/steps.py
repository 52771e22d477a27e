"""Evolving prompts (eva, arXiv:2411.00062): how they are rewritten, mixed with the seeds, rewarded and compared."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from random import Random

from redqueen.games.single_reply import SingleReply
from redqueen.play.groups import episodes_of, with_facts
from redqueen.questions.asking import said
from redqueen.questions.small.growing import BROADER, DEEPER, Evolving, RewardModel
from redqueen.types import Episode, Group, RedQueenError, Task

REWRITE = SingleReply("rewriter")


def evolutions(questions: Evolving, parents: Sequence[Task], rng: Random) -> list[Task]:
    """For each parent one invitation to rewrite it: deeper or broader, as chance will."""
    return [questions.evolve(parent, rng.choice((DEEPER, BROADER)), number) for number, parent in enumerate(parents)]


def mixed(children: Sequence[Task], seeds: Sequence[Task], count: int, most: int, rng: Random) -> list[Task]:
    """`count` different prompts: up to `most` children, and for the rest a uniform draw from the seeds, so that their
    share never falls below 1 - most / count. Fewer where the seeds run out."""
    evolved = list({child.id: child for child in children}.values())[:most]
    known = {child.id for child in evolved}
    others = [seed for seed in seeds if seed.id not in known]
    return evolved + rng.sample(others, min(count - len(evolved), len(others)))


def rewarded(model: RewardModel, groups: Sequence[Group]) -> list[Group]:
    """The groups with what a reward model thinks of each attempt, the fact `reward`. Raises RedQueenError where it does
    not give each a finite number."""
    episodes = episodes_of(groups)
    rewards = model([episode.task for episode in episodes], said(episodes))
    if len(rewards) != len(episodes) or not all(isfinite(reward) for reward in rewards):
        raise RedQueenError(
            f"the reward model must give {len(episodes)} finite numbers, one for each answer, not {rewards!s:.60}"
        )
    return with_facts(groups, [{"reward": float(reward)} for reward in rewards])


def reward_of(episode: Episode) -> float:
    """What the reward model thinks of an attempt."""
    return float(episode.outcome.facts["reward"])
