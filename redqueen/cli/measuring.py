"""`evaluate` and `tournament`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from redqueen.cli.comparing import one_in_the_report
from redqueen.cli.sequences import BESIDE_EXPERTS, beside_experts, sequence
from redqueen.cli.sequences import HEADINGS as SEQUENCE
from redqueen.cli.suites import measure_suites
from redqueen.cli.words import parse
from redqueen.games.catalogue import find_game
from redqueen.measures.before_after import HEADINGS as CHANGES
from redqueen.measures.ladder import Ladder, ladder
from redqueen.measures.of_games import lists_choices, usual_measures
from redqueen.measures.tournament import HEADINGS, Standings, check_pairs, tournament
from redqueen.protocols import Game, Player, Questions, Trained
from redqueen.runs.folder import (
    Saved,
    games_named,
    made_game,
    settings,
    stored_games,
    stored_measure,
    stored_policy,
    stored_questions,
    stored_team,
)
from redqueen.runs.named_players import Named, find_player, warn_of_strangers
from redqueen.runs.player_names import PLAYERS
from redqueen.runs.run import bases_of_measures, read_final, read_metrics
from redqueen.runs.train import measured, warn_of_changed_files
from redqueen.settings.limits import Count, Within, check_settings, unset
from redqueen.types import Basis, Metrics, RedQueenError
from redqueen.views.headline import in_words
from redqueen.views.report.collected import write_tournament
from redqueen.views.terminal import telling

OF_RECIPE = "held_out/"  # what the names of figures begin with that `HeldOut` does not measure


@dataclass(frozen=True)
class EvaluateOptions:
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the folder of a run, such as outputs/spiral-0"""
    game: Annotated[str | None, unset("GAME")] = None
    """another game than the one it was trained on"""
    step: Annotated[Saved, unset("{INT,best}")] = None
    """the checkpoint after this many steps, or the one that --keep-best kept; the newest by default"""
    against: tuple[str, ...] = ("uniform",)
    """opponents in a game, each in both seatings: uniform, minimax, honest, equilibrium, a run, a server"""
    matches: Count = 200
    """games with each opponent; or problems of each level, at most those that the run held out"""
    seed: int = 0
    suite: Annotated[tuple[str, ...], unset("SUITE:TASK,...")] = ()
    """tests that others wrote, asked before and after the training, in place of the run's own: lm-eval:TASK,FILE.yaml
    or inspect:FILE.py"""
    suite_limit: Annotated[Count | None, unset("INT")] = None
    """documents of each task, the first of them; all by default"""
    suite_shots: Annotated[int | None, Within(0, 1000), unset("INT")] = None
    """of lm-eval: worked examples before each document; as the task says by default"""
    suite_chat: bool = False
    """of lm-eval: put the model's chat template around each document"""
    then: Annotated[tuple[Path, ...], unset("RUN...")] = ()
    """runs that went on from this one, one after the other: what was learned, kept and passed on"""
    experts: Annotated[tuple[Path, ...], unset("RUN...")] = ()
    """with --then: for each run one that learned its task alone, from the start"""


def evaluate(words: Sequence[str]) -> None:
    """RUN [flags]: measures a policy, exactly where the game allows, and plays it against others"""
    options = parse(EvaluateOptions, words, "redqueen evaluate")
    check_settings(options)
    with telling("measuring"):
        _evaluate(options)


def _evaluate(options: EvaluateOptions) -> None:
    if options.then:
        _evaluate_sequence(options)
        return
    if options.experts:
        raise RedQueenError("--experts has no effect without --then RUN2, the runs that went on from this one")
    if options.suite:
        _evaluate_suites(options)
        return
    if options.suite_limit is not None or options.suite_shots is not None or options.suite_chat:
        raise RedQueenError(
            "--suite-limit, --suite-shots and --suite-chat are of a suite: name one, as --suite lm-eval:TASK"
        )
    warn_of_changed_files(options.run, options.step)
    if options.game is None and (questions := stored_questions(options.run)) is not None:
        _evaluate_answers(questions, options)
        return
    games = [find_game(options.game)] if options.game else _games_of(options.run)
    if not games:
        _evaluate_as_trained(options)
        return
    policies = [stored_team(options.run, game, options.step) for game in games]
    meeting = [
        _meeting(game, policy, options, several=len(games) > 1) for game, policy in zip(games, policies, strict=True)
    ]
    for game, policy, players in zip(games, policies, meeting, strict=True):
        _evaluate_game(game, policy, players, options)


