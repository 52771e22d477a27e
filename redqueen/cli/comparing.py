"""`compare`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan
from pathlib import Path
from random import Random
from typing import Annotated, Any
from warnings import warn

import numpy as np
import tyro
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from redqueen.chance import derive
from redqueen.cli.words import parse
from redqueen.curricula.dealt import Enumerated
from redqueen.demonstrations.rehearsal import Equipped
from redqueen.games.catalogue import find_game
from redqueen.markup import speaker_line, visible
from redqueen.measures.side_by_side import Crossing, SideBySide, side_by_side
from redqueen.protocols import Game, Questions
from redqueen.questions.asking import SOLVE, graded
from redqueen.runs.folder import (
    games_named,
    measured_player,
    settings,
    stored_games,
    stored_questions,
    stored_tests,
    stored_truncated,
)
from redqueen.runs.named_players import find_player, mind_of
from redqueen.settings.limits import Count, check_settings, unset
from redqueen.types import RedQueenError, Task
from redqueen.views.report.collected import write_comparison

LONGEST = 600  # characters of what somebody said or was shown; beyond, its beginning and its end


@dataclass(frozen=True)
class CompareOptions:
    first: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FIRST")]
    """a checkpoint, outputs/spiral-0@200, a run, for its newest one, or another that `redqueen list players` names"""
    second: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SECOND")]
    """another one"""
    against: Annotated[str | None, unset("PLAYER")] = None
    """who sits in the other seats; each of the two plays all seats itself by default"""
    game: Annotated[str | None, unset("GAME")] = None
    """the game or games, or the questions, of the first run by default"""
    matches: Count = 100
    """tasks, each played by both and against PLAYER in each role; or held-out problems of each level"""
    seed: int = 0
    show: Count = 3
    """how many of the places where they differ to print, the most frequent first"""
    output: Annotated[Path | None, unset("RUN")] = None
    """the folder of a run to whose report the comparison is added"""


def compare(words: Sequence[str]) -> None:
    """FIRST SECOND [flags]: two checkpoints on the same tasks and seeds: where they differ, and the effect on scores"""
    options = parse(CompareOptions, words, "redqueen compare")
    check_settings(options)
    if options.output is not None:
        settings(options.output)
    for found in _compared(options):
        _print(found, options.show)
        if options.output is not None:
            print(f"in the report of {write_comparison(options.output, found)}")


def _compared(options: CompareOptions) -> Iterator[SideBySide]:
    runs = [Path(spec.partition("@")[0]) for spec in (options.first, options.second)]
    known = [run for run in runs if run.is_dir()]
    if options.game is None and not known:
        raise RedQueenError("name the game: --game kuhn_poker")
    questions = stored_questions(known[0]) if options.game is None else None
    if questions is not None:
        if len({_held_out_by(run) for run in known if not games_named(settings(run))}) > 1:
            warn(
                f"the problems are those that {known[0]} held out: {known[1]} may have been trained on some",
                stacklevel=2,
            )
        problems = stored_tests(known[0], questions, options.matches)
        yield _in_game(options, SOLVE, [task for level in problems.values() for task in level], known, questions)
        return
    games = [find_game(options.game)] if options.game else stored_games(known[0])
    if options.output is not None:
        one_in_the_report(games)
    for game in games:
        tasks = Enumerated(game.tasks()).draw(options.matches, Random(derive(options.seed, "tasks")))
        yield _in_game(options, game, tasks, known)


def _held_out_by(run: Path) -> tuple[Any, ...]:
    """What decides which problems a run kept from its training."""
    found = settings(run)
    return found["config"].get("questions"), found["config"].get("problems"), found.get("tests", 0)


def one_in_the_report(games: Sequence[Game]) -> None:
    """Raises RedQueenError for several games, as a report keeps one table."""
    if len(games) > 1:
        raise RedQueenError(f"the report keeps one: with --output name a --game, {', '.join(g.name for g in games)}")


def _in_game(
    options: CompareOptions,
    game: Game,
    tasks: Sequence[Task],
    known: Sequence[Path],
    questions: Questions | None = None,
) -> SideBySide:
    players = (find_player(options.first, game), find_player(options.second, game))
    if questions is not None and isinstance(equipped := measured_player(known[0], players[0]), Equipped):
        game = equipped.game  # both answer with the tools of the first run, which are part of what is shown
    return side_by_side(
        game,
        tasks,
        players,
        (mind_of(players[0]), mind_of(players[1])),
        options.seed,
        find_player(options.against, game) if options.against else None,
        list if questions is None else partial(graded, questions, truncated=stored_truncated(known[0])),
    )


def _print(found: SideBySide, most: int) -> None:
    console = Console()
    meet = f"against {found.against}" if found.against else "in all seats"
    title = f"{found.game}, {len(found.pairs)} matches {meet}: they part in {found.parted}"
    console.print(title, markup=False, highlight=False, soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for heading in ("score as", *found.names, "the second is better by"):
        table.add_column(escape(heading), justify="left" if heading == "score as" else "right", overflow="fold")
    for each in found.scores:
        if isnan(each.first) or isnan(each.second):
            table.add_row(escape(each.role), "unknown", "unknown", "unknown")
            continue
        table.add_row(escape(each.role), f"{each.first:+.3f}", f"{each.second:+.3f}", escape(str(each.difference)))
    console.print(table)
    for crossing in found.crossings[:most]:
        _print_crossing(console, crossing, found.names)
    if len(found.crossings) > most:
        console.print(f"{len(found.crossings) - most} more places where they part: --show {len(found.crossings)}")


def _print_crossing(console: Console, crossing: Crossing, names: tuple[str, str]) -> None:
    ask, replies = crossing.fork.ask, crossing.fork.replies
    times = f"in {crossing.count} matches" if crossing.count > 1 else "in 1 match"
    console.rule(f"turn {crossing.fork.turn}, {escape(str(ask.seat))}, {times}", style="dim")
    for message in ask.messages:
        console.print(
            f"{visible(speaker_line(message))}: {_short(message.text)}", markup=False, highlight=False, style="dim"
        )
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for heading in ("", *names):
        table.add_column(escape(heading), overflow="fold")
    table.add_row("says", *(escape(_short(reply.text)) for reply in replies), style="bold")
    for number, choice in enumerate(ask.choices):
        chances = [_chance(probabilities, number) for probabilities in crossing.probabilities]
        if any(chances):
            table.add_row(escape(_short(choice)), *chances)
    console.print(table)


def _chance(probabilities: np.ndarray | None, number: int) -> str:
    return "" if probabilities is None else f"{probabilities[number]:.3f}"


def _short(text: str) -> str:
    half = LONGEST // 2
    cut = text if len(text) <= LONGEST else f"{text[:half]} … {len(text) - LONGEST} more characters … {text[-half:]}"
    return visible(cut)
