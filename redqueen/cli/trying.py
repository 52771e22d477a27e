"""`trial`, and what `python -m experiments` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.console import Console

from redqueen.cli.words import closest, parse
from redqueen.settings.limits import check_settings
from redqueen.trials.running import HowMuch, run
from redqueen.trials.shipped import shipped
from redqueen.types import RedQueenError


@dataclass(frozen=True)
class TrialOptions:
    file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE.py[:EXPERIMENT]")]
    """a file with objects of redqueen.trials.experiment.Experiment, or one of them by its name in lower case"""
    how: Annotated[HowMuch, tyro.conf.arg(name="")] = HowMuch()


@dataclass(frozen=True)
class ExperimentsOptions:
    names: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="NAME[:EXPERIMENT]...")]
    """files of experiments/ without their ending, such as absolute_zero or speed/sampling"""
    how: Annotated[HowMuch, tyro.conf.arg(name="")] = HowMuch()


def trial(words: Sequence[str]) -> None:
    """FILE.py[:EXPERIMENT]: runs the experiments of a file of your own and writes results/ next to it"""
    options = parse(TrialOptions, words, "redqueen trial")
    check_settings(options)
    if not options.file.partition(":")[0].endswith(".py"):
        raise RedQueenError(
            f"{options.file!r} is no file: redqueen trial FILE.py; shipped experiments run in a checkout, by "
            "make experiments NAME=..."
        )
    run(options.file, options.how, "redqueen trial", Console())


def run_experiments(words: Sequence[str]) -> None:
    """Runs shipped experiments by name."""
    options = parse(ExperimentsOptions, words, "python -m experiments")
    check_settings(options)
    known = shipped()
    for name in options.names:
        if name.partition(":")[0] not in known:
            raise RedQueenError(f"there is no experiment {name!r}: {closest(name, known)}")
    for name in options.names:
        run(name, options.how, "python -m experiments", Console())
