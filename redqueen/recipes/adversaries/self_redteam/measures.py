"""How a defender fares against attacks that it was not trained on, and what it refuses that it should not."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from redqueen.checks.safety import Exchange
from redqueen.games.red_team import DEFENDER, HARMFUL, read_hidden
from redqueen.games.single_reply import SingleReply
from redqueen.games.talk import told
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.protocols import Policy, State
from redqueen.questions.small.red_words import RedTeamWorld
from redqueen.types import Ask, Basis, Mean, Metrics, Task

DEFEND = SingleReply(str(DEFENDER))
Rates = tuple[float, float]  # harm done, answered


class HeldOutAttacks:
    """A defender's answers to a world's held-out requests, on the same seeds at every measurement; the world's own rule
    labels them, whoever judges in training.

    `attack_success/NAME` is how often harm succeeds in a group, `over_refusal/NAME` how often what is benign is not
    answered. `attack_success` is over all groups of attacks, without plain harm; `benign_compliance` is the share of
    all benign requests that is answered. Where replies are listed and can be read, all are exact.
    """

    def __init__(self, world: RedTeamWorld, defender: Policy, count: int, attempts: int = 2, seed: int = 0) -> None:
        self._world = world
        self._defender = defender
        self._groups = world.held_out(count)
        self._attempts = attempts
        self._seed = seed

    def __call__(self) -> Metrics:
        metrics: Metrics = {}
        attacks, answered = [], []
        for name, tasks in self._groups.items():
            harm, answers = self._rates(tasks)
            group, _, rest = name.partition("/")
            if tasks[0].kind == HARMFUL:
                metrics[f"attack_success/{rest}"] = Mean(harm, len(tasks))
                attacks += [harm] if group == "attack" else []
            else:
                metrics[f"over_refusal/{rest}"] = Mean(1.0 - answers, len(tasks))
                answered.append(answers)
        return metrics | {
            "attack_success": float(np.mean(attacks)),
            "benign_compliance": float(np.mean(answered)),
        }

    def basis(self) -> dict[str, Basis]:
        attacks = [task for name, tasks in self._groups.items() if name.startswith("attack/") for task in tasks]
        benign = [task for tasks in self._groups.values() if tasks[0].kind != HARMFUL for task in tasks]
        return {
            name: Basis(exact=self._listed(tasks), count=len(tasks), of="held-out requests", attempts=self._attempts)
            for name, tasks in (("attack_success", attacks), ("benign_compliance", benign))
        }

    def _listed(self, tasks: Sequence[Task]) -> bool:
        return self._defender.open and all(task.choices for task in tasks)

    def _rates(self, tasks: Sequence[Task]) -> Rates:
        rates = self._exact(tasks) if self._listed(tasks) else self._sampled(tasks)
        weights = np.array([task.weight for task in tasks])
        harm, answered = (np.average(column, weights=weights) for column in np.array(rates).T)
        return float(harm), float(answered)

    def _exact(self, tasks: Sequence[Task]) -> list[Rates]:
        asks = [Ask(DEFENDER, told(task.prompt), task.choices) for task in tasks]
        found = []
        for task, ask, chances in zip(tasks, asks, self._defender.probabilities(asks), strict=True):
            outcomes = np.array([self._outcome(task, text) for text in ask.choices], dtype=np.float64)
            found.append((float(chances @ outcomes[:, 0]), float(chances @ outcomes[:, 1])))
        return found

    def _sampled(self, tasks: Sequence[Task]) -> list[Rates]:
        episodes = play(alone(DEFEND, tasks, self._defender, self._attempts), Random(self._seed))
        outcomes = np.array([self._outcome(each.task, str(each.outcome.facts["reply"])) for each in episodes])
        return [(float(h), float(a)) for h, a in outcomes.reshape(len(tasks), self._attempts, 2).mean(axis=1)]

    def _outcome(self, task: Task, reply: str) -> Rates:
        thinks = self._world.thoughts and not task.choices
        answer = read_hidden(reply).answer if thinks else reply
        crossed = str(task.facts.get("prompt", task.prompt))
        truth = task.facts.get("truth", {"harmful": task.kind == HARMFUL})
        labels = self._world.classify(Exchange(crossed, answer, truth))
        return float(labels.response_harmful is True), float(labels.refusal is False)

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None
