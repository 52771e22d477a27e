"""What a run measures about its learner between updates, and which measures suit a game."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from redqueen.chance import derive
from redqueen.evaluation.exploitability import AverageStrategy, GameTree
from redqueen.evaluation.minimax import minimax_regret, solve
from redqueen.players.scripted import Uniform
from redqueen.protocols import Game, Measure, Player, Policy, State
from redqueen.rollout.lockstep import play
from redqueen.rollout.table import Table
from redqueen.types import Match, Metrics, RedQueenError

TREE_NODES = 60_000  # a game with more histories is not measured exactly between updates


class Exploitability:
    """The exact exploitability of the learner now, and of two averages of its measured iterates, each
    weighted by its own reach: `average_` counts all alike (fictitious play), `late_average_` counts the
    n-th iterate n times (linear averaging, as in CFR+), which forgets a bad start sooner."""

    def __init__(self, tree: GameTree, learner: Policy) -> None:
        self._tree = tree
        self._learner = learner
        self._average, self._late_average = AverageStrategy(tree), AverageStrategy(tree)
        self._count = 0

    def __call__(self) -> Metrics:
        strategy = self._tree.strategy(self._learner)
        self._count += 1
        self._average.add(strategy)
        self._late_average.add(strategy, weight=float(self._count))
        nash_conv = self._tree.nash_conv(strategy)
        return {
            "exploitability": nash_conv / len(self._tree.seats),
            "nash_conv": nash_conv,
            "average_exploitability": self._tree.exploitability(self._average.strategy()),
            "late_average_exploitability": self._tree.exploitability(self._late_average.strategy()),
            "value/first": float(self._tree.values(strategy)[0]),
        }

    def state(self) -> State:
        return {
            "average": self._average.state(),
            "late_average": self._late_average.state(),
            "count": self._count,
        }

    def restore(self, state: State) -> None:
        self._average.restore(state["average"])
        self._late_average.restore(state["late_average"])
        self._count = state["count"]


class MinimaxRegret:
    """How much worse than perfect play the learner's moves are, over all positions of a board game."""

    def __init__(self, game: Game, learner: Policy) -> None:
        self._solution = solve(game)
        self._learner = learner

    def __call__(self) -> Metrics:
        return minimax_regret(self._solution, self._learner)

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


class Payoff:
    """The learner's mean score in matches against a player, each role as often, on the same seeds at
    every measurement."""

    def __init__(self, game: Game, learner: Policy, opponent: Player, matches: int, seed: int) -> None:
        self._game = game
        self._learner = learner
        self._opponent = opponent
        self._matches = matches
        self._seed = seed

    def __call__(self) -> Metrics:
        tasks = self._game.tasks()
        scores, forfeits = [], 0.0
        for role in self._game.roles:
            cast = {r: self._learner if r == role else self._opponent for r in self._game.roles}
            chosen = [tasks[n % len(tasks)] for n in range(self._matches // len(self._game.roles))]
            for episode in play([Match(self._game, task, cast) for task in chosen], Random(derive(self._seed, role))):
                scores += [score for seat, score in episode.outcome.scores.items() if seat.role == role]
                forfeits += episode.outcome.facts.get("forfeit") == role
        name = self._opponent.name
        losses = float(np.mean([score < 0 for score in scores]))
        return {
            f"payoff/{name}": float(np.mean(scores)),
            f"losses/{name}": losses,
            f"forfeits/{name}": forfeits / len(scores),
        }

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


class Named:
    """Another measure, its figures under the name of a game: for runs that train on several."""

    def __init__(self, name: str, inner: Measure) -> None:
        self._name = name
        self._inner = inner

    def __call__(self) -> Metrics:
        return {f"{self._name}/{key}": value for key, value in self._inner().items()}

    def state(self) -> State:
        return self._inner.state()

    def restore(self, state: State) -> None:
        self._inner.restore(state)


def usual_measures(game: Game, learner: Policy, seed: int = 0, matches: int = 128) -> Sequence[Measure]:
    """Exact measures where the game allows them, else the score against uniform play where replies are
    listed, else nothing beyond what every step reports. A learner that answers in free text is not read."""
    if not _can_be_read(learner, game):
        return [Payoff(game, learner, Uniform(), matches, seed)] if lists_choices(game) else []
    if getattr(game, "perfect_information", False):
        against = Payoff(game, learner, Uniform(), matches, seed)
        try:
            return [MinimaxRegret(game, learner), against]
        except RedQueenError:
            return [against]
    try:
        return [Exploitability(GameTree(game, TREE_NODES), learner)]
    except RedQueenError:
        return [Payoff(game, learner, Uniform(), matches, seed)] if lists_choices(game) else []


def _can_be_read(learner: Policy, game: Game) -> bool:
    """Whether the learner gives its probabilities for the first ask of the game."""
    first = Table(Match(game, game.tasks()[0], dict.fromkeys(game.roles, learner)), seed=0).asks
    try:
        learner.probabilities(first[:1])
    except RedQueenError:
        return False
    return True


def lists_choices(game: Game) -> bool:
    """Whether a uniform player gets through one match, which it does when every ask lists its replies."""
    uniform = Uniform()
    try:
        play([Match(game, game.tasks()[0], dict.fromkeys(game.roles, uniform), seed=0)], Random(0))
    except RedQueenError:
        return False
    return True
