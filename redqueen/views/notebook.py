"""Runs and episodes as a Jupyter notebook shows them: the pages of `redqueen report` inside the notebook.

    from redqueen.views.notebook import show_episode, show_run
    show_run("outputs/spiral-0")

Each page is shut into a frame of its own, which nothing that a model said can leave. The last line of a cell that is a
`Run` or an `Episode` shows itself too, in little.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from redqueen.types import Episode
from redqueen.views.report.page import episode_page, report_page
from redqueen.views.report.token_texts import tokenizer_of

MOST_EPISODES = 200  # of all runs together: they are stored in the notebook


@dataclass(frozen=True)
class Page:
    """A page of HTML that a notebook shows, `height` pixels high."""

    html: str = field(repr=False)
    height: int = 700

    def _repr_html_(self) -> str:
        # a lone surrogate, which a model can say, fits into no message to a browser: it is shown as its number
        page = self.html.encode("utf-8", errors="backslashreplace").decode()
        look = f"width:100%;height:{self.height}px;border:0"
        return f'<iframe sandbox="allow-scripts" style="{look}" srcdoc="{escape(page)}"></iframe>'


def show_run(*folders: Path | str, most_episodes: int = MOST_EPISODES) -> Page:
    """The report of one or more runs."""
    return Page(report_page([Path(folder) for folder in folders], most_episodes))


def show_episode(episode: Episode, credit: dict[str, Any] | None = None, run: Path | str | None = None) -> Page:
    """All that is known of an episode. `credit` is what `stored_episodes` gives with it; the tokenizer of its `run`
    cuts its words where the model did, so that each can be coloured."""
    tokenizer = None if run is None else tokenizer_of(Path(run))
    return Page(episode_page(episode, credit, tokenizer), height=600)
