"""`export`, `exploitability` and `success`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Literal

import tyro

from redqueen.chance import derive
from redqueen.cli.words import parse
from redqueen.credit.outcomes import unknown
from redqueen.curricula.held_out import dealt
from redqueen.exports.packages import package, write
from redqueen.games.catalogue import find_game
from redqueen.markup import visible
from redqueen.measures.exact.exploitability import GameTree
from redqueen.measures.exact.rated import Rated
from redqueen.measures.exact.sampled import sampled_exploitability
from redqueen.measures.intervals import wilson_interval
from redqueen.measures.of_games import exploitability_of_uniform
from redqueen.play.lockstep import play
from redqueen.players.endpoint import Server
from redqueen.protocols import HoldsOut, OpenPlayer, has
from redqueen.runs.named_players import find_player, mind_of, unnamed
from redqueen.settings.limits import Count, Within, check_settings
from redqueen.types import Episode, Match, RedQueenError
from redqueen.views.terminal import telling


@dataclass(frozen=True)
class ExportOptions:
    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")]
    """a game by its name, or FILE.py:NAME, whose file is copied"""
    form: Annotated[Literal["gymnasium", "trl", "openenv", "verifiers"], tyro.conf.arg(name="as")]
    """whose trainer is to run it"""
    output: Path = Path()
    """the folder in which the package is made"""
    name: str = ""
    """of the game in the package; as it calls itself by default"""


def export(words: Sequence[str]) -> None:
    """GAME --as FORM [--output FOLDER]: writes a package with which another's trainer runs the game"""
    options = parse(ExportOptions, words, "redqueen export")
    if options.name and not options.name.isidentifier():
        raise RedQueenError(f"--name becomes the name of a module: letters, digits and _, not {options.name!r}")
    found = package(options.game, options.form, options.name)
    place = write(found, options.output)
    print(f"{place}: {', '.join(found.files)}; its README.md says how to install and run it")


@dataclass(frozen=True)
class ExploitabilityOptions:
    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")]
    """a game whose histories can be listed, such as kuhn_poker"""
    model: Annotated[str, tyro.conf.arg(metavar="MODEL")]
    """http://HOST/v1#MODEL, a run, or another of those that `redqueen list players` names"""
    samples: Annotated[int, Within(0, 10_000)] = 0
    """replies to each information state from which an endpoint without log-probabilities is estimated"""
    seed: int = 0


def exploitability(words: Sequence[str]) -> None:
    """GAME --model MODEL: what a best response would win of it, 0 at an equilibrium"""
    options = parse(ExploitabilityOptions, words, "redqueen exploitability")
    check_settings(options)
    if options.seed and not options.samples:
        raise RedQueenError("--seed has no effect on what is read from probabilities: it is of replies, --samples 32")
    game = find_game(options.game)
    player = find_player(options.model, game)
    with telling("listing the histories of the game"):
        tree = GameTree(game)
    inner, notes = unnamed(player), list[str]()
    with telling("asking"):
        if options.samples:
            found = sampled_exploitability(tree, player, options.samples, options.seed)
            value, notes = (
                found.exploitability.mean,
                [
                    f"95 % from {found.exploitability.low:.4f} to "
                    f"{found.exploitability.high:.4f}, {options.samples} replies to each of {len(tree.states)} states",
                    f"{found.unheard:.0%} of the states were not heard, {found.malformed:.0%} of the replies malformed",
                ],
            )
        else:
            mind: OpenPlayer | None = Rated(inner) if isinstance(inner, Server) else mind_of(player)
            if mind is None:
                raise RedQueenError(f"the probabilities of {options.model} cannot be read: estimate them, --samples 32")
            value = tree.exploitability(tree.strategy(mind))
            notes = [f"read at {len(tree.states)} information states"]
            if isinstance(mind, Rated) and mind.silent:
                notes.append(f"at {len(mind.silent)} of them no legal reply was among the likeliest: taken as uniform")
    print(visible(f"{options.model} in {game.name}: exploitability {value:.4f}"))
    print(f"uniform play {exploitability_of_uniform(tree):.4f}, an equilibrium 0; {'; '.join(notes)}")


@dataclass(frozen=True)
class SuccessOptions:
    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")]
    """a game for one with held-out tasks, such as acting:real or working:sql"""
    model: Annotated[str, tyro.conf.arg(metavar="MODEL")]
    """http://HOST/v1#MODEL, a run, or another of those that `redqueen list players` names"""
    tasks: Count = 108
    """held-out tasks, dealt by the seed, one attempt at each; at most those that there are"""
    seed: int = 0


def success(words: Sequence[str]) -> None:
    """GAME --model MODEL: the share of held-out tasks that it does, by the kind of task"""
    options = parse(SuccessOptions, words, "redqueen success")
    check_settings(options)
    game = find_game(options.game)
    if not has(game, HoldsOut) or len(game.roles) != 1:
        raise RedQueenError(f"success is of held-out tasks of a game for one, such as acting:real, not of {game.name}")
    cast = {game.roles[0]: find_player(options.model, game)}
    tasks = dealt(game.held_out(), options.tasks, options.seed)
    if not tasks:
        raise RedQueenError(f"{game.name} holds out no tasks to measure on")
    matches = [Match(game, task, cast, derive(options.seed, "held out", task.id)) for task in tasks]
    with telling("playing"):
        episodes = play(matches, Random(0))
    kinds = sorted({task.kind for task in tasks})
    print(visible(f"{options.model} in {game.name}, {len(tasks)} held-out tasks, one attempt each"))
    for kind in [*(kinds if len(kinds) > 1 else ()), ""]:
        found = [episode for episode in episodes if kind in ("", episode.task.kind)]
        print(visible(f"{kind or 'all':24} {_share_done(found)}"))


def _share_done(episodes: Sequence[Episode]) -> str:
    """The share of episodes with a score of 1 among those with a verdict, and its interval."""
    scores = [max(episode.outcome.scores.values()) for episode in episodes if not unknown(episode)]
    silent = len(episodes) - len(scores)
    without = f", {silent} without a verdict" if silent else ""
    if not scores:
        return f"no verdict on {len(episodes)}"
    share = wilson_interval(sum(score == 1.0 for score in scores), len(scores))
    return f"{share.mean:.3f}  95 % from {share.low:.3f} to {share.high:.3f}, {len(scores)} tasks{without}"
