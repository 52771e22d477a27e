"""Writes docs/alarms.md: every alarm, the figure that it watches, when it rings and what it says.

Run it as `python docs/write_alarms.py` where redqueen is installed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this checkout, whatever else is installed

from redqueen.measures import divergence, health  # noqa: E402
from redqueen.measures.alarms import Alarm  # noqa: E402
from redqueen.runs import collapse  # noqa: E402
from redqueen.runs.signal import CAUSES  # noqa: E402

PACKAGE = ROOT / "redqueen"
PAGE = ROOT / "docs" / "alarms.md"
HEAD = """# Alarms

What a run says when it goes wrong without failing: by whom, the figure that is watched, when it rings, what it says.
Written by `python docs/write_alarms.py` from the alarms themselves; do not edit it by hand.

In the metrics an alarm is `alarm/NAME`, 1 while it rings; its words stand in the terminal, in the report and under
`alarms`. *For* counts steps, or measurements where the figure is measured, in a row. A step that does not know the
figure neither rings nor resets it: without answers nothing rings that needs them.
"""
TABLE = "| alarm | rings where | for | what it says |\n|---|---|---|---|\n"
GROUPS = (
    ("runs", "Every run"),
    ("measures", "Measures, for all recipes that have them"),
    ("settings", "Judges"),
    ("recipes", "Recipes"),
)


def found() -> Iterator[tuple[str, Alarm]]:
    """Every alarm with the file that holds it, in the order of files and lines."""
    made = {
        "measures/divergence.py": divergence._watched(divergence.Limits()),
        "measures/health.py": health._watched(health.Limits()),
        "runs/collapse.py": [
            *collapse._of_a_run(collapse.Watch()),
            *collapse._of_a_learner("", collapse.Watch()),
        ],
    }
    for path in sorted(PACKAGE.rglob("*.py")):
        if not re.search(r"\bAlarms?\(|measures\.unseen import", path.read_text()):
            continue
        name = path.relative_to(PACKAGE).as_posix()
        module = import_module("redqueen." + name.removesuffix(".py").replace("/", "."))
        held = [each for value in vars(module).values() for each in (value if isinstance(value, tuple) else (value,))]
        seen: list[Alarm] = []
        for alarm in [*(each for each in held if isinstance(each, Alarm)), *made.get(name, ())]:
            if alarm not in seen:
                seen.append(alarm)
                yield name, alarm


def row(alarm: Alarm) -> str:
    """A line of the table."""
    side = "below" if alarm.below else "above"
    figure = "" if alarm.name in CAUSES or alarm.name == "no_update" else f"`{alarm.figure}` {side} {alarm.limit:g}"
    said = re.sub(r"\{+[^{}]*\}+", "…", alarm.message).replace("|", "\\|")
    said = "why, in words and figures of the step" if said == "…" else said
    return f"| {alarm.name.replace('_', ' ')} | {figure} | {alarm.steps} | {said} |"


def page() -> str:
    """The whole page."""
    whose = list(found())
    text = HEAD
    for folder, title in GROUPS:
        text += f"\n## {title}\n"
        own = [(name, alarm) for name, alarm in whose if name.startswith(f"{folder}/")]
        for name, alarms in groupby(own, key=lambda pair: pair[0]):
            parts = Path(name).parts
            heading = f"`{parts[2].removesuffix('.py')}`" if folder == "recipes" else f"`{name}`"
            text += f"\n### {heading}\n\n{TABLE}" + "".join(f"{row(alarm)}\n" for _, alarm in alarms)
    return text


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE.relative_to(ROOT)}")
