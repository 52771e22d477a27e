"""What the agents score together, and what is left of it where the later ones do not hear the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from redqueen.chance import derive
from redqueen.curricula.dealt import Enumerated
from redqueen.games.relay import Relay
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant
from redqueen.protocols import Game, Player, State
from redqueen.types import Basis, Episode, Match, Metrics, mean_of


class Together:
    """Of matches with the same tasks and seeds at every measurement: `team_score`, their mean score; in the relay also
    `team_score_unheard`, that of a solver who hears what the planner said in another match."""

    def __init__(self, game: Game, cast: Mapping[str, Player], matches: int = 64, seed: int = 0) -> None:
        self._game, self._cast, self._seed = game, cast, seed
        self._tasks = Enumerated(game.tasks()).draw(matches, Random(derive(seed, "tasks")))

    def __call__(self) -> Metrics:
        heard = self._played([self._cast] * len(self._tasks))
        found: Metrics = {"team_score": mean_of(map(_score, heard))}
        if isinstance(self._game, Relay):
            said = [(each.outcome.facts["history"] or [each.turns[0].reply.text])[0] for each in heard]
            others = [{**self._cast, "planner": Constant(word)} for word in (*said[1:], said[0])]
            found["team_score_unheard"] = mean_of(map(_score, self._played(others)))
        return found

    def basis(self) -> dict[str, Basis]:
        of_games = Basis(count=len(self._tasks), of="games")
        if not isinstance(self._game, Relay):
            return {"team_score": of_games}
        chance = {"no word that tells anything": 1.0 / self._game.numbers}
        return {"team_score": replace(of_games, references=chance), "team_score_unheard": of_games}

    def limit(self, replies: int) -> None:
        """Fewer matches; one counts as a reply of each role."""
        if replies:
            self._tasks = self._tasks[: max(replies // len(self._game.roles), 1)]

    def _played(self, casts: Sequence[Mapping[str, Player]]) -> list[Episode]:
        pairs = zip(self._tasks, casts, strict=True)
        return play([Match(self._game, task, cast) for task, cast in pairs], Random(derive(self._seed, "matches")))

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


def _score(episode: Episode) -> float:
    return float(next(iter(episode.outcome.scores.values())))
