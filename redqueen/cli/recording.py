"""`record`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated

import tyro

from redqueen.chance import derive
from redqueen.cli.words import parse
from redqueen.credit.outcomes import unknown
from redqueen.games.catalogue import find_game
from redqueen.markup import visible
from redqueen.play.lockstep import finished
from redqueen.runs.folder import Saved, keep_played, settings
from redqueen.runs.named_players import find_player
from redqueen.settings.limits import Count, check_settings, unset
from redqueen.types import Match, RedQueenError


@dataclass(frozen=True)
class RecordOptions:
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the folder of a run: its model answers, and it keeps the episodes"""
    game: str
    """agent:FILE.py:NAME, visited:QUESTIONS for agents that come by themselves, or any other game"""
    against: str = ""
    """who takes all seats but those of the game's first role: uniform, another run, world:WORLD in hosted:WORLD, or a
    server; the run's model without it"""
    matches: Count = 16
    """how many are played, all at once"""
    step: Annotated[Saved, unset("{INT,best}")] = None
    """the checkpoint after this many steps, or the one that --keep-best kept; the newest by default"""
    seed: int = 0


def record(words: Sequence[str]) -> None:
    """RUN --game GAME [flags]: matches with the model of a run, also of agents that come by themselves, are kept"""
    options = parse(RecordOptions, words, "redqueen record")
    check_settings(options)
    settings(options.run)
    game = find_game(options.game)
    player = find_player(str(options.run) if options.step is None else f"{options.run}@{options.step}", game)
    rng = Random(derive(options.seed, "record"))
    tasks = rng.choices(game.tasks(), [task.weight for task in game.tasks()], k=options.matches)
    if options.against and len(game.roles) == 1:
        raise RedQueenError(f"--against has no effect in {game.name}, where {game.roles[0]} is alone: leave it out")
    others = find_player(options.against, game) if options.against else player
    matches = [Match(game, task, dict.fromkeys(game.roles, others) | {game.roles[0]: player}) for task in tasks]
    names: list[str] = []
    try:
        episodes = finished(matches, rng.getrandbits(64), ended=lambda one: names.append(keep_played(options.run, one)))
    except BaseException:
        if names:
            print(f"{len(names)} of {len(matches)} matches were over, {_kept(options.run, names)}")
        raise
    known = [episode for episode in episodes if not unknown(episode)]
    silent = [str(each.outcome.facts.get("reason", "nobody knows what is right")) for each in episodes if unknown(each)]
    for role in game.roles:
        scores = [score for each in known for seat, score in each.outcome.scores.items() if seat.role == role]
        mean = f"{sum(scores) / len(scores):.3f}" if scores else "unknown"
        print(f"{role}: mean score {mean} in {len(known)} of {len(episodes)} matches with a verdict")
    for reason, count in Counter(silent).items():
        print(visible(f"without a verdict: {count}, {reason}"))
    print(_kept(options.run, names))


def _kept(run: Path, names: Sequence[str]) -> str:
    """Where episodes are kept."""
    return f"kept as {names[0]} to {names[-1]}: redqueen replay {run} {names[0]}"
