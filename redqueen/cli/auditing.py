"""`audit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from redqueen.audit.probes import PROBES, audit
from redqueen.cli.words import closest, parse
from redqueen.markup import visible
from redqueen.types import RedQueenError
from redqueen.views.terminal import telling


@dataclass(frozen=True)
class AuditOptions:
    environment: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENV")]
    """a game, a world or a question set: its name, or FILE.py:NAME"""
    only: tuple[str, ...] = ()
    """what to look for: end, chance, "held out", seats, forged, clock, shared, memory; all by default"""


def audit_environment(words: Sequence[str]) -> None:
    """ENV [--only KIND...]: seeds, seats, rewards, clocks, visits and ends that are not as training needs them"""
    options = parse(AuditOptions, words, "redqueen audit")
    for kind in options.only:
        if kind not in PROBES:
            raise RedQueenError(f"nothing of the kind {kind!r} is looked for: {closest(kind, list(PROBES))}")
    with telling("looking"):
        rows = audit(options.environment, options.only)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for heading in ("looked for", "looked at", "found"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(escape(visible(cell)) for cell in (row.kind, row.looked, row.verdict)))
    Console().print(table)
    defects = [defect for row in rows for defect in row.defects]
    for defect in defects:
        print(f"\n# {defect.kind}: {visible(defect.said)}\n{visible(defect.program)}")
    if defects:
        kinds = ", ".join(dict.fromkeys(defect.kind for defect in defects))
        raise RedQueenError(f"{options.environment} has {len(defects)} defects, each shown by its program ({kinds})")
