"""What a run measures about its learner between updates, and which measures suit a game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from warnings import warn

import numpy as np

from redqueen.chance import derive
from redqueen.credit.outcomes import unknown
from redqueen.curricula.dealt import Enumerated
from redqueen.curricula.held_out import dealt
from redqueen.games.catalogue import find_game
from redqueen.measures.accuracy import spread
from redqueen.measures.exact.exploitability import AverageStrategy, Forgets, GameTree
from redqueen.measures.exact.minimax import MAX_POSITIONS, minimax_regret, solve
from redqueen.measures.exact.sampled import sampled_exploitability
from redqueen.measures.intervals import student_interval, wilson_interval
from redqueen.play.lockstep import play
from redqueen.play.table import DoesNotEnd, waits
from redqueen.players.scripted import Uniform
from redqueen.protocols import (
    COUNT,
    Game,
    HoldsOut,
    LimitsReplies,
    Measure,
    Player,
    Policy,
    State,
    StatesBasis,
    StatesInformation,
    StatesZeroSum,
    Trained,
    has,
    shaped,
)
from redqueen.types import Basis, Match, Mean, Metrics, RedQueenError, mean_of

TREE_NODES = 60_000  # a game with more histories is not measured exactly between updates
FEW_POSITIONS = 5_000  # a board game with more is not solved before a run; tic-tac-toe has 4,520
FEW_STATES = 64  # a learner that must be asked is asked some 32 times at each information state


class Exploitability:
    """The exact exploitability of the learner now, and of two averages of its measured iterates, each weighted at a
    state by how likely it plays to get there: `average_` counts all alike (fictitious play), `late_average_` counts the
    n-th iterate n times (linear averaging, as in CFR+), which forgets a bad start sooner. Where all seats share one
    score, `mean_score` is what it expects of it, which says more than what one seat alone could gain."""

    def __init__(self, tree: GameTree, learner: Trained) -> None:
        self._tree = tree
        self._learner = learner
        self._average, self._late_average = AverageStrategy(tree), AverageStrategy(tree)
        self._count = 0

    def __call__(self) -> Metrics:
        strategy = self._tree.strategy(self._learner)
        self._count += 1
        self._average.add(strategy)
        self._late_average.add(strategy, weight=float(self._count))
        nash_conv, value = self._tree.nash_conv(strategy), float(self._tree.values(strategy)[0])
        shared: Metrics = {"mean_score": value} if self._tree.shared else {}
        return shared | {
            "exploitability": nash_conv / len(self._tree.seats),
            "nash_conv": nash_conv,
            "average_exploitability": self._tree.exploitability(self._average.strategy()),
            "late_average_exploitability": self._tree.exploitability(self._late_average.strategy()),
            "value/first": value,
        }

    def basis(self) -> dict[str, Basis]:
        uniform = exploitability_of_uniform(self._tree)
        found = Basis(exact=True, references={"uniform play": uniform, "an equilibrium": 0.0})
        exact = Basis(exact=True)
        named = dict.fromkeys(("exploitability", "average_exploitability", "late_average_exploitability"), found)
        shared = {"mean_score": exact} if self._tree.shared else {}
        return {**named, **shared, "nash_conv": exact, "value/first": exact}

    def state(self) -> State:
        return {
            "average": self._average.state(),
            "late_average": self._late_average.state(),
            "count": self._count,
        }

    def restore(self, state: State) -> None:
        shaped(state, {"average": dict, "late_average": dict, "count": COUNT}, "the exploitability: ")
        self._average.restore(state["average"])
        self._late_average.restore(state["late_average"])
        self._count = state["count"]


class SampledExploitability:
    """The exploitability of a learner that answers in free text, estimated from `samples` replies at every
    information state, with the same seeds at every measurement. `unheard`, `malformed_replies` and
    `illegal_replies` say what share of the states and replies the estimate knows nothing of."""

    def __init__(self, tree: GameTree, learner: Player, seed: int, samples: int = 32) -> None:
        self._tree = tree
        self._learner = learner
        self._seed = seed
        self._samples = samples

    def __call__(self) -> Metrics:
        found = sampled_exploitability(self._tree, self._learner, self._samples, self._seed)
        return {
            "sampled_exploitability": found.exploitability.mean,
            "sampled_exploitability_low": found.exploitability.low,
            "sampled_exploitability_high": found.exploitability.high,
            "malformed_replies": found.malformed,
            "illegal_replies": found.illegal,
            "unheard": found.unheard,
        }

    def basis(self) -> dict[str, Basis]:
        references = {"uniform play": exploitability_of_uniform(self._tree), "an equilibrium": 0.0}
        found = Basis(count=len(self._tree.states), of="states", attempts=self._samples, references=references)
        return {"sampled_exploitability": found}

    def limit(self, replies: int) -> None:
        if replies:
            self._samples = min(self._samples, max(replies // len(self._tree.states), 1))

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


class MinimaxRegret:
    """How much worse than perfect play the learner's moves are, over all positions of a board game."""

    def __init__(self, game: Game, learner: Trained, max_positions: int = MAX_POSITIONS) -> None:
        self._solution = solve(game, max_positions)
        self._learner = learner

    def __call__(self) -> Metrics:
        return minimax_regret(self._solution, self._learner)

    def basis(self) -> dict[str, Basis]:
        """Of all figures; uniform play is what they begin with where a table is trained."""
        uniform = minimax_regret(self._solution, Uniform())
        return {
            name: Basis(exact=True, references={"uniform play": value, "perfect play": 0.0})
            for name, value in uniform.items()
        }

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


