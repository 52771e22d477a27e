"""Games that are stepped in processes of their own, beside the one whose players answer (SRL, arXiv:2306.16688)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from random import Random
from statistics import median

from redqueen.play.actors import Actors
from redqueen.play.lockstep import finished
from redqueen.players.scripted import Uniform
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.protocols import Play, Player
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Made, Rows, Table
from redqueen.types import Ask, Match, Message, Outcome, Seat, Task

MATCHES, TURNS = 64, 6  # of a step
WORK = 60_000  # additions of a step of the game, which take some five milliseconds
MOVES = ("left", "right")
SEAT = Seat("walker")
WAYS: dict[str, tuple[int, int]] = {  # processes that step, parts of the matches
    "here": (0, 1),
    "1 process": (1, 1),
    "1 process, halves in turn": (1, 2),
    "2 processes": (2, 1),
    "2 processes, halves in turn": (2, 2),
    "4 processes, halves in turn": (4, 2),
}


class Working:
    """A game that computes for some milliseconds after each move."""

    name = "working"
    roles = (SEAT.role,)

    def tasks(self) -> Sequence[Task]:
        return [Task(str(number), prompt=f"Room {number}. ") for number in range(MATCHES)]

    def play(self, task: Task, rng: Random) -> Play:
        seen = task.prompt
        for _ in range(TURNS):
            (reply,) = yield [Ask(SEAT, (Message("rules", seen + "Left or right?"),), MOVES)]
            seen += f"{reply.text} {sum(number * number for number in range(WORK)) % 7}. "
        return Outcome({SEAT: float(seen.count("right"))})


GAME = Working()
PLAYERS: dict[str, Player | Learner] = {
    "nobody thinks": Uniform(),
    "a tiny transformer": Learner(model="tiny:hidden=256,layers=6", learning_rate=0.0),
}


def stepped(repeats: int) -> Made:
    """Returns matches a second by who steps them, in turns; every way plays the same episodes."""
    rows: Rows = []
    for name, given in PLAYERS.items():
        player = given.build_model(0) if isinstance(given, Learner) else given
        rates: dict[str, list[float]] = {way: [] for way in WAYS}
        said: dict[str, list[tuple[str, ...]]] = {}
        for repeat in range(repeats + 1):
            for way, (count, parts) in WAYS.items():
                rate, said[way] = _matches_a_second(player, count, parts)
                if repeat:  # the first is not counted
                    rates[way].append(rate)
        assert all(each == said["here"] for each in said.values()), "the episodes differ"
        base = median(rates["here"])
        rows += [(name, way, f"{median(each):.1f}", f"{median(each) / base:.2f}") for way, each in rates.items()]
    note = (
        f"{MATCHES} matches of {TURNS} moves, after each of which the game computes for some five milliseconds; "
        f"medians of {repeats} steps of {MATCHES} matches, in turns. Every way played the same episodes, to the word."
    )
    return ("players", "games are stepped by", "matches/s", "times as fast"), rows, note


def _matches_a_second(player: Player, count: int, parts: int) -> tuple[float, list[tuple[str, ...]]]:
    """And what was said in each match. Processes have begun, and know the game, before the clock runs."""
    actors = Actors(count) if count else None

    def step(tasks: Sequence[Task]) -> list[tuple[str, ...]]:
        matches = [Match(GAME, task, {SEAT.role: player}) for task in tasks]
        episodes = finished(actors.seated(matches) if actors else matches, 0, parts)
        return [tuple(turn.reply.text for turn in episode.turns) for episode in episodes]

    step(GAME.tasks()[: 2 * count])
    if isinstance(player, TransformerPolicy):
        player.forget()
    began = time.perf_counter()
    said = step(GAME.tasks())
    spent = time.perf_counter() - began
    if actors is not None:
        actors.close()
    return MATCHES / spent, said


STEPPED = Table("Actors", "How much faster is a step whose games are stepped in processes of their own?", stepped)
