"""One HTML file that shows runs: curves, settings, every word of their episodes. It needs no network.

All that a model or a game said is data in the page, never markup: it is put on the screen as text by the page's script.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import jinja2

from redqueen.report.collected import MOST_EPISODES, collected
from redqueen.types import RedQueenError

PLACE = Path(__file__).parent


def write_report(folders: Sequence[Path], target: Path | None = None, most_episodes: int = MOST_EPISODES) -> Path:
    """Writes the page, into the folder of the first run unless told where, and returns its path."""
    if not folders:
        raise RedQueenError("name at least one run: redqueen report outputs/spiral-0")
    data = collected(folders, most_episodes)
    source = (PLACE / "page.html.j2").read_text(encoding="utf-8")
    page = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(source)
    target = target or folders[0] / "report.html"
    names = [f"{run['recipe']}: {run['name']}" for run in data["runs"]]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        text = page.render(
            title=names[0] if len(names) == 1 else f"{len(names)} runs",
            style=(PLACE / "page.css").read_text(encoding="utf-8"),
            script=(PLACE / "page.js").read_text(encoding="utf-8"),
            data=as_data(data),
        )
        target.write_text(text, encoding="utf-8", errors="backslashreplace")  # a lone surrogate is shown as its number
    except OSError as error:
        raise RedQueenError(f"cannot write {target}: {error.strerror}") from error
    return target


def as_data(value: object) -> str:
    """JSON that can stand inside a script element: nothing in it can close the element or open a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
