"""The creator of eva, and what its reward model gives (2411.00062)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Annotated

import numpy as np

from redqueen.checks.preferences import numbers_in
from redqueen.credit.group_rewards import Stated
from redqueen.credit.outcomes import cut_off, numbers
from redqueen.curricula.draws import Independent, Weights, best_minus_worst, by_regret
from redqueen.curricula.store import TaskStore
from redqueen.games.single_reply import SingleReply
from redqueen.play.groups import episodes_of, with_facts
from redqueen.protocols import State
from redqueen.questions.asking import said
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.small.growing import BROADER, DEEPER, Evolving, RewardModel, find_reward_model
from redqueen.settings.limits import NotWith
from redqueen.settings.roles import Role, Still
from redqueen.types import Episode, Group, Metrics, RedQueenError, Task, Truncated, mean_of

REWRITE = SingleReply("rewriter")
Rewriter = Annotated[Role, Still(("rule",)), NotWith("evolved", 0.0)]


class Rewards:
    """What a reward model gives the solver for each response. `truncated` says what of one that was cut off: wrong is
    what it gives for an empty response, unknown nothing at all."""

    solver = Stated("reward")

    def __init__(self, model: RewardModel, truncated: Truncated = "wrong") -> None:
        self._model = model
        self._truncated = truncated

    def given(self, groups: Sequence[Group]) -> list[Group]:
        """The groups with the reward of each attempt, the fact `reward`. Raises RedQueenError where the model does not
        give each a finite number."""
        episodes = episodes_of(groups)
        cut = [self._truncated != "graded" and cut_off(episode) for episode in episodes]
        texts = ["" if ended else text for text, ended in zip(said(episodes), cut, strict=True)]
        told = self._model([episode.task for episode in episodes], texts)
        rewards = numbers_in(told)
        if rewards.shape != (len(episodes),) or not np.isfinite(rewards).all():
            raise RedQueenError(
                f"the reward model must give {len(episodes)} finite numbers, one for each answer, not {told!s:.60}"
            )
        unknown = [ended and self._truncated == "unknown" for ended in cut]
        given = [None if left_out else reward for reward, left_out in zip(rewards.tolist(), unknown, strict=True)]
        return with_facts(groups, [{"reward": reward} for reward in given])


def evolving(questions: str, reward: str, truncated: Truncated = "wrong") -> tuple[Evolving, Rewards]:
    """The question set that a specification names, and the rewards of the model that another one names. Raises
    RedQueenError for a set whose prompts cannot be rewritten and for what is no reward model."""
    found = find_questions_with(questions, Evolving)
    return found, Rewards(find_reward_model(reward, found), truncated)


def reward_of(episode: Episode) -> float | None:
    """The reward of an attempt; None where it has none."""
    reward = episode.outcome.facts["reward"]
    return None if reward is None else float(reward)


class Creator:
    """The `count` prompts of each round: at most a share `evolved` are rewritten prompts of the last round, drawn by
    `weights` (default: in proportion to info), the rest is a uniform draw from the `seeds`. It learns nothing."""

    def __init__(
        self,
        questions: Evolving,
        seeds: Sequence[Task],
        count: int,
        evolved: float,
        attempts: int,
        weights: Weights | None = None,
    ) -> None:
        self._questions = questions
        self._seeds = list(seeds)
        self._count = count
        self._most = int(evolved * count)
        self._last = TaskStore(count, Independent(weights or by_regret()), result=reward_of, window=attempts)

    def invited(self, rng: Random) -> list[Task]:
        """Invitations to rewrite prompts of the last round, each deeper or broader at random; none in the first
        round."""
        parents = self._last.draw(self._most, rng) if len(self._last) else []
        return [
            self._questions.evolve(parent, rng.choice((DEEPER, BROADER)), number)
            for number, parent in enumerate(parents)
        ]

    def mixed(self, children: Sequence[Task], rng: Random) -> list[Task]:
        """Different prompts for a round: children first, then seeds. Fewer than wanted where the seeds run out."""
        evolved = list({child.id: child for child in children}.values())[: self._most]
        known = {child.id for child in evolved}
        others = [seed for seed in self._seeds if seed.id not in known]
        return evolved + rng.sample(others, min(self._count - len(evolved), len(others)))

    def observe(self, answers: Sequence[Group]) -> None:
        """Records the answered prompts as the last round, without those of which no answer has a reward."""
        self._last.prune(lambda history: True)
        self._last.add([group.task for group in answers])
        self._last.observe(answers)
        self._last.prune(lambda history: not history.results)

    def figures(self, answers: Sequence[Group]) -> Metrics:
        """`evolved`, the share of the prompts that are no seeds, and `info`, their mean."""
        given = {seed.id for seed in self._seeds}
        rewards = [numbers(group, "reward") for group in answers]
        known = [each[~np.isnan(each)] for each in rewards]
        return {
            "evolved": mean_of(group.task.id not in given for group in answers),
            "info": mean_of(best_minus_worst(each) if len(each) else 0.0 for each in known),
        }

    def state(self) -> State:
        return self._last.state()

    def restore(self, state: State) -> None:
        self._last.restore(state)
