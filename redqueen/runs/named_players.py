"""Players by name, as the command line takes them: bots, runs, servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from warnings import warn

from redqueen.games.cooks import KINDS, Cook, Planner
from redqueen.games.mini_kitchen import MiniKitchen
from redqueen.games.proactive import Proactive
from redqueen.measures.exact.known_equilibria import honest_kuhn, kuhn_equilibrium
from redqueen.measures.exact.minimax import solve
from redqueen.play.lockstep import play
from redqueen.play.seating import dealt
from redqueen.play.table import Table
from redqueen.players.endpoint import Server
from redqueen.players.scripted import Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Game, MayBeClosed, MayNotRead, OpenPlayer, Player, has
from redqueen.runs.folder import games_named, settings, stored_team
from redqueen.runs.player_names import PLAYERS
from redqueen.types import Ask, Match, RedQueenError, Reply, place_of
from redqueen.worlds.catalogue import find_world
from redqueen.worlds.embodied import Embodied


@dataclass(frozen=True)
class Named:
    """Another player under a name of its own: the policies of two runs are both called "learner"."""

    player: Player
    name: str

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [replace(reply, player=self.name) for reply in self.player.reply(asks)]

    def unreadable(self, ask: Ask) -> str:
        return self.player.unreadable(ask) if has(self.player, MayNotRead) else ""


def unnamed(player: Player) -> Player:
    """The player without the name that it was given here."""
    return player.player if isinstance(player, Named) else player


def mind_of(player: Player) -> OpenPlayer | None:
    """Where to read what a player would do, if that can be read; None for one that can only be asked."""
    found = unnamed(player)
    if has(found, MayBeClosed) and not found.open:
        return None
    return found if has(found, OpenPlayer) else None


def only_draws(player: Player) -> bool:
    """Whether it can reply only where replies are listed."""
    return isinstance(unnamed(player), Uniform | TabularPolicy)


def undrawn(game: Game, role: str) -> frozenset[str]:
    """The roles that a player who draws among listed replies cannot hold beside a person in one seat of `role`: those
    that a match of random replies asks for free text, and all others if it lists none."""
    table = Table(Match(game, game.tasks()[0], dict.fromkeys(game.roles, Uniform()), 0), 0)
    while table.outcome is None and table.asks:
        table.hear([Uniform().reply([ask])[0] if ask.choices else Reply("nothing") for ask in table.asks])
    asks = [turn.ask for turn in table.turns]
    person = next((ask.seat for ask in asks if ask.seat.role == role), None)
    writing = {ask.seat.role for ask in asks if not ask.choices and ask.seat != person}
    return frozenset(writing if any(ask.choices for ask in asks) else writing | set(game.roles) - {role})


def find_player(spec: str, game: Game) -> Player:
    """The player that a word names. Raises RedQueenError if there is none."""
    if spec == "uniform":
        return Uniform()
    if spec == "minimax":
        return solve(game).strategy()
    if spec in ("equilibrium", "honest"):
        if game.name != "kuhn_poker":
            raise RedQueenError(f"the player {spec!r} is known for kuhn_poker only, not for {game.name}")
        return Named(kuhn_equilibrium(0.0) if spec == "equilibrium" else honest_kuhn(), spec)
    if spec == "proactive" or spec.startswith("cook:"):
        return _cook(spec, game)
    if spec.startswith("world:"):
        return Embodied(find_world(spec.removeprefix("world:")))
    if spec.startswith("server:"):
        model, _, url = spec.removeprefix("server:").partition("@")
        raise RedQueenError(f"an endpoint is written {url or 'http://HOST/v1'}#{model or 'MODEL'} now, not {spec!r}")
    if spec.startswith(("http://", "https://")):
        url, _, model = spec.partition("#")
        if not model:
            raise RedQueenError(f"name the model of the endpoint after a #: {spec}#MODEL")
        return Server(model, url)
    folder, _, step = spec.partition("@")
    if not Path(folder).is_dir():
        raise RedQueenError(f"there is no player {spec!r}: name {', '.join(PLAYERS)}")
    if step and step != "best" and not step.isdigit():
        raise RedQueenError(f"write an older checkpoint as RUN@STEP with a number, or RUN@best, not {spec!r}")
    policy = stored_team(Path(folder), game, "best" if step == "best" else int(step) if step else None)
    warn_of_strangers(policy, game, spec, Path(folder))
    return Named(policy, spec)


def warn_of_strangers(policy: Player, game: Game, spec: str, run: Path) -> None:
    """Warns of a table, of the player `spec`, that has no position of a match of the game that is played at random,
    and whose run names other games of ours."""
    if not isinstance(policy, TabularPolicy) or policy.empty:
        return
    kinds = {place_of(each) for each in games_named(settings(run))}
    if not kinds or any("." in kind for kind in kinds) or place_of(game.name) in kinds:
        return  # one of many deals may be strange to a table that knows the game
    cast = dict.fromkeys(game.roles, Uniform())
    try:
        (episode,) = play([Match(game, dealt(game, 0), cast, 0)], Random(0))
    except RedQueenError:  # of free text, or with a referee: it says so itself
        return
    if not policy.met([turn.ask for turn in episode.turns]):
        warn(f"the table of {spec} has no position of {game.name}: it plays as an untrained one", stacklevel=3)


def _cook(spec: str, game: Game) -> Player:
    """A cook of mini_kitchen by rules. Raises RedQueenError for another game, and for a kind that there is not."""
    if not isinstance(game, MiniKitchen) or not game.remember:
        raise RedQueenError(f"the player {spec!r} cooks in mini_kitchen, where cooks remember, not in {game.name}")
    if spec == "proactive":
        return Proactive(Planner())
    kind = spec.removeprefix("cook:")
    if kind not in KINDS:
        raise RedQueenError(f"a cook is one of {', '.join(KINDS)}, not {kind!r}")
    return Cook(kind)