class Payoff:
    """The learner's mean score in matches against a player with its 95 % interval (Student's t), each role as often and
    on the same tasks, which are drawn by their weights; with the same seeds at every measurement."""

    def __init__(self, game: Game, learner: Trained, opponent: Player, matches: int, seed: int) -> None:
        self._game = game
        self._learner = learner
        self._opponent = opponent
        self._matches = matches
        self._seed = seed

    def __call__(self) -> Metrics:
        count = self._matches // len(self._game.roles)
        tasks = Enumerated(self._game.tasks()).draw(count, Random(derive(self._seed, "tasks")))
        scores, forfeits = [], 0.0
        for role in self._game.roles:
            cast = {r: self._learner if r == role else self._opponent for r in self._game.roles}
            for episode in play([Match(self._game, task, cast) for task in tasks], Random(derive(self._seed, role))):
                scores += [score for seat, score in episode.outcome.scores.items() if seat.role == role]
                forfeits += episode.outcome.facts.get("forfeit") == role
        name, mean = self._opponent.name, student_interval(scores)
        losses = float(np.mean([score < 0 for score in scores]))
        return {
            f"payoff/{name}": mean.mean,
            f"payoff/{name}_low": mean.low,
            f"payoff/{name}_high": mean.high,
            f"losses/{name}": losses,
            f"forfeits/{name}": forfeits / len(scores),
        }

    def basis(self) -> dict[str, Basis]:
        name, roles = self._opponent.name, len(self._game.roles)
        even = has(self._game, StatesZeroSum) and self._game.zero_sum
        references = {"an equal player": 0.0} if even else {}
        found = Basis(count=self._matches // roles * roles, of="games", references=references)
        return {f"payoff/{name}": found, f"losses/{name}": found, f"forfeits/{name}": replace(found, references={})}

    def limit(self, replies: int) -> None:
        """A match counts as one reply."""
        if replies:
            self._matches = min(self._matches, max(replies, len(self._game.roles)))

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


class MeanScore:
    """The learner's mean score in matches of a game for one with its 95 % interval (Student's t), of those with a
    verdict, on tasks that are drawn by their weights; `mean_score_unknown`, the share without one, where there are any.
    The same seeds at every measurement."""

    def __init__(self, game: Game, learner: Trained, matches: int, seed: int) -> None:
        self._game = game
        self._learner = learner
        self._matches = matches
        self._seed = seed

    def __call__(self) -> Metrics:
        tasks = Enumerated(self._game.tasks()).draw(self._matches, Random(derive(self._seed, "tasks")))
        cast = {self._game.roles[0]: self._learner}
        played = play([Match(self._game, task, cast) for task in tasks], Random(derive(self._seed, "matches")))
        scores = [value for each in played if not unknown(each) for value in each.outcome.scores.values()]
        found: Metrics = {}
        if scores:
            mean = student_interval(scores)
            found = {"mean_score": mean.mean, "mean_score_low": mean.low, "mean_score_high": mean.high}
        if silent := sum(map(unknown, played)):
            found["mean_score_unknown"] = Mean(silent / len(played), len(played))
        return found

    def basis(self) -> dict[str, Basis]:
        return {"mean_score": Basis(count=self._matches, of="games")}

    def limit(self, replies: int) -> None:
        """A match counts as one reply."""
        if replies:
            self._matches = min(self._matches, replies)

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


class Success:
    """How often the learner does held-out tasks of a game for one: `success`, the share of attempts with a score of 1,
    and `held_out_score`, the mean with its 95 % interval (Wilson's where all scores are 0 or 1, else Student's t, and
    none where all are equal otherwise), of those with a verdict; `success_unknown`, the share without one, where there
    are any. One attempt at each of at most `most` tasks, which are dealt by `seed` and the same at every measurement,
    as are the seeds of sampling. Raises RedQueenError where nothing is held out."""

    def __init__(self, game: HoldsOut, learner: Trained, most: int, seed: int) -> None:
        self._game = game
        self._learner = learner
        self._tasks = dealt(game.held_out(), most, seed)
        self._seed = seed
        if not self._tasks:
            raise RedQueenError(f"{game.name} holds out no tasks to measure on")

    def __call__(self) -> Metrics:
        cast = {self._game.roles[0]: self._learner}
        matches = [Match(self._game, task, cast, derive(self._seed, "held out", task.id)) for task in self._tasks]
        episodes = play(matches, Random(0))
        scores = [value for each in episodes if not unknown(each) for value in each.outcome.scores.values()]
        found: Metrics = {}
        if scores:
            found = {"success": mean_of([value == 1.0 for value in scores]), "held_out_score": mean_of(scores)}
            shares = set(scores) <= {0.0, 1.0}
            if shares or len(set(scores)) > 1:
                sure = wilson_interval(sum(scores), len(scores)) if shares else student_interval(scores)
                found |= {"held_out_score_low": sure.low, "held_out_score_high": sure.high}
        if silent := sum(map(unknown, episodes)):
            found["success_unknown"] = Mean(silent / len(episodes), len(episodes))
        return found

    def basis(self) -> dict[str, Basis]:
        found = Basis(count=len(self._tasks), of="tasks", attempts=1)
        return {"success": found, "held_out_score": found}

    def limit(self, replies: int) -> None:
        """A match counts as one reply."""
        self._tasks = spread(self._tasks, replies)

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

    def basis(self) -> dict[str, Basis]:
        inner = self._inner.basis() if has(self._inner, StatesBasis) else {}
        return {f"{self._name}/{key}": value for key, value in inner.items()}

    def limit(self, replies: int) -> None:
        if has(self._inner, LimitsReplies):
            self._inner.limit(replies)

    def state(self) -> State:
        return self._inner.state()

    def restore(self, state: State) -> None:
        self._inner.restore(state)


def exploitability_of_uniform(tree: GameTree) -> float:
    """The exploitability of uniformly random play."""
    return tree.exploitability(tree.strategy(Uniform()))


def usual_measures(game: Game, learner: Trained, seed: int, matches: int = 128) -> Sequence[Measure]:
    """Exact measures where the game allows them, else the score against uniform play (of a game for one the mean
    score) where replies are listed, else nothing beyond what every step reports; a warning says where a game forgets
    too much for exact ones. A learner that answers in free text is asked instead of read: in a game with few
    information states its exploitability is estimated from what it says. Of a game for one with held-out tasks it is
    how often these are done."""
    if len(game.roles) == 1 and has(game, HoldsOut):
        return [Success(game, learner, matches, seed)]
    if waits(game):
        return []
    alone = len(game.roles) == 1
    against: Measure = (
        MeanScore(game, learner, matches, seed) if alone else Payoff(game, learner, Uniform(), matches, seed)
    )
    if has(game, StatesInformation) and game.perfect_information:
        try:
            return [MinimaxRegret(game, learner, FEW_POSITIONS), against] if learner.open else [against]
        except RedQueenError:
            return [against]
    try:
        tree = GameTree(game, TREE_NODES)
    except Forgets as error:
        warn(f"{error}; the score in play is measured instead", stacklevel=2)
        return [against]
    except RedQueenError:
        return [against] if alone or lists_choices(game) else []
    if learner.open:
        return [Exploitability(tree, learner)]
    return [SampledExploitability(tree, learner, seed), against] if len(tree.states) <= FEW_STATES else [against]


def measures_of_games(games: Sequence[Game], learner: Policy, seed: int) -> list[Measure]:
    """The usual measures of each game, their figures under its name. Raises RedQueenError for two games of one name,
    by which figures and baselines are kept."""
    names = [game.name for game in games]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise RedQueenError(
            f"two of the games are called {twice}: figures and baselines are kept by the name of a game, so name it "
            "once, or give them names of their own"
        )
    return [Named(game.name, measure) for game in games for measure in usual_measures(game, learner, seed)]


def lists_choices(game: Game) -> bool:
    """Whether a uniform player gets through one match, which it does when every ask lists its replies."""
    if waits(game):
        return False
    uniform = Uniform()
    try:
        play([Match(game, game.tasks()[0], dict.fromkeys(game.roles, uniform), seed=0)], Random(0))
    except DoesNotEnd:
        raise
    except RedQueenError:
        return False
    return True


def all_list_choices(names: Sequence[str]) -> bool:
    """Whether the games of all these names list their replies; not where one of them cannot be had."""
    try:
        return all(lists_choices(find_game(name)) for name in names)
    except RedQueenError:
        return False
