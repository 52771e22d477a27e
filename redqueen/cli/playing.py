"""`play` and `replay`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.markup import escape

from redqueen.cli.words import closest, parse
from redqueen.credit.outcomes import result
from redqueen.games.catalogue import find_game, spec_of
from redqueen.games.hearing import addressed, stated_hearers
from redqueen.games.programmed import as_recorded as said_again
from redqueen.games.tools import as_recorded as with_recorded_tools
from redqueen.games.tools import with_functions
from redqueen.markup import signed, speaker_line, visible
from redqueen.play.lockstep import play as play_matches
from redqueen.play.lockstep import replay as replay_episode
from redqueen.play.seating import dealt
from redqueen.players.human import AtOneSeat, Human
from redqueen.protocols import Game, Player
from redqueen.runs.folder import recorded_game, settings, stored_episodes
from redqueen.runs.named_players import find_player, only_draws, undrawn
from redqueen.settings.limits import unset
from redqueen.trust.door import Untrusted
from redqueen.types import Episode, Match, RedQueenError

ALL = "all"
NOTHING = "(no action in the stated format)"


@dataclass(frozen=True)
class PlayOptions:
    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")]
    """one of those that `redqueen list games` names, or your own: path/to/file.py:MyGame"""
    against: str = "uniform"
    """uniform, minimax, honest, equilibrium, the folder of a run, or a server"""
    role: Annotated[str | None, unset("ROLE")] = None
    """the role you take (one seat where several share it), or all for every seat; the game's first by default"""
    seed: Annotated[int | None, unset("INT")] = None
    """random for each game by default"""


def play(words: Sequence[str]) -> None:
    """GAME --against RUN: a person at the keyboard against a policy or a bot"""
    options = parse(PlayOptions, words, "redqueen play")
    game = find_game(options.game)
    role = options.role or game.roles[0]
    if role not in (*game.roles, ALL):
        raise RedQueenError(f"{game.name} has no role {role!r}: it has {', '.join(game.roles)}, or take {ALL} of them")
    opponent = find_player(options.against, game)
    if only_draws(opponent) and role != ALL and (writing := undrawn(game, role)):
        raise RedQueenError(
            f"{game.name} is played in free text by {', '.join(sorted(writing))}, and {opponent.name} draws among "
            "listed replies: --against RUN, --against http://HOST/v1#MODEL, or --role all for all of its seats"
        )
    seed = Random().getrandbits(32) if options.seed is None else options.seed
    person = Human(write=_print)
    seated = AtOneSeat(person, opponent)
    cast: dict[str, Player] = (
        dict.fromkeys(game.roles, person) if role == ALL else dict.fromkeys(game.roles, opponent) | {role: seated}
    )
    (episode,) = play_matches([Match(game, dealt(game, seed), cast, seed)], Random(seed))
    print("what was played:")
    for turn, line in zip(episode.turns, addressed(episode, stated_hearers(game)), strict=True):
        you = " (you)" if role == ALL or turn.ask.seat == seated.seat else ""
        _print(f"  {line}{you}: {turn.reply.text or NOTHING}")
    for seat in episode.seats:
        you = "  (you)" if role == ALL or seat == seated.seat else ""
        print(f"{seat}: {signed(episode.outcome.scores[seat])}{you}")
    for name, fact in episode.outcome.facts.items():
        _print(f"{name}: {fact}")
    print(f"the same deal again: --seed {seed}")


def _print(text: str) -> None:
    print(visible(text))


@dataclass(frozen=True)
class ReplayOptions:
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the folder of a run, such as outputs/spiral-0"""
    episode: Annotated[tyro.conf.Positional[str | None], unset("STEP.NUMBER")] = None
    """one of the names in the list that is shown without it"""
    game: str = ""
    """the game of the episode, where it is none of the run's own, such as one that was recorded"""


def replay(words: Sequence[str]) -> None:
    """RUN [STEP.NUMBER]: every word of a recorded episode, checked by playing it again; without a name, lists them"""
    options = parse(ReplayOptions, words, "redqueen replay")
    settings(options.run)
    found = stored_episodes(options.run)
    if not found:
        raise RedQueenError(f"{options.run} has no recorded episodes")
    if options.episode is None:
        for name, episode, _ in found:
            _print(f"{name}\t{episode.game}\t{episode.task.id}\t{_scores(episode)}")
        return
    for name, episode, credit in found:
        if name == options.episode:
            game, as_then = _game_named(options.game, episode) if options.game else _game_of(episode, options.run)
            _print_episode(episode, credit, addressed(episode, stated_hearers(game)))
            same = replay_episode(game, episode)
            if same.outcome.scores == episode.outcome.scores:
                end = f"every ask and the outcome are the same (task {episode.task.id}, seed {episode.seed})"
            else:
                then, now = _scores(episode), _scores(same)
                raise RedQueenError(f"the record ends with {then}, but {game.name!r} with {now} now")
            _print(f"replayed{as_then}: {end}{_given_afterwards(episode, same, credit)}")
            return
    raise RedQueenError(
        f"{options.run} has no episode {options.episode!r}: {closest(options.episode, [n for n, _, _ in found])}"
    )


