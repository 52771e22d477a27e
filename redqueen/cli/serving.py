"""`serve`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from redqueen.cli.words import parse
from redqueen.settings.limits import unset
from redqueen.views.serve.menu import Menu
from redqueen.views.serve.server import serve as serve_menu


@dataclass(frozen=True)
class ServeOptions:
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the folder of a run, such as outputs/spiral-0"""
    game: Annotated[str | None, unset("GAME")] = None
    """another game than those it was trained on"""
    also: tuple[str, ...] = ()
    """further players to choose from: other runs, RUN@STEP, servers; the checkpoints of RUN and bots are included"""
    host: str = "127.0.0.1"
    """where to listen; anything but this machine lets those play who have the printed address, with its token"""
    port: int = 8765
    """0 takes a free one"""


def serve(words: Sequence[str]) -> None:
    """RUN: a local web page on which people play against a run"""
    options = parse(ServeOptions, words, "redqueen serve")
    menu = Menu(options.run, options.game, options.also)
    try:
        serve_menu(menu, options.host, options.port, lambda line: print(line, file=sys.stderr, flush=True))
    except KeyboardInterrupt:
        print("the page is closed", file=sys.stderr)
