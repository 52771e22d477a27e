"""The entropy of a policy's answers: a collapse shows here before it shows in the accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from redqueen.credit.rewards import payoff, score
from redqueen.measures.accuracy import spread
from redqueen.objectives.additive import measured
from redqueen.objectives.batch import pack
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.protocols import Game, Policy, State
from redqueen.types import Mean, Metrics, Task


class AnswerEntropy:
    """The mean exact entropy, in nats, of a token of the policy's replies to these tasks at its own temperature, on the
    same seeds at every measurement: `entropy/NAME`."""

    def __init__(
        self, name: str, game: Game, policy: Policy, tasks: Sequence[Task], attempts: int = 4, seed: int = 0
    ) -> None:
        assert tasks, "an entropy needs a task to answer"
        self._name = name
        self._game = game
        self._policy = policy
        self._tasks = tasks
        self._attempts = attempts
        self._seed = seed

    def __call__(self) -> Metrics:
        episodes = play(alone(self._game, self._tasks, self._policy, self._attempts), Random(self._seed))
        trajectories = score(episodes, payoff)
        batch = pack(trajectories, [np.ones(len(each.turns)) for each in trajectories])
        return {f"entropy/{self._name}": Mean(measured(batch, self._policy.likelihoods(batch).entropies), len(batch))}

    def limit(self, replies: int) -> None:
        self._tasks = spread(self._tasks, replies and max(replies // self._attempts, 1))

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None
