"""How well a player tells its own right answers from its wrong ones, and what its votes gain by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np

from redqueen.checks.votes import Majority
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.protocols import Domain, Player, State
from redqueen.questions.asking import SOLVE, graded, said
from redqueen.recipes.self_training.rise.steps import VERIFY, about, judged, skill, trust
from redqueen.types import Metrics, Task


class SelfVerification:
    """`attempts` solutions to each held-out task and `times` verdicts on each of them, on the same seeds at every
    measurement: `verification/...` (see `steps.skill`), `accuracy` of the solutions, `majority` and
    `weighted_vote`, how often the plain vote and the one weighted by the share of favourable verdicts are right."""

    def __init__(
        self,
        domain: Domain,
        player: Player,
        tasks: Mapping[str, Sequence[Task]],
        attempts: int = 8,
        times: int = 4,
        seed: int = 0,
    ) -> None:
        self._domain = domain
        self._player = player
        self._tasks = [task for group in tasks.values() for task in group]
        self._attempts = attempts
        self._times = times
        self._seed = seed

    def __call__(self) -> Metrics:
        rng = Random(self._seed)
        solutions = graded(self._domain, play(alone(SOLVE, self._tasks, self._player, self._attempts), rng))
        questions = [about(solution) for solution in solutions]
        verdicts = judged(play(alone(VERIFY, questions, self._player, self._times), rng))
        metrics = {f"verification/{name}": value for name, value in skill(verdicts).items()}
        answers, weights = said(solutions), trust(verdicts, self._times)
        metrics["accuracy"] = float(np.mean([each.outcome.facts["right"] for each in solutions]))
        metrics["majority"] = self._voted(answers, np.ones(len(answers)))
        metrics["weighted_vote"] = self._voted(answers, weights)
        return metrics

    def _voted(self, answers: Sequence[str], weights: np.ndarray) -> float:
        """The share of tasks whose vote is right. Where nothing was trusted, all votes count."""
        winners = []
        for start in range(0, len(answers), self._attempts):
            group = slice(start, start + self._attempts)
            votes = weights[group] if weights[group].any() else np.ones(self._attempts)
            winners.append(Majority(count_missing=False).label(answers[group], votes.tolist()).answer)
        return float(np.mean(self._domain.right(self._tasks, winners)))

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None