def _game_named(spec: str, episode: Episode) -> tuple[Game, str]:
    """The game that `spec` names, in which all is played again. Raises RedQueenError where it is not the episode's."""
    game = find_game(spec)
    if spec_of(game.name) != spec_of(episode.game):
        raise RedQueenError(f"--game {spec} is {game.name!r}, and the episode is one of {episode.game!r}")
    return game, ""


def _game_of(episode: Episode, run: Path) -> tuple[Game, str]:
    """The game that is played again, and what of it is only said again from the record."""
    if "calls" in episode.outcome.facts and not with_functions(episode):
        return with_recorded_tools(episode), ", with what its tools said then"
    if episode.game.startswith("visited:"):
        return said_again(episode), ", with what its agent said then"
    try:
        return recorded_game(episode.game, run), ""
    except Untrusted:
        raise
    except RedQueenError as error:
        raise RedQueenError(f"{error}; --game names the game that was played") from error


def _print_episode(episode: Episode, credit: Mapping[str, Any], lines: Sequence[str]) -> None:
    """Prints what was said to whom, and then each turn with what its seat was shown."""
    console = Console()
    console.print(f"[bold]{_shown(episode.game)}[/bold], task {_shown(episode.task.id)}", highlight=False)
    if any(line != str(turn.ask.seat) for line, turn in zip(lines, episode.turns, strict=True)):
        console.rule("what was said", style="dim")
        for line, turn in zip(lines, episode.turns, strict=True):
            console.print(f"[bold]{_shown(line)}:[/bold] {_shown(turn.reply.text or NOTHING)}", highlight=False)
    spoken: dict[str, int] = {}
    for line, turn, messages in zip(lines, episode.turns, episode.newly_shown(), strict=True):
        seat = str(turn.ask.seat)
        console.rule(f"{_shown(seat)} is asked", style="dim")
        for message in messages:
            console.print(f"[dim]{_shown(speaker_line(message))}:[/dim] {_shown(message.text)}", highlight=False)
        if turn.reply.thought:
            thought = f"({_shown(seat)} thinks) {_shown(turn.reply.thought)}"
            console.print(f"[italic dim]{thought}[/italic dim]", highlight=False)
        number = spoken[seat] = spoken.get(seat, -1) + 1
        parts = credit.get(seat)
        given = (
            f"  reward {_known(parts['rewards'][number])}, advantage {_known(parts['advantages'][number])}"
            if parts
            else ""
        )
        chance = f", log-probability {turn.reply.logprobs.sum():.3f}" if len(turn.reply.logprobs) else ""
        who = f"{_shown(turn.reply.player)} v{turn.reply.version}{chance}"
        who = f"demonstrated to {_shown(turn.reply.player)}" if turn.reply.recited else who
        console.print(
            f"[bold]{_shown(seat)} says{_shown(line.removeprefix(seat))}:[/bold] {_shown(turn.reply.text)}\n"
            f"  [dim]{who}{given}[/dim]",
            highlight=False,
        )
    console.rule(style="dim")
    console.print(f"scores: {_shown(_scores(episode))}", highlight=False)
    for name, fact in episode.outcome.facts.items():
        console.print(f"{_shown(name)}: {_shown(str(fact))}", highlight=False)


def _given_afterwards(episode: Episode, replayed: Episode, credit: Mapping[str, Any]) -> str:
    """A note on what the record holds beyond the game: added facts, and rewards other than its scores; empty if
    neither."""
    added = [name for name in episode.outcome.facts if name not in replayed.outcome.facts]
    for seat, score in replayed.outcome.scores.items():
        rewards = credit[str(seat)]["rewards"] if str(seat) in credit else []
        if rewards and (None in rewards or not np.isclose(sum(rewards), score)):
            return f"; given afterwards: {', '.join([*added, 'the reward'])}"
    return f"; given afterwards: {', '.join(added)}" if added else ""


def _known(credit: float | None) -> str:
    return "unknown" if credit is None else f"{credit:+.3f}"


def _scores(episode: Episode) -> str:
    return ", ".join(f"{seat} {signed(result(episode, seat))}" for seat in episode.seats)


def _shown(text: str) -> str:
    """A text as rich prints it, with markup and terminal control characters escaped."""
    return escape(visible(text))