def _games_of(run: Path) -> list[Game]:
    """The games of a run that others can meet its policy in, or that it plays alone; none where one of them has more
    seats, or where nothing but its recipe knows what it plays."""
    if made_game(run):
        return []
    try:
        games = stored_games(run)
    except RedQueenError:
        if games_named(settings(run)):
            raise
        return []
    return games if all(len(game.roles) <= 2 for game in games) else []


def _evaluate_as_trained(options: EvaluateOptions) -> None:
    """Prints what the recipe of a run measures. Raises RedQueenError for what would have no effect on it."""
    for name in ("against", "matches", "seed"):
        if getattr(options, name) != getattr(EvaluateOptions, name):
            raise RedQueenError(f"--{name} has no effect here: {options.run} is measured as its recipe measures it")
    steps, figures, bases = measured(options.run, options.step)
    if not figures:
        raise RedQueenError(
            f"the recipe of {options.run} measures nothing: redqueen report {options.run} shows what each step reported"
        )
    console = Console()
    console.print(f"{options.run}, after {steps} steps", markup=False, highlight=False)
    console.print(_measured(figures, bases))


def _meeting(game: Game, policy: Trained, options: EvaluateOptions, several: bool) -> list[Player]:
    """Those who meet in a game; nobody in one that is played alone, nor where a run of `several` games has one whose
    replies are not listed, and whom to meet was not said. Raises RedQueenError for opponents of who plays alone."""
    given = options.against != EvaluateOptions.against
    if len(game.roles) > 1:
        return [] if several and not given and not lists_choices(game) else _opposed(game, policy, options)
    if given:
        raise RedQueenError(
            f"{game.name} is played alone, so --against has no effect" + (": name another --game" if several else "")
        )
    return []


def _evaluate_game(game: Game, policy: Trained, players: Sequence[Player], options: EvaluateOptions) -> None:
    console = Console()
    console.print(f"{options.run} in {game.name}, after {policy.version} updates", markup=False, highlight=False)
    warn_of_strangers(policy, game, str(options.run), options.run)
    measures = usual_measures(game, policy, options.seed, options.matches)
    figures = {
        key: value
        for measure in measures
        for key, value in measure().items()
        if not key.startswith(("average_", "late_average_"))  # of one iterate: the same again
    }
    if figures:
        console.print(_measured(figures, bases_of_measures(measures)))
    if players:
        _print_standings(game, players, options.matches, options.seed)
    elif len(game.roles) > 1:
        print(f"{game.name} lists no replies, so that uniform play meets nobody there: name --against WHO")


def _opposed(game: Game, policy: Trained, options: EvaluateOptions) -> list[Player]:
    """The policy and those that it meets. Raises RedQueenError if there are none, or for a game that no two play."""
    if not options.against:
        raise RedQueenError(f"name at least one player to meet, as --against: {', '.join(PLAYERS)}")
    players: list[Player] = [Named(policy, str(options.run)), *(find_player(spec, game) for spec in options.against)]
    check_pairs(game, [player.name for player in players], options.matches)
    return players


def _evaluate_suites(options: EvaluateOptions) -> None:
    """Prints what a run gained and forgot in others' tests, a table for each suite."""
    if options.game is not None or options.against != EvaluateOptions.against:
        raise RedQueenError("a suite asks the model itself: leave out --game and --against")
    if options.matches != EvaluateOptions.matches:
        raise RedQueenError("--matches has no effect on a suite, which has documents: --suite-limit")
    asked = {"most": options.suite_limit, "shots": options.suite_shots, "chat": options.suite_chat}
    updates, found = measure_suites(options.run, options.step, options.suite, {**asked, "seed": options.seed})
    for spec, changes in found.items():
        title = f"{options.run}, {spec}: before and after {updates} updates"
        _print_players(title, CHANGES, [change.cells(narrow=True) for change in changes], texts=2)
    print(f"95 % intervals; in the report of {options.run}")


def _evaluate_sequence(options: EvaluateOptions) -> None:
    """Prints what became of the task of each run of a sequence."""
    for name in ("game", "step", "suite", "suite_limit", "suite_shots", "suite_chat", "against"):
        if getattr(options, name) != getattr(EvaluateOptions, name):
            raise RedQueenError(f"--{name.replace('_', '-')} has no effect with --then: leave it out")
    runs = [options.run, *options.then]
    beside = beside_experts(runs, options.experts) if options.experts else []  # before anything is measured anew
    _print_players("one after the other", SEQUENCE, sequence(runs, options.matches, options.seed), texts=3)
    print("maintenance below 0 is forgetting; forward, backward: (after - before) / (after + before) over other runs")
    if beside:
        _print_players("beside experts", BESIDE_EXPERTS, beside, texts=2)
        print(
            "relative performance: sums of what was measured; sample efficiency: how high and how soon; 1: the expert"
        )


