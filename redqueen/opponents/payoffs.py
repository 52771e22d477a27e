"""The payoff matrix: win rates between all players that have met in a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

import numpy as np

from redqueen.protocols import AMOUNT, Row, State, shaped
from redqueen.types import Episode, RedQueenError

ROUNDS = 4000  # of regret matching
STEPS, LARGEST, CLOSE = 100, 4.0, 1e-10  # of Newton's method for ratings: at most so many, so large, and down to this


class Payoffs:
    """Counts the matches between any two players, by name; a draw is half a win for both.

    Any two start as if they had met once and drawn. With a `decay` below 1 the old results of players that learn are
    multiplied by it at each `observe`, since the player has changed.
    """

    def __init__(self, decay: float = 1.0) -> None:
        if not 0.0 <= decay <= 1.0:
            raise RedQueenError(f"decay must be between 0 and 1, not {decay}")
        self.decay = decay
        self._met: dict[tuple[str, str], tuple[float, float]] = {}  # (won by the first, played), names in order
        self._rated: dict[tuple[str, ...], np.ndarray] = {}  # strengths by the counts as they are

    def observe(self, episodes: Iterable[Episode], among: Collection[str], learning: Collection[str]) -> None:
        """Counts the results of the players named in `among` against one another; the higher mean score over a player's
        seats wins a match. `learning` names the players whose old results decay."""
        self._rated = {}
        for pair, (won, played) in self._met.items():
            if not set(pair).isdisjoint(learning):
                self._met[pair] = (won * self.decay, played * self.decay)
        for episode in episodes:
            scores = mean_scores(episode)
            for one, other in combinations(sorted(scores.keys() & set(among)), 2):
                margin = scores[one] - scores[other]
                won, played = self._met.get((one, other), (0.0, 0.0))
                self._met[one, other] = (won + (1.0 if margin > 0.0 else 0.5 if margin == 0.0 else 0.0), played + 1.0)

    def played(self, one: str, other: str) -> float:
        """The number of matches between `one` and `other`, after decay."""
        return self._met.get((min(one, other), max(one, other)), (0.0, 0.0))[1]

    def win_rate(self, one: str, other: str) -> float:
        """The share of its matches against `other` that `one` won, in (0, 1); 0.5 if they have not met."""
        won, played = self._met.get((min(one, other), max(one, other)), (0.0, 0.0))
        return ((won if one < other else played - won) + 0.5) / (played + 1.0)

    def matrix(self, rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
        """[R, C] the win rates of the players `rows` against the players `columns`."""
        return np.array([[self.win_rate(row, column) for column in columns] for row in rows]).reshape(
            len(rows), len(columns)
        )

    def strengths(self, names: Sequence[str]) -> np.ndarray:
        """[P] strengths in log-odds (Bradley and Terry, 1952), mean zero: player i wins a share sigmoid(s_i - s_j) of
        its matches against j. Maximum likelihood for the counts plus one draw per pair."""
        key = tuple(names)
        if key not in self._rated:
            self._rated[key] = self._strengths(names)
        return self._rated[key]

    def _strengths(self, names: Sequence[str]) -> np.ndarray:
        played = np.array([[0.0 if a == b else self.played(a, b) + 1.0 for b in names] for a in names])
        return bradley_terry((self.matrix(names, names) * played).sum(axis=1), played)

    def keep(self, names: Collection[str]) -> None:
        """Forgets the results of all players not in `names`."""
        self._rated = {}
        self._met = {pair: counts for pair, counts in self._met.items() if set(pair) <= set(names)}

    def drop(self, name: str) -> None:
        """Forgets the results of the player `name`."""
        self._rated = {}
        self._met = {pair: counts for pair, counts in self._met.items() if name not in pair}

    def state(self) -> State:
        return {"met": [[one, other, won, played] for (one, other), (won, played) in self._met.items()]}

    def restore(self, state: State) -> None:
        shaped(state, {"met": [Row(str, str, AMOUNT, AMOUNT)]}, "the payoffs: ")
        self._rated = {}
        self._met = {(one, other): (won, played) for one, other, won, played in state["met"]}


def bradley_terry(won: np.ndarray, played: np.ndarray) -> np.ndarray:
    """[..., P] strengths in log-odds of highest likelihood, mean zero, from [..., P] the matches that each player won
    and [..., P, P] those that it played against each other one (Bradley and Terry, 1952), by Newton's method. Every
    player must have won a part of a match and lost one, and any two have met, or others that link them."""
    strengths = np.zeros(won.shape)
    for _ in range(STEPS if won.shape[-1] > 1 else 0):
        expected = 1.0 / (1.0 + np.exp(strengths[..., None, :] - strengths[..., :, None]))
        slopes = played * expected * (1.0 - expected)
        curvature = slopes.sum(axis=-1)[..., None] * np.eye(won.shape[-1]) - slopes
        fixed = curvature + slopes.mean(axis=(-2, -1), keepdims=True)  # the mean, which says nothing, stays where it is
        missing = won - (played * expected).sum(axis=-1)
        step = np.linalg.solve(fixed, missing[..., None])[..., 0]
        strengths = strengths + step * np.minimum(
            1.0, LARGEST / np.abs(step).max(axis=-1, keepdims=True).clip(min=CLOSE)
        )
        if np.abs(step).max() < CLOSE:
            break
    return np.asarray(strengths - strengths.mean(axis=-1, keepdims=True))


def equilibrium(rates: np.ndarray) -> np.ndarray:
    """[P] shares of a Nash equilibrium among players with win rates [P, P]. Counted rates need not sum to one: half the
    difference of what either row says is the payoff, from -1 to 1."""
    return of_payoffs(antisymmetric(rates))


def of_payoffs(payoffs: np.ndarray) -> np.ndarray:
    """The same from antisymmetric payoffs [P, P], in any unit. By regret matching with regrets cut off at zero and
    later rounds weighing more (Tammelin, 2014). `measures.ratings.nash_average`, by OpenSpiel, finds that of highest
    entropy."""
    count = len(payoffs)
    regrets, total = np.zeros(count), np.zeros(count)
    for number in range(1, ROUNDS + 1):
        shares = regrets / regrets.sum() if regrets.sum() > 0.0 else np.full(count, 1.0 / count)
        gained = payoffs @ shares
        regrets = np.maximum(regrets + gained - shares @ gained, 0.0)
        total += number * shares
    return np.asarray(total / total.sum())


def antisymmetric(rates: np.ndarray) -> np.ndarray:
    """[P, P] the payoffs that win rates [P, P] come to."""
    payoffs = 2.0 * rates - 1.0
    return np.asarray((payoffs - payoffs.T) / 2.0)


def mean_scores(episode: Episode) -> dict[str, float]:
    """The mean score over its seats of each player, by name; also of one that never spoke, as where another broke the
    rules first."""
    speakers = dict(episode.silent) | {turn.ask.seat: turn.reply.player for turn in episode.turns}
    scores: dict[str, list[float]] = {}
    for seat in episode.seats:
        if seat in speakers:
            scores.setdefault(speakers[seat], []).append(episode.outcome.scores[seat])
    return {name: sum(values) / len(values) for name, values in scores.items()}
