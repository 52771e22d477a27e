"""Bot play: who plays, what is taught of each turn and how much it counts, and a count of likes as expert (2112.05197).

The counts of a user are [A] numbers, one an aspect: 1 where it is liked, 0 where nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal

import numpy as np

from redqueen.chance import one_of, uniform
from redqueen.games.catalogue import find_game
from redqueen.games.critique import EXPERT, SEEKER, Critique, Seeker, item_named
from redqueen.games.talk import number_of
from redqueen.players.language.reciter import reader
from redqueen.players.scripted import Uniform
from redqueen.protocols import Player, Policy
from redqueen.types import Ask, Match, Metrics, RedQueenError, Reply, Task, Trajectory, Turn, mean_of

Of = Literal["item", "wanted"]


def weights_of(turns: int, discount: float) -> list[float]:
    """What each turn of a talk counts: discount^t, and nothing the last, as in the released code."""
    return [discount**turn for turn in range(turns - 1)] + [0.0]


def critiqued(counts: Sequence[float], aspect: int) -> list[float]:
    """The counts after an aspect was refused: one that was known is known no more, another is -1."""
    found = list(counts)
    found[aspect] -= found[aspect] if found[aspect] != 0 else 1.0
    return found


def whole_turns(turns: Sequence[Turn], shown: int) -> list[Sequence[Turn]]:
    """What an expert said in each turn that it ended, the item first, then its aspects; nothing that was not legal."""
    legal, size = [turn for turn in turns if turn.reply.text.strip() in turn.ask.choices], 1 + shown
    return [legal[at : at + size] for at in range(0, len(legal) // size * size, size)]


@dataclass(frozen=True)
class Counting:
    """An expert that learns nothing: it recommends an item with the largest sum of counts over its aspects, and names
    aspects that are true of it."""

    game: Critique
    name: str = "counting"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._said(ask), self.name) for ask in asks]

    def _said(self, ask: Ask) -> str:
        text = ask.messages[0].text
        if item := re.search(r"[Yy]ou recommend (i\d+)", text):
            true = self.game.true[number_of(item[1])]
            fitting = [each for each in ask.choices if number_of(each) in true] or ask.choices
            return one_of(fitting, uniform(ask.seed))
        liked = re.findall(r"a\d+", text.partition(".")[0])
        refused = re.findall(r"not (a\d+)", text) or re.findall(r"a\d+", text.partition("refused ")[2])
        counts = [0.0] * self.game.aspects
        for each in liked:
            counts[number_of(each)] = 1.0
        for each in refused:
            counts = critiqued(counts, number_of(each))
        worth = {each: sum(counts[aspect] for aspect in self.game.true[number_of(each)]) for each in ask.choices}
        best = [each for each in ask.choices if worth[each] == max(worth.values())]
        return one_of(best, uniform(ask.seed))


def game_of(spec: str) -> Critique:
    """The game of this spec. Raises RedQueenError for one that is not about critiques, or ends with its first turn."""
    game = find_game(spec)
    if not isinstance(game, Critique):
        raise RedQueenError(f"items are recommended in critique, which --game may change: not in {spec!r}")
    if game.turns == 1:
        raise RedQueenError("the last turn of a talk is not learned: --game critique needs turns=2 or more")
    return game


class Bots:
    """The talks of a run between the learner as expert and a seeker by rule."""

    def __init__(self, game: Critique, learner: Policy, discount: float, of: Of, at_random: bool) -> None:
        self.game, self.learner = game, learner
        self.seeker = Seeker(game, at_random)
        self.other = Seeker(game, not at_random)
        self._reader, self._discount, self._of = reader(learner), discount, of

    def matches(
        self, tasks: Sequence[Task], expert: Player | None = None, seeker: Player | None = None, **rules: Any
    ) -> list[Match]:
        """One talk for each task, of the learner and the seeker of the run unless others are named, by the game's rules
        but for `rules`."""
        game = replace(self.game, **rules) if rules else self.game
        cast: dict[str, Player] = {EXPERT.role: expert or self.learner, SEEKER.role: seeker or self.seeker}
        return [Match(game, task, cast) for task in tasks]

    def first(self, tasks: Sequence[Task]) -> list[Match]:
        """Talks of one turn, in which any item is recommended: what is known of users and items before they talk."""
        return self.matches(tasks, Uniform(), turns=1)

    def lessons(self, trajectories: Sequence[Trajectory], rng: Random) -> tuple[list[Trajectory], list[float]]:
        """What the learner is taught of the turns of an expert, each as a trajectory of its own, and what it counts: to
        recommend the wanted item, and to say what is true of the one that was recommended."""
        found, counts = list[Trajectory](), list[float]()
        for each in trajectories:
            if each.seat != EXPERT:
                continue
            weights = weights_of(self.game.turns, self._discount) if each.episode.game == self.game.name else [1.0]
            for number, turn, fitting in self._fitting(each):
                texts = [text for text in fitting if text in turn.ask.choices]
                if texts and weights[number] and len(turn.ask.choices) > 1:
                    text = rng.choice(texts)
                    said = self._reader.recite(turn.ask, self._reader.in_format(turn.ask, text))
                    found.append(Trajectory(each.episode, EXPERT, (Turn(turn.ask, said),), np.ones(1)))
                    counts.append(weights[number])
        return found, counts

    def _fitting(self, trajectory: Trajectory) -> Iterator[tuple[int, Turn, list[str]]]:
        """Each of the expert's asks in whole turns, with the number of the turn and what would be a right reply."""
        wanted = trajectory.episode.task.facts["wanted"]
        for number, (first, *others) in enumerate(whole_turns(trajectory.turns, self.game.shown)):
            yield number, first, [item_named(wanted)]
            about = number_of(first.reply.text.strip()) if self._of == "item" else wanted
            for each in others:
                yield number, each, [text for text in each.ask.choices if number_of(text) in self.game.true[about]]

    def metrics(self, trajectories: Sequence[Trajectory]) -> Metrics:
        """The share of the talks in which the wanted item was found."""
        found = [each.episode.outcome.facts["found"] for each in trajectories if each.seat == EXPERT]
        return {"found_in_play": mean_of(found)}
