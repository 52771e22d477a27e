"""How well a player tells its own right answers from its wrong ones, and what its votes gain by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np

from redqueen.checks.votes import Majority
from redqueen.curricula.held_out import held_out
from redqueen.measures.accuracy import on_problems, within_limit
from redqueen.play.groups import attempts, episodes_of
from redqueen.protocols import Player, Questions, State
from redqueen.questions.asking import SOLVE, graded, said
from redqueen.questions.verdicts import Truncated, check_known, share_right
from redqueen.recipes.self_training.rise.steps import VERIFY, about, judged, skill, trust
from redqueen.types import Basis, Group, Metrics, Task


class SelfVerification:
    """`attempts` solutions to each held-out task and `times` verdicts on each of them, on the same seeds at every
    measurement: `verification/...` (see `steps.skill`), `accuracy` of the solutions, `majority` and
    `weighted_vote`, how often the plain vote and the one weighted by the share of favourable verdicts are right. Raises
    RedQueenError for a question set that does not know the answers to its held-out tasks."""

    def __init__(
        self,
        questions: Questions,
        player: Player,
        tasks: Mapping[str, Sequence[Task]] | int,
        attempts: int = 8,
        times: int = 4,
        seed: int = 0,
        truncated: Truncated = "wrong",
    ) -> None:
        self._questions = questions
        self._player = player
        self.tests = held_out(questions, tasks, seed=seed) if isinstance(tasks, int) else tasks
        check_known(questions, self.tests)
        self._tasks = [task for group in self.tests.values() for task in group]
        self._attempts = attempts
        self._times = times
        self._seed = seed
        self._truncated = truncated

    def __call__(self) -> Metrics:
        rng = Random(self._seed)
        solutions = graded(
            self._questions, attempts(SOLVE, self._tasks, self._player, self._attempts, rng), self._truncated
        )
        asked = [about(solution) for solution in episodes_of(solutions)]
        verdicts = judged(attempts(VERIFY, asked, self._player, self._times, rng))
        right = [each.outcome.facts["right"] for each in episodes_of(solutions)]
        known = [group for group, each in zip(verdicts, right, strict=True) if each is not None]
        metrics = {f"verification/{name}": value for name, value in skill(known).items()}
        metrics |= share_right("accuracy", right)
        trusted = iter([trust(group) for group in verdicts])
        weights = [np.array([next(trusted) for _ in group.attempts]) for group in solutions]
        metrics |= share_right("majority", self._voted(solutions, [np.ones(self._attempts) for _ in solutions]))
        return metrics | share_right("weighted_vote", self._voted(solutions, weights))

    def _voted(self, solutions: Sequence[Group], weights: Sequence[np.ndarray]) -> Sequence[bool | None]:
        """For each task whether its vote is right. Where nothing was trusted, all votes count."""
        winners = []
        for group, trusted in zip(solutions, weights, strict=True):
            votes = trusted if trusted.any() else np.ones(len(trusted))
            winners.append(Majority(count_missing=False).label(said(group.attempts), votes.tolist()).answer)
        return self._questions.right(self._tasks, winners)

    def basis(self) -> dict[str, Basis]:
        voted = on_problems(self._tasks, self._attempts)
        return {"accuracy": voted, "majority": voted, "weighted_vote": voted}

    def limit(self, replies: int) -> None:
        attempted, self._attempts = within_limit(self.tests, self._attempts, replies, 1 + self._times)
        self._tasks = [task for group in attempted.values() for task in group]

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None