def _measured(figures: Metrics, bases: Mapping[str, Basis]) -> Table:
    """The table of figures and what they rest on, whose cells wrap in a narrow window."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("measure", overflow="fold")
    table.add_column("value", justify="right", overflow="fold")
    table.add_column("on", overflow="fold")
    for key, value in figures.items():
        table.add_row(escape(key), f"{value:.4f}", escape(in_words(bases.get(key, Basis()))))
    return table


def _evaluate_answers(questions: Questions, options: EvaluateOptions) -> None:
    """Prints the accuracy of a run's learner on held-out questions, and what its recipe measures on pairs or judgements
    that it held out (`held_out/...`). Raises RedQueenError for opponents."""
    if options.against != EvaluateOptions.against:
        raise RedQueenError(f"{options.run} answers questions of {questions.name} alone, so --against has no effect")
    policy = stored_policy(options.run, options.step)
    console = Console()
    console.print(f"{options.run} on {questions.name}, after {policy.version} updates", markup=False, highlight=False)
    measure = stored_measure(options.run, questions, policy, options.matches, options.seed)
    console.print(_measured(measure(), measure.basis()))
    if any(name.startswith(OF_RECIPE) for name in _figures_of(options.run)):
        _, figures, bases = measured(options.run, options.step)
        own = {name: value for name, value in figures.items() if name.startswith(OF_RECIPE)}
        print("as its recipe measures it:")
        console.print(_measured(own, bases))


def _figures_of(run: Path) -> set[str]:
    """The names of all figures of a run."""
    return {name for line in [*read_metrics(run), read_final(run)] for name in line}


@dataclass(frozen=True)
class TournamentOptions:
    players: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="PLAYER...", help_behavior_hint="")]
    """two or more of those that `redqueen list players` names"""
    game: Annotated[str | None, unset("GAME")] = None
    """the game of the first run by default; every one of them if it has several"""
    matches: int = 200
    """matches of each pair, half in each seating; an even number"""
    seed: int = 0
    output: Annotated[Path | None, unset("RUN")] = None
    """the folder of a run to whose report the tournament is added"""


def run_tournament(words: Sequence[str]) -> None:
    """PLAYER PLAYER... [flags]: runs, bots and servers play each other in both seatings"""
    options = parse(TournamentOptions, words, "redqueen tournament")
    if len(options.players) < 2:
        raise RedQueenError(f"a tournament needs at least two players: {', '.join(PLAYERS)}, or folders of runs")
    folders = [Path(spec.partition("@")[0]) for spec in options.players]
    runs = [folder for folder in folders if folder.is_dir()]
    if options.game is None and not runs:
        raise RedQueenError("name the game: --game kuhn_poker")
    if options.game is None and (questions := stored_questions(runs[0])) is not None:
        raise RedQueenError(
            f"{runs[0]} answers questions of {questions.name!r} and plays no game: redqueen compare FIRST SECOND sets "
            "two runs side by side on the same questions"
        )
    games = [find_game(options.game)] if options.game else stored_games(runs[0])
    if options.output is not None:
        settings(options.output)
        one_in_the_report(games)
    meeting = [[find_player(spec, game) for spec in options.players] for game in games]
    for game, players in zip(games, meeting, strict=True):
        check_pairs(game, [player.name for player in players], options.matches)
    for game, players in zip(games, meeting, strict=True):
        with telling("playing"):
            standings = _print_standings(game, players, options.matches, options.seed)
        _print_players("payoff matrix: mean score of row against column", *standings.matrix())
        found = ladder(standings, options.seed)
        _print_ladder(found)
        if options.output is not None:
            print(f"in the report of {write_tournament(options.output, standings, found, options.matches)}")


def _print_ladder(found: Ladder) -> None:
    """Prints the ratings of a tournament, and whether one number per player describes it."""
    _print_players("ratings", found.headings, found.rows)
    for note in found.notes:
        Console().print(escape(note), highlight=False)


def _print_standings(game: Game, players: Sequence[Player], matches: int, seed: int) -> Standings:
    standings = tournament(game, players, matches, seed)
    title = f"{game.name}, {matches} matches of each pair, half in each seating"
    _print_players(title, HEADINGS, standings.table())
    return standings


def _print_players(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> None:
    """Prints one line for each player or task, its `texts` first, at most 80 characters wide."""
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number >= texts else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    Console().print(table)
