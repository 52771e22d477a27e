"""Episodes and runs as small pieces of HTML, for notebooks. All text is escaped, so that nothing in it runs; `visible`
does the same for a terminal."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redqueen.types import Episode, Message

LONGEST = 2000  # characters of one text
LONGEST_CALL = 120  # characters of the arguments of a tool in a heading; the text of the message holds them whole
MOST_FIGURES = 40
WIDTH, HEIGHT = 120, 20  # of a curve, in pixels

# characters that are invisible, that change the direction of text, or lone surrogates: they are shown by their numbers
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_WORDS = "white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate;text-align:left;vertical-align:top"
_QUIET = "opacity:.65;font-size:90%"


def visible(text: str) -> str:
    """The text with invisible characters and terminal control characters shown by their numbers: safe to print."""
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def signed(score: float) -> str:
    """A score with its sign; a draw is 0, not -0, and a verdict that is not known is said to be so."""
    if math.isnan(score):
        return "unknown"
    return f"{score:+g}" if score else "0"


def words(text: str) -> str:
    """The text as escaped HTML."""
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text) - LONGEST} more characters)"
    return escape(visible(cut))


def speaker_line(message: Message) -> str:
    """The speaker, with the calls and the results of tools that the message holds:
    `solver (call_1: calculate {"text": "12+7"})`, `tool (result of call_1)`."""
    held = [f"{call.id}: {call.name} {_short(json.dumps(dict(call.arguments), default=str))}" for call in message.calls]
    held += [f"result of {result.id}" for result in message.results]
    return f"{message.speaker} ({', '.join(held)})" if held else message.speaker


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_CALL else f"{text[:LONGEST_CALL]}…"


def episode_as_html(episode: Episode) -> str:
    """An episode as HTML: what each seat was shown, what it said, and the scores."""
    rows = []
    for turn, messages in zip(episode.turns, episode.newly_shown(), strict=True):
        seat = str(turn.ask.seat)
        shown = "\n".join(f"{speaker_line(message)}: {message.text}" for message in messages)
        thought = f"<div style='{_QUIET}'><i>{words(turn.reply.thought)}</i></div>" if turn.reply.thought else ""
        asked = f"<details style='{_QUIET}'><summary>was shown</summary>{words(shown)}</details>"
        who = f"{words(seat)}<div style='{_QUIET}'>{words(turn.reply.player)} v{turn.reply.version}</div>"
        rows.append((who, f"{asked}{thought}<b>{words(turn.reply.text)}</b>"))
    scores = ", ".join(f"{words(str(seat))} {signed(episode.outcome.scores[seat])}" for seat in episode.seats)
    title = f"<b>{words(episode.game)}</b>, task {words(episode.task.id)}, seed {episode.seed}: {scores}"
    return f"<div>{title}{_table((), rows)}</div>"


def run_as_html(title: str, curves: Mapping[str, Sequence[float]]) -> str:
    """A run as HTML: every figure with its first value, its latest one and its curve."""
    rows = [
        (words(name), f"{values[0]:.4g}", f"{values[-1]:.4g}", _course(values))
        for name, values in list(curves.items())[:MOST_FIGURES]
    ]
    more = f"<div style='{_QUIET}'>{len(curves) - len(rows)} more figures</div>" if len(curves) > len(rows) else ""
    return f"<div><b>{words(title)}</b>{_table(('', 'start', 'now', 'course'), rows)}{more}</div>"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(f"<td style='{_WORDS}'>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{f'<tr>{head}</tr>' if head else ''}{body}</table>"


def _course(values: Sequence[float]) -> str:
    """A curve from its lowest to its highest value, as SVG; what is not finite is left out."""
    points = [(place, value) for place, value in enumerate(values) if math.isfinite(value)]
    if not points:
        return ""
    low, high = min(value for _, value in points), max(value for _, value in points)
    across, up = WIDTH / max(len(values) - 1, 1), (HEIGHT - 2) / ((high - low) or 1.0)
    path = " ".join(f"{place * across:.1f},{HEIGHT - 1 - (value - low) * up:.1f}" for place, value in points)
    return (
        f"<svg width='{WIDTH}' height='{HEIGHT}' viewBox='0 0 {WIDTH} {HEIGHT}'>"
        f"<polyline points='{path}' fill='none' stroke='currentColor'/></svg>"
    )
