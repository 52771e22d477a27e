"""`report`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from redqueen.cli.words import parse
from redqueen.settings.limits import unset
from redqueen.views.report.page import write_report


@dataclass(frozen=True)
class ReportOptions:
    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN...", help_behavior_hint="")]
    """the folders of one or more runs; runs that differ in the seed alone are drawn as one curve with its interval"""
    output: Annotated[Path | None, unset("FILE")] = None
    """report.html in the folder of the first run by default"""


def report(words: Sequence[str]) -> None:
    """RUN...: writes report.html, one file that needs no network, and prints where"""
    options = parse(ReportOptions, words, "redqueen report")
    print(write_report(options.runs, options.output))
