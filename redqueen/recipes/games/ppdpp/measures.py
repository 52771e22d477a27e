"""How talks end that the planner plans, and those of a speaker that it was not trained with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random

import numpy as np

from redqueen.chance import derive
from redqueen.credit.rewards import spoken_turns
from redqueen.curricula.dealt import Enumerated
from redqueen.games.hagglers import Haggler, Speaker, answered, heeded, next_offer
from redqueen.games.price_talk import ADVISER, DEAL, LEAVE, LINES, RESERVES, PriceTalk, stood
from redqueen.play.lockstep import play
from redqueen.players.scripted import Uniform
from redqueen.protocols import Player, State
from redqueen.recipes.games.ppdpp.steps import (
    LOST,
    NO_DEAL,
    WORTH,
    Talks,
    deal_label,
)
from redqueen.types import Basis, Episode, Metrics, mean_of

OTHER = Speaker(0.8, "other_speaker")


class Deals:
    """Of talks with the same seeds at every measurement: `deal_rate`; `turns` of a talk; `gain`, the mean score of the
    adviser (0 without a deal); `return`, what a critic without noise would have paid. `other_speaker/` are those with a
    scripted speaker that heeds 0.8 of what it is told, `unplanned/return` that of lines named at random, with the
    speaker of the run."""

    def __init__(self, talks: Talks, matches: int = 96, seed: int = 0) -> None:
        self._talks, self._seed = talks, seed
        self._tasks = Enumerated(talks.game.tasks()).draw(matches, Random(derive(seed, "tasks")))

    def __call__(self) -> Metrics:
        found = self._met(None, None)
        other = {f"other_speaker/{name}": value for name, value in self._met(None, OTHER).items()}
        return {**found, **other, "unplanned/return": self._met(Uniform(), None)["return"]}

    def _met(self, planner: Player | None, speaker: Player | None) -> Metrics:
        matches = self._talks.matches(self._tasks, planner, speaker)
        episodes = play(matches, Random(derive(self._seed, "matches")))
        facts = [each.outcome.facts for each in episodes]
        return {
            "deal_rate": mean_of(each["price"] > 0 for each in facts),
            "turns": mean_of(len(each["advice"]) for each in facts),
            "gain": mean_of(each.outcome.scores[ADVISER] for each in episodes),
            "return": mean_of(return_of(each, self._talks.game.top) for each in episodes),
        }

    def basis(self) -> dict[str, Basis]:
        of_games = Basis(count=len(self._tasks), of="games")
        figures = ("deal_rate", "turns", "gain", "return")
        names = [f"{above}{name}" for above in ("", "other_speaker/") for name in figures]
        found = dict.fromkeys([*names, "unplanned/return"], of_games)
        speaker = self._talks.speaker
        if isinstance(speaker, Speaker) and self._talks.seller == Haggler():
            best = best_return(self._talks.game, speaker.obedience)
            found["return"] = replace(of_games, references={"the best planner": best})
        return found

    def limit(self, replies: int) -> None:
        """A match counts as one reply."""
        if replies:
            self._tasks = self._tasks[: max(replies // 3, 1)]

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


def return_of(episode: Episode, top: int) -> float:
    """The sum of what the true labels of a talk's turns are worth."""
    turns, price = len(stood(spoken_turns(episode)[ADVISER])), episode.outcome.facts["price"]
    return (turns - 1) * WORTH[NO_DEAL] + WORTH[deal_label(price, top) if price else LOST]


def best_return(game: PriceTalk, obedience: float, lines: Sequence[str] = LINES) -> float:
    """The largest expected return that a planner who names these `lines` can have of the scripted speaker and seller,
    if it remembers all of the talk: by backward induction over what it can believe of the seller's lowest price."""

    @cache
    def value(turn: int, offer: int, price: int, belief: tuple[float, ...]) -> float:
        taken = [after(turn, offer, price, belief, line) for line in LINES]
        return max(float(np.dot(heeded(line, obedience), taken)) for line in lines)

    def after(turn: int, offer: int, price: int, belief: tuple[float, ...], line: str) -> float:
        now = next_offer(line, offer, price)
        if now is None:
            return WORTH[LOST]
        raised = now - offer if offer else 0
        told = [answered(now, raised, price, reserve) for reserve in RESERVES]
        total = 0.0
        for text in {text for each in told for text in each}:
            joint = [weight * each.get(text, 0.0) for weight, each in zip(belief, told, strict=True)]
            chance = sum(joint)
            if not chance:
                continue
            if text == DEAL:
                total += chance * WORTH[deal_label(now, game.top)]
                continue
            if text == LEAVE or turn + 1 == game.turns:
                total += chance * WORTH[LOST]
                continue
            known = tuple(round(each / chance, 12) for each in joint)
            total += chance * (WORTH[NO_DEAL] + value(turn + 1, now, int(text.split()[-1].rstrip(".")), known))
        return total

    return value(0, 0, game.top, tuple(1 / len(RESERVES) for _ in RESERVES))
