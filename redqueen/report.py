"""One HTML file that shows a run: curves, settings, every word of some episodes. It needs no network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from redqueen.run import Line, read_final, read_metrics
from redqueen.stored import settings, stored_episodes
from redqueen.types import Episode, RedQueenError

SHOWN_EPISODES = 60  # the last ones recorded


def write_report(folder: Path) -> Path:
    """Writes `report.html` into the run's folder and returns its path."""
    config, lines = settings(folder), read_metrics(folder)
    if not lines:
        raise RedQueenError(f"{folder} has no metrics yet")
    final = read_final(folder) or lines[-1]
    episodes = stored_episodes(folder)
    source = (Path(__file__).parent / "report.html.j2").read_text()
    page = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(source)
    target = folder / "report.html"
    target.write_text(
        page.render(
            title=f"{config['recipe']}: {folder.name}",
            command=" ".join(config.get("command", [])),
            curves=[_curve(name, [*lines, final]) for name in _names([*lines, final])],
            ends=[
                (name, f"{lines[0][name]:.4f}", f"{final[name]:.4f}")
                for name in _names([lines[0]])
                if isinstance(final.get(name), int | float)
            ],
            settings=_flat({key: config[key] for key in ("config", "seed", "schedule", "versions")}),
            recorded=len(episodes),
            shown=min(len(episodes), SHOWN_EPISODES),
            folder=folder,
            episodes=[_episode(*found) for found in reversed(episodes[-SHOWN_EPISODES:])],
        ),
        encoding="utf-8",
    )
    return target


def _names(lines: Sequence[Line]) -> list[str]:
    """The figures that some line has, exact measures first."""
    names = dict.fromkeys(key for line in lines for key, value in line.items() if isinstance(value, int | float))
    names.pop("step", None)
    first = [name for name in names if "exploitability" in name or "regret" in name or name == "nash_conv"]
    return [*first, *(name for name in names if name not in first)]


def _curve(name: str, lines: Sequence[Line]) -> dict[str, str]:
    points = [(line["step"], float(line[name])) for line in lines if name in line and math.isfinite(line[name])]
    values = [value for _, value in points]
    top, bottom = max(values, default=1.0), min([*values, 0.0])
    width, height = max(points[-1][0] if points else 1, 1), (top - bottom) or 1.0
    path = " ".join(
        f"{'M' if number == 0 else 'L'}{40 + 272 * step / width:.1f},{120 - 110 * (value - bottom) / height:.1f}"
        for number, (step, value) in enumerate(points)
    )
    return {
        "name": name,
        "path": f"{path} h0" if len(points) == 1 else path,  # a point on its own is drawn as the cap of a line
        "top": f"{top:.3g}",
        "bottom": f"{bottom:.3g}",
        "last": str(points[-1][0]) if points else "",
        "first_value": f"{values[0]:.4g}" if values else "",
        "last_value": f"{values[-1]:.4g}" if values else "",
    }


def _flat(data: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for key, value in data.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{prefix}{key}.")
        else:
            rows.append((prefix + key, "by default" if value is None else str(value)))
    return rows


def _episode(name: str, episode: Episode, credit: dict[str, Any]) -> dict[str, Any]:
    spoken: dict[str, int] = {}
    turns = []
    for turn in episode.turns:
        seat = str(turn.ask.seat)
        number = spoken[seat] = spoken.get(seat, -1) + 1
        facts = f"{turn.reply.player} v{turn.reply.version}"
        if len(turn.reply.logprobs):
            facts += f", log-probability {turn.reply.logprobs.sum():.3f}"
        if seat in credit:
            facts += (
                f", reward {credit[seat]['rewards'][number]:+.3f}, advantage {credit[seat]['advantages'][number]:+.3f}"
            )
        shown = "\n".join(f"{message.speaker}: {message.text}" for message in turn.ask.messages)
        turns.append(
            {"seat": seat, "shown": shown, "thought": turn.reply.thought, "said": turn.reply.text, "facts": facts}
        )
    scores = ", ".join(f"{seat} {episode.outcome.scores[seat]:+g}" for seat in episode.seats)
    return {"name": name, "game": episode.game, "task": episode.task.id, "scores": scores, "turns": turns}
