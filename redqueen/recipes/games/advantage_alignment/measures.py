"""How a policy fares in a social dilemma: with itself, with the kindest player and with the greediest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np

from redqueen.chance import derive
from redqueen.curricula.dealt import Enumerated
from redqueen.measures.intervals import student_interval
from redqueen.play.lockstep import play
from redqueen.protocols import Game, Player, State
from redqueen.types import Ask, Basis, Episode, Match, Mean, Metrics, Reply, mean_of

FEW = 4  # listed replies whose shares are reported one by one
SILENCE = "..."  # said where free text is asked for


@dataclass(frozen=True)
class Insistent:
    """Always the legal reply at this place of the list, silence where none are listed. In the dilemmas here the first
    reply is the kindest and the last one (-1) the greediest."""

    place: int
    name: str

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(ask.choices[self.place] if ask.choices else SILENCE, self.name) for ask in asks]


KIND, GREEDY = Insistent(0, "kind"), Insistent(-1, "greedy")


class SelfPlay:
    """The learner at all seats, then in each seat against an insistent player, on the same tasks, which are drawn by
    their weights, and the same seeds at every measurement:

    `self_play/score`, the mean over seats, with its 95 % interval (Student's t over matches); `self_play/REPLY`, the
    share of each listed reply where they are few; `against_kind/score`, `against_greedy/score` the learner's mean,
    `against_greedy/other` that of the greedy one.
    """

    def __init__(self, game: Game, learner: Player, matches: int = 32, seed: int = 0) -> None:
        self._game = game
        self._learner = learner
        self._matches = matches
        self._seed = seed

    def __call__(self) -> Metrics:
        first, *rest = self._game.roles
        mirrored = self._played(dict.fromkeys(self._game.roles, self._learner))
        score = student_interval([float(np.mean(list(each.outcome.scores.values()))) for each in mirrored])
        metrics = {"self_play/score": score.mean, "self_play/score_low": score.low, "self_play/score_high": score.high}
        metrics |= {f"self_play/{text}": share for text, share in shares(mirrored).items()}
        for other in (KIND, GREEDY):
            met = [
                (episode, role)
                for role in self._game.roles
                for episode in self._played({each: self._learner if each == role else other for each in (first, *rest)})
            ]
            own, theirs = (
                mean_of(s for e, role in met for seat, s in e.outcome.scores.items() if (seat.role == role) == mine)
                for mine in (True, False)
            )
            metrics |= {f"against_{other.name}/score": own, f"against_{other.name}/other": theirs}
        return metrics

    def basis(self) -> dict[str, Basis]:
        return {"self_play/score": Basis(count=self._matches, of="games")}

    def _played(self, cast: dict[str, Player]) -> list[Episode]:
        tasks = Enumerated(self._game.tasks()).draw(self._matches, Random(derive(self._seed, "tasks")))
        return play([Match(self._game, task, cast) for task in tasks], Random(self._seed))

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


def shares(episodes: Sequence[Episode]) -> Metrics:
    """How often each reply was given where it was listed among few."""
    listed: Counter[str] = Counter()
    said: Counter[str] = Counter()
    for turn in (turn for episode in episodes for turn in episode.turns):
        if 0 < len(turn.ask.choices) <= FEW:
            listed.update(turn.ask.choices)
            said[turn.reply.text] += 1
    return {text: Mean(said[text] / count, count) for text, count in listed.items()}


def answers_to(episodes: Sequence[Episode], reply: str) -> dict[tuple[str, str], tuple[float, int]]:
    """For each pair (mine, the other's) of one round how often `reply` followed in the next, and out of how many:
    memory-one strategies, read from `facts["history"]` of both seats of a dilemma."""
    followed: dict[tuple[str, str], list[bool]] = {}
    for episode in episodes:
        for before, after in pairwise(episode.outcome.facts["history"]):
            for own in (0, 1):
                followed.setdefault((before[own], before[1 - own]), []).append(after[own] == reply)
    return {pair: (float(np.mean(found)), len(found)) for pair, found in sorted(followed.items())}
