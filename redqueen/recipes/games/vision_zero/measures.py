"""How often the spy is found, and how much the clues give away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log
from random import Random

from redqueen.chance import derive
from redqueen.curricula.dealt import Enumerated
from redqueen.games.odd_one_out import CIVILIAN, RIGHT, SPY, UNSURE, VOTER, OddOneOut
from redqueen.play.lockstep import play
from redqueen.players.scripted import Uniform
from redqueen.protocols import Player, State
from redqueen.types import Basis, Episode, Match, Metrics, mean_of


class SpyFound:
    """Of matches on held-out deals (on all, where the game holds out none), with the same seeds at every measurement:

    `spy_found`, the share of votes for the spy where the learner sits at all seats, `votes_unsure` that of N/A;
    `spy_found_even_clues` that for clues drawn evenly, which no spy adapts to; `clue_entropy`, in nats, of which thing
    civilians name first.
    """

    def __init__(self, game: OddOneOut, learner: Player, matches: int = 64, seed: int = 0) -> None:
        self._game, self._learner, self._seed = game, learner, seed
        tasks = game.held_out() or game.tasks()
        self._tasks = Enumerated(tasks).draw(matches, Random(derive(seed, "tasks")))

    def __call__(self) -> Metrics:
        own, even = self._played(self._learner), self._played(Uniform())
        found: Metrics = {}
        for name, episodes in (("spy_found", own), ("spy_found_even_clues", even)):
            scores = [s for each in episodes for seat, s in each.outcome.scores.items() if seat.role == VOTER]
            found[name] = mean_of(score == RIGHT for score in scores)
        votes = [vote for each in own for vote in each.outcome.facts.get("votes", {}).values()]
        if votes:
            found["votes_unsure"] = mean_of(vote == UNSURE for vote in votes)
        return {**found, "clue_entropy": named_entropy(own)}

    def basis(self) -> dict[str, Basis]:
        chance = 1 / (self._game.civilians + 2)
        of_votes = Basis(count=len(self._tasks), of="games", references={"uniform play": chance})
        plain = Basis(count=len(self._tasks), of="games")
        return {
            "spy_found": of_votes,
            "spy_found_even_clues": of_votes,
            "votes_unsure": plain,
            "clue_entropy": plain,
        }

    def limit(self, replies: int) -> None:
        """A match counts as one reply."""
        if replies:
            self._tasks = self._tasks[: max(replies // 2, 1)]

    def _played(self, speaker: Player) -> list[Episode]:
        cast = {CIVILIAN: speaker, SPY: speaker, VOTER: self._learner}
        return play([Match(self._game, task, cast) for task in self._tasks], Random(derive(self._seed, "matches")))

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


def named_entropy(episodes: Sequence[Episode]) -> float:
    """The entropy, in nats, of the thing that a civilian names in its first clue."""
    counts = Counter(
        clue.split()[0]
        for each in episodes
        for number, clue in enumerate(each.outcome.facts["history"][: len({seat.number for seat in each.seats})])
        if number != each.task.facts["spy"]
    )
    total = counts.total()
    return -sum(count / total * log(count / total) for count in counts.values())
