"""What a strategist's side gains, against no advice and against itself a round before, and the most that it could."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from random import Random

import numpy as np

from redqueen.chance import derive
from redqueen.curricula.dealt import Enumerated
from redqueen.games.hagglers import Speaker, Undecided, heeded, next_offer, next_price
from redqueen.games.price_talk import ADVISER, ADVISERS, LINES, RESERVES, WALK, PriceTalk
from redqueen.opponents.pools import Snapshots
from redqueen.play.lockstep import play
from redqueen.protocols import State
from redqueen.recipes.games.epo.steps import Talks
from redqueen.types import Basis, Episode, Match, Metrics, mean_of

OTHER = Speaker(0.7, "other_actor")
UNADVISED = Undecided()
AGAINST = "payoff/no_advice"


class Payoffs:
    """Of talks with the same seeds at every measurement, in half of which the learner advises the buyer, in half the
    seller: `payoff/no_advice`, its side's mean score where the other side has no advice, `deal_rate` of these talks;
    the same with actors that heed 0.7 of what they are told (`other_actor/`), and where neither side has advice
    (`unadvised/`). `win_rate/round_before`: of pairs of talks against the learner as its round began, one on each side
    with the same seller, those in which its two scores come to more, ties half."""

    def __init__(self, talks: Talks, others: Snapshots, matches: int = 192, seed: int = 0) -> None:
        self._talks, self._others, self._seed = talks, others, seed
        tasks = Enumerated(talks.game.tasks()).draw(max(matches // 2, 1), Random(derive(seed, "tasks")))
        self._tasks = [task for task in tasks for _ in range(2)]

    def __call__(self) -> Metrics:
        talks = self._talks
        own = self._played(talks.matches(self._tasks, UNADVISED))
        other = self._played(talks.matches(self._tasks, UNADVISED, actor=OTHER))
        nobody = self._played(talks.matches(self._tasks, UNADVISED, UNADVISED))
        before = self._played(talks.matches(self._tasks, self._others.players[-1]))
        gains, others = self._gains(before), self._gains(before, learner=False)
        wins = [np.sign(sum(gains[at : at + 2]) - sum(others[at : at + 2])) for at in range(0, len(gains), 2)]
        return {
            AGAINST: mean_of(self._gains(own)),
            "deal_rate": mean_of(each.outcome.facts["price"] > 0 for each in own),
            f"other_actor/{AGAINST}": mean_of(self._gains(other)),
            f"unadvised/{AGAINST}": mean_of(self._gains(nobody)),
            "win_rate/round_before": mean_of(float(won + 1) / 2 for won in wins),
        }

    def _played(self, matches: Sequence[Match]) -> list[Episode]:
        return play(matches, Random(derive(self._seed, "matches")))

    def _gains(self, episodes: Sequence[Episode], learner: bool = True) -> list[float]:
        """The score in each talk of the side that the learner advises, or of the other."""
        sides = ADVISERS if learner else ADVISERS[::-1]
        return [each.outcome.scores[sides[number % 2]] for number, each in enumerate(episodes)]

    def basis(self) -> dict[str, Basis]:
        games = Basis(count=len(self._tasks), of="games")
        found = dict.fromkeys([AGAINST, "deal_rate", f"other_actor/{AGAINST}", f"unadvised/{AGAINST}"], games)
        found["win_rate/round_before"] = Basis(count=len(self._tasks) // 2, of="pairs of games")
        if isinstance(actor := self._talks.actor, Speaker):
            best = best_payoff(self._talks.game, actor.obedience)
            found[AGAINST] = replace(games, references={"the best adviser that knows the reserve": best})
        return found

    def limit(self, replies: int) -> None:
        """A match counts as two replies, of which four are played for each task."""
        if replies:
            self._tasks = self._tasks[: max(replies // 16 * 2, 2)]

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


def best_payoff(game: PriceTalk, obedience: float, lines: Sequence[str] = LINES) -> float:
    """The mean, over both sides and all reserves, of the largest expected score of a side whose adviser names these
    `lines` and knows the reserve, where the other side has no advice: by backward induction over turns and prices."""
    scores = [_best(game, reserve, obedience, lines, side == ADVISER) for reserve in RESERVES for side in ADVISERS]
    return float(np.mean(scores))


def _best(game: PriceTalk, reserve: int, obedience: float, lines: Sequence[str], buys: bool) -> float:
    def score(price: int) -> float:
        return ((game.top - price) if buys else (price - reserve)) / (game.top - 1)

    def over_lines(after: Callable[[str], float], advised: bool) -> float:
        taken = np.array([after(line) for line in LINES])
        told = {line: float(np.dot(heeded(line, obedience), taken)) for line in LINES}
        if advised:
            return max(told[line] for line in lines)
        return float(np.mean([value for line, value in told.items() if line != WALK]))

    @cache
    def buyer(turn: int, offer: int, price: int) -> float:
        if turn == game.turns:
            return 0.0

        def after(line: str) -> float:
            now = next_offer(line, offer, price)
            return 0.0 if now is None else seller(turn, now, price)

        return over_lines(after, buys)

    @cache
    def seller(turn: int, offer: int, price: int) -> float:
        def after(line: str) -> float:
            now = next_price(line, offer, price, reserve)
            return 0.0 if now is None else score(offer) if now <= offer else buyer(turn + 1, offer, now)

        return over_lines(after, not buys)

    return buyer(0, 0, game.top)
