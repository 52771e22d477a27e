"""Matches that begin in the middle of recorded ones: `--game continued:RUN,3` goes on after the third turn.

    redqueen train grpo --game continued:outputs/grpo-0,-2      two turns before the end of each recorded match

The recorded replies are said again, by nobody who learns; whoever sits at the table speaks from there on. What the
game draws is as recorded. Each recorded match that is long enough is a task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from redqueen.chance import derive
from redqueen.protocols import Game, HoldsOut, Play, StatesInformation, StatesZeroSum, has
from redqueen.runs.folder import game_specs, stored_episodes, stored_game
from redqueen.types import Episode, Outcome, RedQueenError, Task


@dataclass(frozen=True)
class Continued:
    """The rest of recorded matches of a game. The scores are those of the rest: what a seat had gained before, where
    the game states its gains, is not in them. Held-out tasks are the game's own, from their beginnings."""

    game: Game = field(repr=False)
    turn: int  # how many turns are as recorded; below 0 counted from the end
    record: Mapping[str, Episode] = field(repr=False)  # by the id of the task that continues it
    spec: str = ""  # of the run

    @property
    def name(self) -> str:
        return f"continued:{self.spec},{self.turn}"

    @property
    def roles(self) -> tuple[str, ...]:
        return self.game.roles

    @property
    def zero_sum(self) -> bool:
        return has(self.game, StatesZeroSum) and self.game.zero_sum

    @property
    def perfect_information(self) -> bool:
        return has(self.game, StatesInformation) and self.game.perfect_information

    def tasks(self) -> Sequence[Task]:
        return [replace(episode.task, id=name) for name, episode in self.record.items()]

    def held_out(self) -> Sequence[Task]:
        return self.game.held_out() if has(self.game, HoldsOut) else ()

    def play(self, task: Task, rng: Random) -> Play:
        episode = self.record.get(task.id)
        if episode is None:
            return (yield from self.game.play(task, rng))
        rest = self.game.play(episode.task, Random(derive(episode.seed, "game")))
        asks, turns, said = next(rest), iter(episode.turns), 0
        while said < before(episode, self.turn):
            recorded = [next(turns) for _ in asks]
            if [turn.ask for turn in recorded] != asks:
                raise RedQueenError(f"turn {said} of {task.id} is not what {self.game.name} asks now: it has changed")
            said += len(asks)
            asks = rest.send([turn.reply for turn in recorded])
        while True:
            replies = yield asks
            try:
                asks = rest.send(replies)
            except StopIteration as stop:
                return from_turn(stop.value, said)


def before(episode: Episode, turn: int) -> int:
    """How many turns of an episode are as recorded: at least one is left to be spoken."""
    return turn if turn >= 0 else len(episode.turns) + turn


def from_turn(outcome: Outcome, turn: int) -> Outcome:
    """The outcome of what follows a number of turns: gains before are left out, of the scores too."""
    if "gains" not in outcome.facts:
        return outcome
    gains = outcome.facts["gains"]
    past = [gain for at, gain in gains if at < turn]
    scores = {seat: score - sum(gain.get(str(seat), 0.0) for gain in past) for seat, score in outcome.scores.items()}
    later = tuple((at - turn, gain) for at, gain in gains if at >= turn)
    return Outcome(scores, {**outcome.facts, "gains": later})


def continued(run: str, turn: int = 1) -> Continued:
    """The recorded matches of a run after `turn` turns. Raises RedQueenError where none is that long."""
    folder = Path(run)
    if not folder.is_dir():
        raise RedQueenError(f"there is no run {run}: continued:RUN,TURN goes on from what a run has recorded")
    if len(specs := game_specs(folder)) > 1:
        raise RedQueenError(f"{run} plays {', '.join(specs)}: matches of a run with one game can be continued")
    if specs[0].startswith("continued:"):
        raise RedQueenError(f"{run} goes on from another run itself, {specs[0]}: name a run of the whole game")
    game = stored_game(folder)
    found = {f"{name} from {turn}": episode for name, episode in _long_enough(folder, game, turn)}
    if not found:
        raise RedQueenError(f"{run} has recorded no match of {game.name} with a turn after {turn}: --record-episodes")
    return Continued(game, turn, found, run)


def _long_enough(folder: Path, game: Game, turn: int) -> Iterator[tuple[str, Episode]]:
    """The recorded matches that a round of asks begins after so many turns."""
    for name, episode, _ in stored_episodes(folder):
        if episode.game == game.name and 0 <= before(episode, turn) < len(episode.turns):
            yield name, episode
