"""`export` and `exploitability`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from redqueen.cli.words import parse
from redqueen.exports.packages import package, write
from redqueen.games.catalogue import find_game
from redqueen.markup import visible
from redqueen.measures.exact.exploitability import GameTree
from redqueen.measures.exact.rated import Rated
from redqueen.measures.exact.sampled import sampled_exploitability
from redqueen.measures.of_games import exploitability_of_uniform
from redqueen.players.endpoint import Server
from redqueen.protocols import OpenPlayer
from redqueen.runs.named_players import find_player, mind_of, unnamed
from redqueen.settings.limits import Within, check_settings
from redqueen.types import RedQueenError
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
    print(f"{place}: {', '.join(found.files)}; install it with pip install {place}")


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
    game = find_game(options.game)
    player = find_player(options.model, game)
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
