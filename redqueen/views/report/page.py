"""One HTML file that shows runs: curves, settings, every word of their episodes. It needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redqueen.trust.no_links import write_whole
from redqueen.types import Episode, RedQueenError
from redqueen.views.html.page import rendered
from redqueen.views.report.collected import MOST_EPISODES, collected, collected_alone
from redqueen.views.report.token_texts import Decoder

PLACE = Path(__file__).parent


def write_report(folders: Sequence[Path], target: Path | None = None, most_episodes: int = MOST_EPISODES) -> Path:
    """Writes the page, into the folder of the first run unless told where, and returns its path."""
    text = report_page(folders, most_episodes)
    named, target = target is not None, target or folders[0] / "report.html"
    found = text.encode(errors="backslashreplace")  # a lone surrogate is shown as its number
    try:
        if named:  # by the user, who may mean a link
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(found)
        else:
            write_whole(folders[0], target.name, found)
    except OSError as error:
        raise RedQueenError(f"cannot write {target}: {error.strerror}") from error
    return target


def report_page(folders: Sequence[Path], most_episodes: int = MOST_EPISODES) -> str:
    """The page of these runs."""
    if not folders:
        raise RedQueenError("name at least one run: redqueen report outputs/spiral-0")
    data = collected(folders, most_episodes)
    names = [f"{run['recipe']}: {run['name']}" for run in data["runs"]]
    return _page(names[0] if len(names) == 1 else f"{len(names)} runs", data)


def episode_page(episode: Episode, credit: dict[str, Any] | None = None, tokenizer: Decoder | None = None) -> str:
    """The page of one episode; with its `credit`, as a run records it, and a tokenizer its words can be coloured."""
    return _page(f"{episode.game}: {episode.task.id}", collected_alone(episode, credit or {}, tokenizer))


def _page(title: str, data: dict[str, Any]) -> str:
    return rendered(
        title=title,
        style=(PLACE / "page.css").read_text(encoding="utf-8"),
        script=(PLACE / "page.js").read_text(encoding="utf-8"),
        data=data,
    )
